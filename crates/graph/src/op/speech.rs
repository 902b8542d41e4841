//! Operations of speech models: convolutions over time, decisions under rules, sequences that follow them.

use crate::{
    node::Node,
    resource::{Cache, Lines, Vector, Weights},
};
use std::sync::Arc;
use warpsmith_library::{
    conv::Stride,
    decoding::{Pick, Rules, Vocabulary},
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
