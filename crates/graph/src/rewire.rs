//! The operands of an operation, to be changed in place.

use crate::{
    fused::{Gate, Heads, Normed, Store},
    graph::Node,
    op::{At, Attention, MatMul, Op, Rotation},
    pages::{PagedAppend, PagedAttention},
    speech::{Convolution, Looks},
};

impl Op {
    /// Hands every operand that is a node to `change`.
    pub(crate) fn each_operand(&mut self, change: &mut dyn FnMut(&mut Node)) {
        match self {
            Op::Floats(_) | Op::Ids(_) | Op::Follow { .. } | Op::Absorbed => {}
            Op::Embed { table: _, ids } => change(ids),
            Op::RmsNorm { x, .. }
            | Op::LayerNorm { x, .. }
            | Op::Scale { x, by: _ }
            | Op::Curve { x, curve: _ }
            | Op::Softmax { x }
            | Op::Rows { x, from: _ }
            | Op::ArgMax { x } => change(x),
            Op::MatMul(product) | Op::Normed(Normed { norm: _, product }) => {
                let MatMul { x, residual, .. } = product;
                change(x);
                residual.iter_mut().for_each(change);
            }
            Op::Gate(Gate { x, .. }) => change(x),
            Op::Heads(Heads {
                x,
                positions,
                store,
                ..
            }) => {
                change(x);
                change(positions);
                match store {
                    Store::Own { .. } => {}
                    Store::Paged { pages: _, slots } => change(slots),
                }
            }
            Op::Add { a, b } | Op::Mul { a, b } => {
                change(a);
                change(b);
            }
            Op::Gated { gate, up, curve: _ } => {
                change(gate);
                change(up);
            }
            Op::Rotate(Rotation {
                q, k, positions, ..
            }) => {
                change(q);
                change(k);
                change(positions);
            }
            Op::RotatedKeys { rotation, k } => {
                change(rotation);
                change(k);
            }
            Op::Append { k, v, to, cache: _ } => {
                change(k);
                change(v);
                match to {
                    At::Positions(positions) | At::Rows(positions) => change(positions),
                    At::From(_) => {}
                }
            }
            Op::Attend(Attention {
                q,
                visible,
                sources,
                ..
            }) => {
                change(q);
                change(visible);
                sources.iter_mut().for_each(change);
            }
            Op::PagedAppend(PagedAppend {
                k,
                v,
                positions,
                slots,
                pages: _,
            }) => {
                change(k);
                change(v);
                change(positions);
                change(slots);
            }
            Op::PagedAttend(PagedAttention {
                q, visible, slots, ..
            }) => {
                change(q);
                change(visible);
                change(slots);
            }
            Op::Draw { logits, sampler: _ }
            | Op::Decide {
                logits,
                decision: _,
            } => change(logits),
            Op::Convolve(Convolution { x, residual, .. }) => {
                change(x);
                residual.iter_mut().for_each(change);
            }
            Op::LogProbability {
                logits,
                ids,
                limit: _,
            } => {
                change(logits);
                change(ids);
            }
            Op::Look(Looks { q, chosen, .. }) => {
                change(q);
                change(chosen);
            }
        }
    }
}
