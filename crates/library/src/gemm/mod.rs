//! Matrix products with weights of every type.

mod tensor_core;

pub use tensor_core::{Gemm, GemmArgs, Tiling};
