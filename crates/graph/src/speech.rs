//! Operations of speech models: convolutions over time, decisions under rules, sequences that follow them.

use crate::{
    error::Error,
    graph::{Extent, Graph, Kind, Node, equal},
    op::Op,
    resource::{Cache, Vector, Weights},
    span::Span,
};
use std::sync::Arc;
use warpsmith_device::{Buffer, Stream};
use warpsmith_library::{
    conv::{Stride, TAPS},
    decoding::{HISTORY, Parents, Pick, Rules, Vocabulary},
    epilogue::Activation,
};

/// A convolution over time, kernel 3, padding 1: `y = activation(conv(x) + bias) + residual`.
#[derive(Clone, Debug)]
pub struct Convolution {
    /// Input `[frames, channels]`.
    pub x: Node,
    /// Weights `[outputs, 3 * channels]`, a tap after the other.
    pub weights: Arc<Weights>,
    /// One number for each output.
    pub bias: Option<Arc<Vector>>,
    /// Step in time.
    pub stride: Stride,
    /// Applied after the bias.
    pub activation: Activation,
    /// Added last, of the output's shape.
    pub residual: Option<Node>,
}

/// Where some heads look: their scores before the softmax.
#[derive(Clone, Debug)]
pub struct Looks {
    /// Queries `[rows, heads * head_dim]`.
    pub q: Node,
    /// Heads, one a row.
    pub chosen: Node,
    /// Keys, as many heads as queries have.
    pub cache: Arc<Cache>,
    /// How many keys.
    pub len: u32,
    /// Multiplies the scores.
    pub scale: f32,
}

/// How the next tokens are decided on.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Histories and choices.
    pub lines: Arc<Lines>,
    /// What may follow.
    pub rules: Rules,
    /// How tokens are taken. A draw is the choice of its row; candidates wait for the host.
    pub pick: Pick,
    /// The ids that the rules are about.
    pub vocabulary: Vocabulary,
}

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

    /// The same memory as an operand. Tokens from `timestamps` on are timestamps.
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

impl Graph {
    /// A convolution over time: `[outputs of the stride, rows of W]`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn convolve(&mut self, conv: Convolution) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("convolve", "x", conv.x)?;
        equal("convolve", "columns", conv.weights.columns, columns * TAPS)?;
        let (outputs, n) = (conv.stride.outputs(rows), conv.weights.rows);
        if let Some(bias) = &conv.bias {
            equal("convolve", "bias", n, bias.len())?;
        }
        if let Some(residual) = conv.residual {
            let residual = self.floats_of("convolve", "residual", residual)?;
            equal("convolve", "rows of the residual", outputs, residual.rows)?;
            equal("convolve", "columns of the residual", n, residual.columns)?;
        }
        Ok(self.push(Op::Convolve(conv), Kind::F32, outputs, n))
    }

    /// Decides on the next tokens of each row; they are in the buffers of the lines.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn decide(&mut self, logits: Node, decision: Decision) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("decide", "logits", logits)?;
        let lines = &decision.lines;
        equal("decide", "vocabulary", columns, decision.vocabulary.vocab)?;
        equal(
            "decide",
            "mask",
            columns.div_ceil(32),
            lines.banned.len() as u32,
        )?;
        // Lines that begin alike share one row.
        if rows != 1 {
            equal("decide", "rows", lines.rows, rows)?;
        }
        if let Pick::Top(count) = decision.pick {
            let room = lines.candidates.len() as u64 / u64::from(lines.rows.max(1) * 2);
            if u64::from(count) > room {
                return Err(Error::Shape {
                    op: "decide",
                    what: "candidates",
                    want: room,
                    got: count.into(),
                });
            }
        }
        let rows = lines.rows;
        Ok(self.push(Op::Decide { logits, decision }, Kind::U32, rows, 1))
    }

    /// Each row takes its choice: the node is the tokens.
    ///
    /// # Errors
    /// None today: the sizes are those of the lines.
    pub fn follow(&mut self, lines: &Arc<Lines>, parents: Parents) -> Result<Node, Error> {
        let op = Op::Follow {
            lines: Arc::clone(lines),
            parents,
        };
        Ok(self.push(op, Kind::U32, lines.rows, 1))
    }

    /// Scores `[heads chosen * rows, len]`, a head after the other.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn look(&mut self, looks: Looks) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("look", "q", looks.q)?;
        let cache = &looks.cache;
        equal("look", "columns", cache.kv_heads * cache.head_dim, columns)?;
        let chosen = self.entry("look", "chosen", looks.chosen, Kind::U32)?.rows;
        if looks.len > cache.max_len {
            return Err(Error::Shape {
                op: "look",
                what: "keys",
                want: cache.max_len.into(),
                got: looks.len.into(),
            });
        }
        let len = looks.len;
        Ok(self.push(Op::Look(looks), Kind::F32, chosen * rows, len))
    }

    /// The log-probability of one id of each row, among the first `limit`.
    ///
    /// # Errors
    /// A wrong operand, by name.
    pub fn log_probability(&mut self, logits: Node, ids: Node, limit: u32) -> Result<Node, Error> {
        let Extent { rows, columns } = self.floats_of("log_probability", "logits", logits)?;
        let own = self.entry("log_probability", "ids", ids, Kind::U32)?;
        equal("log_probability", "ids", rows, own.rows)?;
        if !(1..=columns).contains(&limit) {
            return Err(Error::Shape {
                op: "log_probability",
                what: "limit",
                want: columns.into(),
                got: limit.into(),
            });
        }
        let op = Op::LogProbability { logits, ids, limit };
        Ok(self.push(op, Kind::F32, rows, 1))
    }
}
