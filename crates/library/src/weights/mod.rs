//! Weights on the device: one layout description for every type, one packing, one decoding.

mod decode;
mod layout;
mod pack;

pub use decode::{Affine, PlaneRow};
pub use layout::{Codes, FloatType, GROUP, High, Layout, Row, Scale, Value, layout_name};
pub use pack::{PackError, Packed, pack};
