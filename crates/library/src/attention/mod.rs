//! Attention over a key-value cache.

mod flash;

pub use flash::{Flash, FlashArgs, Mask};
