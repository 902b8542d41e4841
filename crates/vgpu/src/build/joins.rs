//! What the next instruction may join: families keep here what they emitted last.

use crate::op::{Slot, Words};

/// A run that the next multiply-add may join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// Its op.
    pub(crate) at: usize,
    /// Where the slots of `a` and `b` of each step are.
    pub(crate) steps: Words,
    pub(crate) len: usize,
    /// The first step's operands.
    pub(crate) first: [Slot; 2],
    /// What the first step adds to.
    pub(crate) c: Slot,
    /// Whether each `b` is one scalar for the warp.
    pub(crate) scalar_b: bool,
    pub(crate) dst: Slot,
}

/// A register that was just taken apart into two f16, which are read once each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    /// Ops so far: the two of the move, then a conversion.
    pub(crate) ops: usize,
    pub(crate) from: Slot,
    pub(crate) halves: [Slot; 2],
    /// Where the low half went as f32.
    pub(crate) low: Option<Slot>,
}
