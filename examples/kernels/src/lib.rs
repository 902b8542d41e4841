//! Ten kernels that every CUDA course has, each at most forty lines. `tests/kernels.rs` compares them with plain loops, on
//! the virtual GPU under the checker in eight orders, and assembles them for all targets.
#![forbid(unsafe_code)]

pub mod bitonic_sort;
pub mod hash_table;
pub mod histogram;
pub mod matrix_product;
pub mod mma_product;
pub mod one_pass_sum;
pub mod segmented_scan;
pub mod sparse;
pub mod stencil;
pub mod top_k;
