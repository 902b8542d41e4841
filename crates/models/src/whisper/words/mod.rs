//! Times of words from where the decoder looks while it writes them.
//!
//! Some cross-attention heads follow the audio ([`alignment_heads`]). Their scores for the tokens of a window are normalised,
//! smoothed and averaged ([`matrix`]); the cheapest way through ([`path()`]) says when each
//! token begins; words take the times of their tokens. Punctuation joins its words, and words that are
//! too long are cut where sentences and segments end.

mod align;
mod dtw;
mod heads;
mod place;

pub use align::{Scores, matrix, timings};
pub use dtw::{Path, path};
pub use heads::alignment_heads;
pub use place::{Punctuation, place};

/// When a word was said, in seconds from the start of its window.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The word, with the space before it; empty once it has joined another.
    pub word: String,
    /// Its tokens.
    pub tokens: Vec<u32>,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
    /// The mean probability of its tokens.
    pub probability: f64,
}
