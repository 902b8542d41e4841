//! The kernels that transformers are made of, each with its f64 reference.
#![forbid(unsafe_code)]

pub mod attention;
pub mod case;
pub mod conv;
pub mod decoding;
pub mod embed;
pub mod epilogue;
pub mod finite;
pub mod gemm;
pub mod gemv;
pub mod kv;
pub mod norm;
pub mod persistent;
pub mod pointwise;
pub mod projection;
pub mod quad;
pub mod quantize;
pub mod registry;
pub mod rope;
pub mod sample;
pub mod softmax;
pub mod team;
pub mod typed;
pub mod values;
pub mod weights;
