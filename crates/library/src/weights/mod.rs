//! Weights on the device: one layout description for every type, one packing, one decoding.

mod decode;
mod fragment;
mod group;
mod host;
mod layout;
mod pack;
mod planes;

pub use decode::{Affine, BlockUni, PlaneRow};
pub(crate) use fragment::BlockCodes;
pub use group::{GroupCodes, GroupScales, Piece};
pub use layout::{BLOCK, Block, Codes, FloatType, GROUP, High, Layout, Scale, Value, layout_name};
pub use pack::{PackError, Packed, pack};
pub use planes::Planes;
