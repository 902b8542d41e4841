//! `y = epilogue(x W^T)` for few rows of x: a lane for each row of W, all of x at addresses that are the same in a warp.

mod cases;
mod f32_rows;
mod half_rows;
mod q8_rows;
mod spread;

pub(crate) use cases::cases;
pub use f32_rows::{GemvF32, GemvF32Args};
pub use half_rows::{GemvHalf, GemvHalfArgs};
pub use q8_rows::{GemvQ8, GemvQ8Args};
pub(crate) use q8_rows::{add_group, add_term};
pub use spread::Spread;
