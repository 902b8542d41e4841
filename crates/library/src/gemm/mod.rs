//! Matrix products with weights of every type.

mod cases;
mod choose;
pub(crate) mod exact;
mod integer;
mod integer_cases;
pub(crate) mod matrix;
mod tensor_core;
pub(crate) mod tile;

pub(crate) use cases::cases;
pub use choose::{Activations, Choice, Precision, Problem, Product, choose};
pub use exact::{GemmF32, GemmF32Args, Square};
pub use integer::{Eights, GemmInt, GemmIntArgs};
pub use tensor_core::{Gemm, GemmArgs};
pub use tile::Tiling;
