//! Weights on the device: one layout description for every type, one packing, one decoding.

mod decode;
mod layout;
mod pack;

pub use decode::{Affine, BlockUni, PlaneRow};
pub use layout::{BLOCK, Block, Codes, FloatType, GROUP, High, Layout, Scale, Value, layout_name};
pub use pack::{PackError, Packed, pack};
