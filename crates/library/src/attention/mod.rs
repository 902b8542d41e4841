//! Attention over a key-value cache.

pub(crate) mod decode;
pub(crate) mod flash;

pub use decode::{Decode, DecodeArgs};
pub use flash::{Flash, FlashArgs, Mask};

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

    /// `f16` or `f32`.
    pub fn name(self) -> &'static str {
        match self {
            CacheType::F16 => "f16",
            CacheType::F32 => "f32",
        }
    }
}
