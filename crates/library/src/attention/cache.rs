//! Elements of caches of keys and values.

use crate::quad::Float;
use half::f16;
use warpsmith_kernel::{LaunchError, require};

/// The element type of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheType {
    /// IEEE half.
    F16,
    /// IEEE single, for exact runs.
    F32,
}

impl CacheType {
    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            CacheType::F16 => 2,
            CacheType::F32 => 4,
        }
    }

    /// Refuses rows of a cache, counted in bytes, that are not `head_dim` elements.
    pub(crate) fn require_row(self, row_bytes: u32, head_dim: u32) -> Result<(), LaunchError> {
        require(
            u64::from(row_bytes) == u64::from(head_dim) * u64::from(self.bytes()),
            "row_bytes",
            row_bytes.into(),
            "head_dim elements",
        )
    }

    /// `f16` or `f32`.
    pub fn name(self) -> &'static str {
        match self {
            CacheType::F16 => "f16",
            CacheType::F32 => "f32",
        }
    }
}

/// A type that is an element of caches: f32, or f16, to which numbers are rounded to nearest even.
pub trait Cached: Float {
    /// What shows of it in a kernel's name.
    const SUFFIX: &'static str;
}

impl Cached for f32 {
    const SUFFIX: &'static str = "";
}

impl Cached for f16 {
    const SUFFIX: &'static str = "_f16";
}
