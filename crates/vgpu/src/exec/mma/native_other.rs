//! The tiles of f16, bf16 and bytes where there is no faster code than the portable loops.

use super::{
    int,
    tile::{self, Fused, Portable},
};

/// Rows of f16.
pub(super) type F16 = Portable<tile::F16, Fused>;
/// Rows of bf16.
pub(super) type Bf16 = Portable<tile::Bf16, Fused>;
/// Bytes.
pub(super) type Words = int::Loops;
