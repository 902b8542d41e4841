//! Attention over a key-value cache.

pub(crate) mod decode;
pub(crate) mod flash;
pub(crate) mod paged;
pub(crate) mod paged_flash;
pub(crate) mod reference;
pub(crate) mod scores;

pub use decode::{Decode, DecodeArgs};
pub use flash::{Flash, FlashArgs, Mask};
pub use paged::{PagedDecode, PagedDecodeArgs};
pub use paged_flash::{PagedFlash, PagedFlashArgs};
pub use scores::{Scores, ScoresArgs};

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

/// Whose keys and values a row has behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum History {
    /// Those of the one sequence that all rows belong to.
    Shared,
    /// Each row writes a sequence of its own, and at each position sees that of the row it was forked from: beams are
    /// reordered without a copy.
    Forked,
}

impl History {
    /// How a kernel's name begins.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            History::Shared => "",
            History::Forked => "forked_",
        }
    }
}
