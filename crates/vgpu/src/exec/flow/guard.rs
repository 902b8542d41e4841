//! Instructions under a guard: the lanes for which it does not hold stand aside.

use crate::{
    exec::{Ctx, Flow, MicroOp},
    lower::Lowerer,
};

/// Narrows the mask to predicate `a`; skips `aux` ops if no lane is left.
struct GuardOn;
impl Flow for GuardOn {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let mask = (ctx.pred(op.a) ^ op.imm as u32) & ctx.warp.active;
        if mask == 0 {
            return std::ptr::from_ref(op).wrapping_add(1 + op.aux as usize);
        }
        ctx.mask = mask;
        ctx.full = mask == ctx.warp.live;
        std::ptr::from_ref(op).wrapping_add(1)
    }
}

/// All active lanes again.
struct GuardOff;
impl Flow for GuardOff {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        ctx.mask = ctx.warp.active;
        ctx.full = ctx.mask == ctx.warp.live;
        std::ptr::from_ref(op).wrapping_add(1)
    }
}

/// Begins the ops under a guard; returns where, for [`end_guard`].
pub(crate) fn begin_guard(l: &mut Lowerer, slot: u32, negated: u32) -> usize {
    l.emit(MicroOp {
        a: slot,
        imm: u64::from(negated),
        ..l.flow::<GuardOn>()
    })
}

/// Ends the ops under the guard that began at `at`.
pub(crate) fn end_guard(l: &mut Lowerer, at: usize) {
    let op = l.flow::<GuardOff>();
    let end = l.emit(op);
    l.ops[at].aux = (end - at) as u32;
}
