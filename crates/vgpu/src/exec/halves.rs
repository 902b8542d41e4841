//! Conversions between `f32` and `f16` by the CPU's own instructions, bit for bit those of `half.rs`.

#[cfg_attr(target_arch = "x86_64", path = "halves_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "halves_other.rs")]
mod native;

use super::{Ctx, Handler, MicroOp};
use crate::{
    Tier,
    lower::{Dst, Lowerer, Src},
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
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let out = E::widen(ctx.cells(op.a));
        ctx.put_cells(op.dst, out);
    }
}

/// `dst` is the lanes of `a` and `b` as pairs of f16, `a` in the high half.
struct Pack<E>(PhantomData<E>);

impl<E: Engine> Handler for Pack<E> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let out = E::pack(ctx.cells(op.a), ctx.cells(op.b));
        ctx.put_cells(op.dst, out);
    }
}

/// `dst` is the low f16 of each lane of `a` as f32, and `b` is the high one.
struct WidenPair<E>(PhantomData<E>);

impl<E: Engine> Handler for WidenPair<E> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let [low, high] = E::widen_pair(ctx.cells(op.a));
        ctx.put_cells(op.dst, low);
        ctx.put_cells(op.b, high);
    }
}

/// The handler with the engine of the tier.
macro_rules! by_tier {
    ($l:ident, $handler:ident) => {
        match $l.tier() {
            Tier::Avx512 => $l.op::<$handler<native::Avx512>>(),
            Tier::Avx2 | Tier::Baseline => $l.op::<$handler<native::Avx2>>(),
        }
    };
}

/// A register that was just taken apart into two f16, which are read once each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Halves {
    /// Ops so far: the two of the move, then a conversion.
    ops: usize,
    from: u32,
    halves: [u32; 2],
    /// Where the low half went as f32.
    low: Option<u32>,
}

/// The last two ops took the halves of the register at `from` apart.
pub(super) fn taken_apart(l: &mut Lowerer, from: u32, halves: [u32; 2]) {
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
                l.emit(MicroOp {
                    dst: low,
                    a: pair.from,
                    b: dst.slot,
                    ..by_tier!(l, WidenPair)
                });
                return;
            }
            None | Some(_) => {}
        }
    }
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        ..by_tier!(l, Widen)
    });
}

/// Emits `dst = f16(a) << 16 | f16(b)`, where [`is_native`].
pub(super) fn emit_pack(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        ..by_tier!(l, Pack)
    });
}
