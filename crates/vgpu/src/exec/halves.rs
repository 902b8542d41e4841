//! Conversions between `f32` and `f16` by the CPU's own instructions, bit for bit those of `half.rs`.

#[cfg_attr(target_arch = "x86_64", path = "halves_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "halves_other.rs")]
mod native;

use super::{Ctx, Handler, MicroOp};
use crate::{
    Tier,
    lower::{Dst, Lowerer, Src},
};

/// `dst` is the f16 of each lane of `a` as f32.
struct Widen;

impl Handler for Widen {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let out = native::widen(ctx.cells(op.a));
        ctx.put_cells(op.dst, out);
    }
}

/// `dst` is the lanes of `a` and `b` as pairs of f16, `a` in the high half.
struct Pack;

impl Handler for Pack {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let out = native::pack(ctx.cells(op.a), ctx.cells(op.b));
        ctx.put_cells(op.dst, out);
    }
}

/// Whether lanes of f16 are converted here.
pub(super) fn is_native(l: &Lowerer, all: &[Src], dst: Dst) -> bool {
    l.tier() != Tier::Baseline && !dst.uniform && all.iter().all(|src| !src.uniform)
}

/// Emits `dst = f32(a)`, where [`is_native`].
pub(super) fn emit_widen(l: &mut Lowerer, dst: Dst, a: Src) {
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        ..l.op::<Widen>()
    });
}

/// Emits `dst = f16(a) << 16 | f16(b)`, where [`is_native`].
pub(super) fn emit_pack(l: &mut Lowerer, dst: Dst, a: Src, b: Src) {
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        ..l.op::<Pack>()
    });
}
