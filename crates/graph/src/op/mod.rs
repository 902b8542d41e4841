//! Operations: what a node computes, with its operands.

mod facts;
pub mod fused;
mod operands;
mod pages;
mod speech;

pub(crate) use facts::Parameter;
pub use pages::{PagedAppend, PagedAttention, PagedRows};
pub use speech::{Convolution, Decision, Looks};

use crate::{
    node::Node,
    resource::{Cache, Lines, Sampler, Table, Vector, Weights},
    span::Span,
};
use fused::{Gate, Heads, Normed};
use std::sync::Arc;
use warpsmith_library::{decoding::Parents, epilogue::Activation, pointwise::Curve, rope::Pairing};

/// An operation of a graph with its operands: nodes, parameters, numbers. Passes make the fused ones.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Op {
    /// A leaf: f32 from outside.
    Floats(Span<f32>),
    /// A leaf: integers from outside.
    Ids(Span<u32>),
    /// Rows of a table.
    Embed {
        /// The rows there are.
        table: Arc<Weights>,
        /// Which are taken.
        ids: Node,
    },
    /// `x / sqrt(mean(x^2) + eps) * gain`, for each row or each of `heads` equal parts of it.
    RmsNorm {
        /// Rows.
        x: Node,
        /// As long as a part.
        gain: Arc<Vector>,
        /// Added under the root.
        eps: f32,
        /// Parts of a row.
        heads: u32,
    },
    /// `(x - mean) / sqrt(variance + eps) * gain + bias`, row by row.
    LayerNorm {
        /// Rows.
        x: Node,
        /// As long as a row.
        gain: Arc<Vector>,
        /// As long as a row.
        bias: Arc<Vector>,
        /// Added under the root.
        eps: f32,
    },
    /// A product and what follows it.
    MatMul(MatMul),
    /// A norm and the product of what it makes, fused.
    Normed(Normed),
    /// Two products and the gate over them, fused.
    Gate(Gate),
    /// Queries, keys and values with all that is done to them, fused.
    Heads(Heads),
    /// `a + b`.
    Add {
        /// First.
        a: Node,
        /// Second.
        b: Node,
    },
    /// `a * b`, element by element.
    Mul {
        /// First.
        a: Node,
        /// Second.
        b: Node,
    },
    /// `x * by`.
    Scale {
        /// Elements.
        x: Node,
        /// Factor.
        by: f32,
    },
    /// A function of each element.
    Curve {
        /// Elements.
        x: Node,
        /// Which function.
        curve: Curve,
    },
    /// `curve(gate) * up`.
    Gated {
        /// Goes through the curve.
        gate: Node,
        /// Is multiplied.
        up: Node,
        /// Which function.
        curve: Curve,
    },
    /// Softmax of each row.
    Softmax {
        /// Rows.
        x: Node,
    },
    /// Queries and keys, turned; the value is the queries.
    Rotate(Rotation),
    /// The keys that a rotation turned: no work of its own.
    RotatedKeys {
        /// The rotation.
        rotation: Node,
    },
    /// Keys and values go to a cache.
    Append {
        /// Keys.
        k: Node,
        /// Values.
        v: Node,
        /// Positions.
        to: At,
        /// The cache.
        cache: Arc<Cache>,
    },
    /// Attention over a cache.
    Attend(Attention),
    /// Keys and values go to pages.
    PagedAppend(PagedAppend),
    /// Attention over pages.
    PagedAttend(PagedAttention),
    /// Some rows of a value: no work of its own.
    Rows {
        /// All rows.
        x: Node,
        /// The first.
        from: u32,
    },
    /// The index of each row's largest element.
    ArgMax {
        /// Rows.
        x: Node,
    },
    /// A token of each row, by a sampler.
    Draw {
        /// Logits.
        logits: Node,
        /// How it is drawn.
        sampler: Arc<Sampler>,
    },
    /// A convolution over time.
    Convolve(Convolution),
    /// The next tokens under rules.
    Decide {
        /// Logits.
        logits: Node,
        /// Rules, histories, how tokens are taken.
        decision: Decision,
    },
    /// Each row takes its choice.
    Follow {
        /// Histories and choices.
        lines: Arc<Lines>,
        /// Whether rows go on from themselves.
        parents: Parents,
    },
    /// The log-probability of one id of each row.
    LogProbability {
        /// Logits.
        logits: Node,
        /// An id for each row.
        ids: Node,
        /// Ids from here on are left out.
        limit: u32,
    },
    /// Where some heads look.
    Look(Looks),
    /// Nothing: what it did, a fused operation does, or nobody needed it.
    Absorbed,
}

/// A matrix product with all that may follow it: `y = activation(x W^T + bias) + residual`.
#[derive(Clone, Debug)]
pub struct MatMul {
    /// Input `[rows, columns of W]`.
    pub x: Node,
    /// Weights.
    pub weights: Arc<Weights>,
    /// One number for each output.
    pub bias: Option<Arc<Vector>>,
    /// Applied after the bias.
    pub activation: Activation,
    /// Added last, of the output's shape.
    pub residual: Option<Node>,
}

/// A rotary embedding of queries and keys (Su et al., 2021).
#[derive(Clone, Debug)]
pub struct Rotation {
    /// Queries `[rows, heads * head_dim]`.
    pub q: Node,
    /// Keys `[rows, kv_heads * head_dim]`.
    pub k: Node,
    /// Position of each row.
    pub positions: Node,
    /// Dimensions of a head.
    pub head_dim: u32,
    /// Frequencies; twice as many dimensions of each head are rotated.
    pub table: Arc<Table>,
    /// Which dimensions make a pair.
    pub pairing: Pairing,
}

/// Attention of queries over a cache.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Queries `[rows, heads * head_dim]`.
    pub q: Node,
    /// Keys each row sees, read on the device.
    pub visible: Node,
    /// Keys and values.
    pub cache: Arc<Cache>,
    /// Query heads.
    pub heads: u32,
    /// Multiplies the scores.
    pub scale: f32,
    /// What is known while planning of the keys that rows see: many rows then are taken together. `None` takes
    /// `visible` alone.
    pub seen: Option<Seen>,
    /// `[rows * max_len]`: of rows that write sequences of their own, the sequence each sees at each position.
    pub sources: Option<Node>,
}

/// Where keys and values go in a cache.
#[derive(Clone, Copy, Debug)]
pub enum At {
    /// To these positions of the one sequence.
    Positions(Node),
    /// To these positions, row i to sequence i.
    Rows(Node),
    /// To the one sequence, from a position on.
    From(u32),
}

/// The keys that many rows see, in agreement with their `visible`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Rows stand at positions `start ..`, and see what is up to their own.
    UpTo {
        /// Position of the first row.
        start: u32,
    },
    /// Every row sees the first `len`.
    First {
        /// Keys.
        len: u32,
    },
}
