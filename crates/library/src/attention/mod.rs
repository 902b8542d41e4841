//! Attention over a key-value cache.

mod cache;
pub(crate) mod decode;
pub(crate) mod flash;
pub(crate) mod flash_cases;
pub(crate) mod history;
pub(crate) mod paged_cases;
pub(crate) mod paged_flash;
pub(crate) mod reference;
pub(crate) mod scores;

pub use cache::{CacheType, Cached};
pub use decode::{Decode, DecodeArgs};
pub use flash::{Flash, FlashArgs, Mask};
pub use history::{History, Paging};
pub use paged_flash::{PagedFlash, PagedFlashArgs};
pub use scores::{Scores, ScoresArgs};
