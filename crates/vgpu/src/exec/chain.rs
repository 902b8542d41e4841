//! Runs of `fma.rn.f32` in which each sum is read by the next alone: it stays in registers of the CPU.

use super::{
    Ctx, Handler, Micro, MicroOp, Slot, Words, args,
    float::Float,
    shape::{Lanes, Shape, U, V},
};
use crate::build::{Chain, Dst, Lowerer, Src};
use std::marker::PhantomData;

/// The most steps of one op.
const MOST: usize = 8;

args! {
    struct Sum {
        dst: Slot,
        /// The slots of `a` and `b` of each step.
        steps: Words,
        c: Slot,
    }
}

/// `dst = a * b + (... (a * b + c))` of `N` steps. Only the last NaN is made
/// canonical: the bits of one on the way are lost in the next step.
struct Steps<B, const N: usize>(PhantomData<B>);

impl<B: Shape, const N: usize> Handler for Steps<B, N> {
    type Args = Sum;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Sum>) {
        let slots = ctx.extra(op.steps, 2 * N);
        let a: [_; N] = std::array::from_fn(|n| V::read::<f32>(ctx, Slot(slots[2 * n])));
        let b: [_; N] = std::array::from_fn(|n| B::read::<f32>(ctx, Slot(slots[2 * n + 1])));
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
        slots[..2].copy_from_slice(&chain.first.map(|slot| slot.0));
        chain.steps = l.extra(&slots);
    }
    let slots = &mut l.extra_from_mut(chain.steps)[2 * chain.len..];
    slots[0] = a.slot.0;
    slots[1] = b.slot.0;
    chain.len += 1;
    chain.dst = dst.slot;
    let args = Sum {
        dst: dst.slot,
        steps: chain.steps,
        c: chain.c,
    };
    let op = if chain.scalar_b {
        steps::<U>(l, chain.len, args)
    } else {
        steps::<V>(l, chain.len, args)
    };
    // It stands where the first step does.
    l.ops[chain.at] = op.at(l.ops[chain.at].span());
    l.chain = Some(chain);
    true
}

/// The op just emitted, a multiply-add of its own, may be the first of a run.
pub(super) fn begin(l: &mut Lowerer, dst: Dst, [a, b, c]: [Src; 3]) {
    let lanes = !dst.uniform && !a.uniform && !c.uniform;
    l.chain = (lanes && l.fuses()).then(|| Chain {
        at: l.ops.len() - 1,
        steps: Words(0),
        len: 1,
        first: [a.slot, b.slot],
        c: c.slot,
        scalar_b: b.uniform,
        dst: dst.slot,
    });
}

fn steps<B: Shape>(l: &Lowerer, len: usize, args: Sum) -> MicroOp {
    match len {
        2 => l.op::<Steps<B, 2>>(args),
        3 => l.op::<Steps<B, 3>>(args),
        4 => l.op::<Steps<B, 4>>(args),
        5 => l.op::<Steps<B, 5>>(args),
        6 => l.op::<Steps<B, 6>>(args),
        7 => l.op::<Steps<B, 7>>(args),
        _ => l.op::<Steps<B, MOST>>(args),
    }
}
