//! Conversions between `f32` and `f16` by the CPU's own instructions, bit for bit those of `half.rs`.

#[cfg_attr(target_arch = "x86_64", path = "halves_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "halves_other.rs")]
mod native;

use super::{
    Ctx, Handler, Micro, Slot, args,
    shape::{One, Two},
};
use crate::{
    Tier,
    build::{Dst, Halves, Lowerer, Src},
};
use std::marker::PhantomData;

/// Conversions of a register by the CPU's own instructions.
trait Engine: 'static {
    /// f16 in the low half of each cell as f32.
    fn widen(a: &[u32; 32]) -> [u32; 32];
    /// The low halves of cells as f32, and the high ones.
    fn widen_pair(a: &[u32; 32]) -> [[u32; 32]; 2];
    /// Pairs of f16.
    fn pack(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32];
}

/// `dst` is the f16 of each lane of `a` as f32.
struct Widen<E>(PhantomData<E>);

impl<E: Engine> Handler for Widen<E> {
    type Args = One;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<One>) {
        let out = E::widen(ctx.cells(op.a));
        ctx.put_cells(op.dst, out);
    }
}

/// `dst` is the lanes of `a` and `b` as pairs of f16, `a` in the high half.
struct Pack<E>(PhantomData<E>);

impl<E: Engine> Handler for Pack<E> {
    type Args = Two;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Two>) {
        let out = E::pack(ctx.cells(op.a), ctx.cells(op.b));
        ctx.put_cells(op.dst, out);
    }
}

args! {
    struct Pair {
        low: Slot,
        high: Slot,
        a: Slot,
    }
}

/// `low` is the low f16 of each lane of `a` as f32, and `high` the high one.
struct WidenPair<E>(PhantomData<E>);

impl<E: Engine> Handler for WidenPair<E> {
    type Args = Pair;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Pair>) {
        let [low, high] = E::widen_pair(ctx.cells(op.a));
        ctx.put_cells(op.low, low);
        ctx.put_cells(op.high, high);
    }
}

/// The handler with the engine of the tier.
macro_rules! by_tier {
    ($l:ident, $handler:ident, $args:expr) => {
        match $l.tier() {
            Tier::Avx512 => $l.op::<$handler<native::Avx512>>($args),
            Tier::Avx2 | Tier::Baseline => $l.op::<$handler<native::Avx2>>($args),
        }
    };
}

/// The last two ops took the halves of the register at `from` apart.
pub(super) fn taken_apart(l: &mut Lowerer, from: Slot, halves: [Slot; 2]) {
    if !l.fuses() {
        return;
    }
    l.halves = Some(Halves {
        ops: l.ops.len(),
        from,
        halves,
        low: None,
    });
}

/// Whether lanes of f16 are converted here.
pub(super) fn is_native(l: &Lowerer, all: &[Src], dst: Dst) -> bool {
    l.tier() != Tier::Baseline && !dst.uniform && all.iter().all(|src| !src.uniform)
}

/// Emits `dst = f32(a)`, where [`is_native`].
pub(super) fn emit_widen(l: &mut Lowerer, dst: Dst, a: Src) {
    // Both halves one after the other are one op, and the move before them is none.
    if let Some(pair) = l.halves.take().filter(|pair| pair.ops == l.ops.len()) {
        match pair.low {
            None if pair.halves[0] == a.slot => {
                l.halves = Some(Halves {
                    ops: pair.ops + 1,
                    low: Some(dst.slot),
                    ..pair
                });
            }
            Some(low) if pair.halves[1] == a.slot => {
                l.ops.truncate(pair.ops - 3);
                let args = Pair {
                    low,
                    high: dst.slot,
                    a: pair.from,
                };
                l.emit(by_tier!(l, WidenPair, args));
                return;
            }
            None | Some(_) => {}
        }
    }
    let args = One {
        dst: dst.slot,
        a: a.slot,
    };
    l.emit(by_tier!(l, Widen, args));
}

/// Emits `dst = f16(a) << 16 | f16(b)`, where [`is_native`].
pub(super) fn emit_pack(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    let args = Two {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
    };
    l.emit(by_tier!(l, Pack, args));
}
