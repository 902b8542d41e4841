//! Runs of `fma.rn.f32` in which each sum is read by the next alone: it stays in registers of the CPU.

use super::{
    Ctx, Handler, MicroOp,
    float::Float,
    shape::{Lanes, Shape, U, V},
};
use crate::lower::{Dst, Lowerer, Src};
use std::marker::PhantomData;

/// The most steps of one op.
const MOST: usize = 8;

/// A run that the next multiply-add may join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    /// Its op.
    at: usize,
    /// Where the slots of `a` and `b` of each step are.
    aux: u32,
    len: usize,
    /// The first step's operands.
    first: [u32; 2],
    /// Whether each `b` is one scalar for the warp.
    scalar_b: bool,
    dst: u32,
}

/// `dst = a * b + (... (a * b + c))`: the slots of `a` and `b` of the `N` steps are at `aux`. Only the last NaN is made
/// canonical: the bits of one on the way are lost in the next step.
struct Steps<B, const N: usize>(PhantomData<B>);

impl<B: Shape, const N: usize> Handler for Steps<B, N> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let slots = ctx.extra(op.aux, 2 * N);
        let a: [_; N] = std::array::from_fn(|n| V::read::<f32>(ctx, slots[2 * n]));
        let b: [_; N] = std::array::from_fn(|n| B::read::<f32>(ctx, slots[2 * n + 1]));
        let c = V::read::<f32>(ctx, op.c);
        let out = super::lane::lanes(|i| {
            let mut sum: f32 = c.lane(i);
            for n in 0..N {
                let (a, b): (f32, f32) = (a[n].lane(i), b[n].lane(i));
                sum = a.mul_add(b, sum);
            }
            sum.canonical().to_bits()
        });
        ctx.put_cells(op.dst, out);
    }
}

/// Joins `dst = a * b + c` to the run just before, whose result only it reads. `false` if it cannot.
pub(super) fn join(l: &mut Lowerer, dst: Dst, [a, b, c]: [Src; 3]) -> bool {
    let Some(mut chain) = l.chain else {
        return false;
    };
    let fits = chain.at + 1 == l.ops.len()
        && !dst.uniform
        && !a.uniform
        && !c.uniform
        && c.slot == chain.dst
        && b.uniform == chain.scalar_b
        && chain.len < MOST;
    if !fits {
        return false;
    }
    if chain.len == 1 {
        let mut slots = [0; 2 * MOST];
        slots[..2].copy_from_slice(&chain.first);
        chain.aux = l.extra(&slots);
    }
    let slots = &mut l.extra_from_mut(chain.aux)[2 * chain.len..];
    slots[0] = a.slot;
    slots[1] = b.slot;
    chain.len += 1;
    chain.dst = dst.slot;
    let steps = if chain.scalar_b {
        steps::<U>(l, chain.len)
    } else {
        steps::<V>(l, chain.len)
    };
    let op = &mut l.ops[chain.at];
    op.run = steps.run;
    op.dst = dst.slot;
    op.aux = chain.aux;
    l.chain = Some(chain);
    true
}

/// The op just emitted, a multiply-add of its own, may be the first of a run.
pub(super) fn begin(l: &mut Lowerer, dst: Dst, [a, b, c]: [Src; 3]) {
    let lanes = !dst.uniform && !a.uniform && !c.uniform;
    l.chain = (lanes && l.fuses()).then(|| Chain {
        at: l.ops.len() - 1,
        aux: 0,
        len: 1,
        first: [a.slot, b.slot],
        scalar_b: b.uniform,
        dst: dst.slot,
    });
}

fn steps<B: Shape>(l: &Lowerer, len: usize) -> MicroOp {
    match len {
        2 => l.op::<Steps<B, 2>>(),
        3 => l.op::<Steps<B, 3>>(),
        4 => l.op::<Steps<B, 4>>(),
        5 => l.op::<Steps<B, 5>>(),
        6 => l.op::<Steps<B, 6>>(),
        7 => l.op::<Steps<B, 7>>(),
        _ => l.op::<Steps<B, MOST>>(),
    }
}
