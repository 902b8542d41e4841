//! Instructions under a guard: the lanes for which it does not hold stand aside.

use crate::{
    build::Lowerer,
    exec::{Ctx, Flow, Micro, MicroOp, Ops, Pred, args},
};

args! {
    struct Guard {
        pred: Pred,
        /// What is left out where no lane is left.
        skip: Ops,
    }
}

/// Narrows the mask to a predicate.
struct GuardOn;
impl Flow for GuardOn {
    type Args = Guard;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Guard>) -> *const MicroOp {
        let mask = ctx.pred(op.pred) & ctx.warp.active;
        if mask == 0 {
            return op.skip(op.skip);
        }
        ctx.mask = mask;
        ctx.full = mask == ctx.warp.live;
        op.next()
    }
}

/// All active lanes again.
struct GuardOff;
impl Flow for GuardOff {
    type Args = ();
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<()>) -> *const MicroOp {
        ctx.mask = ctx.warp.active;
        ctx.full = ctx.mask == ctx.warp.live;
        op.next()
    }
}

/// Begins the ops under a guard; returns where, for [`end_guard`].
pub(crate) fn begin_guard(l: &mut Lowerer, pred: Pred) -> usize {
    let skip = Ops(0);
    l.emit(l.flow::<GuardOn>(Guard { pred, skip }))
}

/// Ends the ops under the guard that began at `at`.
pub(crate) fn end_guard(l: &mut Lowerer, at: usize) {
    let end = l.emit(l.flow::<GuardOff>(()));
    if let Some(guard) = l.ops[at].of_flow_mut::<GuardOn>() {
        guard.skip = Ops((end - at) as u32);
    }
}
