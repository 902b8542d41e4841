//! Lines: sequences that are decoded together under rules.

use crate::{error::Error, span::Span};
use warpsmith_device::{Buffer, Stream};
use warpsmith_library::decoding::HISTORY;

/// The sequences that are decoded together, as operands: see [`LineState`].
#[derive(Debug)]
pub struct Lines {
    pub(crate) rows: u32,
    pub(crate) max_len: u32,
    pub(crate) timestamps: u32,
    pub(crate) choices: Span<u32>,
    pub(crate) candidates: Span<u32>,
    pub(crate) tokens: Span<u32>,
    pub(crate) positions: Span<u32>,
    pub(crate) visible: Span<u32>,
    pub(crate) history: Span<u32>,
    pub(crate) sources: Span<u32>,
    pub(crate) banned: Span<u32>,
    pub(crate) banned_first: Span<u32>,
    pub(crate) settings: Span<u32>,
}

/// The buffers of sequences that are decoded together; the caller keeps them, to set a start and to read candidates.
#[derive(Debug)]
pub struct LineState {
    /// `[rows, 2]`: the token each row takes next, and the row it continues (or, drawn, its log-probability's bits).
    pub choices: Buffer<u32>,
    /// `[rows, most, 2]`: candidates and the bits of their log-probabilities.
    pub candidates: Buffer<u32>,
    /// The token each row took last.
    pub tokens: Buffer<u32>,
    /// Its position.
    pub positions: Buffer<u32>,
    /// Keys it sees.
    pub visible: Buffer<u32>,
    /// `[rows, 4]`: see [`warpsmith_library::decoding`].
    pub history: Buffer<u32>,
    /// `[rows, max_len]`: whose keys it sees at each position.
    pub sources: Buffer<u32>,
    /// A bit for each token that is never allowed.
    pub banned: Buffer<u32>,
    /// A bit for each token that may not come first.
    pub banned_first: Buffer<u32>,
    /// The bits of the temperature, the seed's low and high word.
    pub settings: Buffer<u32>,
    rows: u32,
    max_len: u32,
}

/// How large the state of lines is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSizes {
    /// Sequences.
    pub rows: u32,
    /// Positions of each.
    pub max_len: u32,
    /// Tokens.
    pub vocab: u32,
    /// Candidates of a row.
    pub candidates: u32,
}

impl LineState {
    /// Buffers, all zero: no transfer.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &Stream, sizes: LineSizes) -> Result<LineState, Error> {
        let LineSizes {
            rows,
            max_len,
            vocab,
            candidates,
        } = sizes;
        let zeros = |len: u32| -> Result<Buffer<u32>, Error> {
            let mut buffer = stream.alloc(len as usize)?;
            stream.fill_zero(&mut buffer)?;
            Ok(buffer)
        };
        let words = vocab.div_ceil(32);
        Ok(LineState {
            choices: zeros(rows * 2)?,
            candidates: zeros(rows * candidates * 2)?,
            tokens: zeros(rows)?,
            positions: zeros(rows)?,
            visible: zeros(rows)?,
            history: zeros(rows * HISTORY)?,
            sources: zeros(rows * max_len)?,
            banned: zeros(words)?,
            banned_first: zeros(words)?,
            settings: zeros(3)?,
            rows,
            max_len,
        })
    }

    /// The buffers of the lines as an operand. Tokens from `timestamps` on are timestamps.
    pub fn lines(&self, timestamps: u32) -> Lines {
        Lines {
            rows: self.rows,
            max_len: self.max_len,
            timestamps,
            choices: Span::of(&self.choices),
            candidates: Span::of(&self.candidates),
            tokens: Span::of(&self.tokens),
            positions: Span::of(&self.positions),
            visible: Span::of(&self.visible),
            history: Span::of(&self.history),
            sources: Span::of(&self.sources),
            banned: Span::of(&self.banned),
            banned_first: Span::of(&self.banned_first),
            settings: Span::of(&self.settings),
        }
    }
}
