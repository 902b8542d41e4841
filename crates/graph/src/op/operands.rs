//! The operands of an operation that are nodes, in one list: to be read, or changed in place.

use super::fused::{Gate, Heads, Normed, Store};
use super::{At, Attention, Convolution, Looks, MatMul, Op, PagedAppend, PagedAttention, Rotation};
use crate::node::Node;

/// A method that hands every operand to `visit`: the patterns are the same for `&` and `&mut`.
macro_rules! each {
    ($(#[$doc:meta])* $name:ident $($mutable:tt)?) => {
        $(#[$doc])*
        pub(crate) fn $name(& $($mutable)? self, visit: &mut dyn FnMut(& $($mutable)? Node)) {
            match self {
                Op::Floats(_) | Op::Ids(_) | Op::Follow { .. } | Op::Absorbed => {}
                Op::Embed { table: _, ids } => visit(ids),
                Op::RmsNorm { x, .. }
                | Op::LayerNorm { x, .. }
                | Op::Scale { x, by: _ }
                | Op::Curve { x, curve: _ }
                | Op::Softmax { x }
                | Op::Rows { x, from: _ }
                | Op::ArgMax { x } => visit(x),
                Op::MatMul(product) | Op::Normed(Normed { norm: _, product }) => {
                    let MatMul { x, residual, .. } = product;
                    visit(x);
                    if let Some(residual) = residual {
                        visit(residual);
                    }
                }
                Op::Gate(Gate { x, .. }) => visit(x),
                Op::Heads(Heads {
                    x,
                    positions,
                    store,
                    ..
                }) => {
                    visit(x);
                    visit(positions);
                    match store {
                        Store::Own { .. } => {}
                        Store::Paged { pages: _, slots } => visit(slots),
                    }
                }
                Op::Add { a, b } | Op::Mul { a, b } => {
                    visit(a);
                    visit(b);
                }
                Op::Gated { gate, up, curve: _ } => {
                    visit(gate);
                    visit(up);
                }
                Op::Rotate(Rotation {
                    q, k, positions, ..
                }) => {
                    visit(q);
                    visit(k);
                    visit(positions);
                }
                Op::RotatedKeys { rotation } => visit(rotation),
                Op::Append { k, v, to, cache: _ } => {
                    visit(k);
                    visit(v);
                    match to {
                        At::Positions(positions) | At::Rows(positions) => visit(positions),
                        At::From(_) => {}
                    }
                }
                Op::Attend(Attention {
                    q,
                    visible,
                    sources,
                    ..
                }) => {
                    visit(q);
                    visit(visible);
                    if let Some(sources) = sources {
                        visit(sources);
                    }
                }
                Op::PagedAppend(PagedAppend {
                    k,
                    v,
                    positions,
                    slots,
                    pages: _,
                }) => {
                    visit(k);
                    visit(v);
                    visit(positions);
                    visit(slots);
                }
                Op::PagedAttend(PagedAttention {
                    q, visible, slots, ..
                }) => {
                    visit(q);
                    visit(visible);
                    visit(slots);
                }
                Op::Draw { logits, sampler: _ }
                | Op::Decide {
                    logits,
                    decision: _,
                } => visit(logits),
                Op::Convolve(Convolution { x, residual, .. }) => {
                    visit(x);
                    if let Some(residual) = residual {
                        visit(residual);
                    }
                }
                Op::LogProbability {
                    logits,
                    ids,
                    limit: _,
                } => {
                    visit(logits);
                    visit(ids);
                }
                Op::Look(Looks { q, chosen, .. }) => {
                    visit(q);
                    visit(chosen);
                }
            }
        }
    };
}

impl Op {
    each! {
        /// Hands every operand that is a node to `visit`.
        each_operand
    }

    each! {
        /// Hands every operand that is a node to `visit`, which may put another in its place.
        each_operand_mut mut
    }

    /// The operands that are nodes.
    pub fn inputs(&self) -> Vec<Node> {
        let mut inputs = Vec::new();
        self.each_operand(&mut |node| inputs.push(*node));
        inputs
    }
}
