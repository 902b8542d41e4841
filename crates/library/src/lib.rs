//! The kernels that transformers are made of, each with its f64 reference.
#![forbid(unsafe_code)]

pub mod attention;
pub mod case;
pub mod epilogue;
pub mod gemm;
pub mod registry;
pub mod weights;
