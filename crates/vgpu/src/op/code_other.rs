//! The code of handlers on architectures without multiversioning here.
#![allow(unsafe_code)]

use super::{Ctx, Flow, Handler, Micro, MicroOp};
use crate::tier::Tier;

/// The code of a micro-op: runs it and returns the next, or null at the end of the warp's turn.
pub(crate) type Run = unsafe fn(&mut Ctx, *const MicroOp) -> *const MicroOp;

/// The handler, compiled for the architecture's baseline.
pub(crate) fn pick<H: Handler>(_: Tier) -> Run {
    baseline::<H>
}

/// A handler that is seldom run: compiled once.
pub(crate) fn pick_cold<H: Handler>() -> Run {
    baseline::<H>
}

/// A handler of control flow.
pub(crate) fn pick_flow<H: Flow>() -> Run {
    flow::<H>
}

/// A handler of checks.
pub(crate) fn pick_watch<H: Flow>(_: Tier) -> Run {
    flow::<H>
}

unsafe fn flow<H: Flow>(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    // SAFETY: the run loop passes a pointer into the program that `ctx` keeps alive, to an op that was made of `H`.
    H::run(ctx, unsafe { Micro::seen(op) })
}

unsafe fn baseline<H: Handler>(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    // SAFETY: as in `flow`; every straight op is followed by a terminator.
    unsafe {
        H::run(ctx, Micro::seen(op));
        op.add(1)
    }
}
