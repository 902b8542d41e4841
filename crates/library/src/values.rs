//! Values by what holds them alike: one set of names for all kernels.

use warpsmith_kernel::{Val, uni};

/// A word that may differ between lanes.
pub type Word<'k> = Val<'k, u32, uni::Lane>;
/// A number that may differ between lanes.
pub type F32<'k> = Val<'k, f32, uni::Lane>;
/// A value that is the same in a CTA.
pub type Uniform<'k, T = u32> = Val<'k, T, uni::Cta>;
/// A value that is the same in a warp.
pub type OfWarp<'k, T = u32> = Val<'k, T, uni::Warp>;
