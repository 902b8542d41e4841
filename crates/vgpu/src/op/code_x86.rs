//! The code of handlers on x86-64: compiled once for each tier.
#![allow(unsafe_code)]

use super::{Ctx, Flow, Handler, Micro, MicroOp};
use crate::tier::Tier;

/// The code of a micro-op: runs it and returns the next, or null at the end of the warp's turn.
pub(crate) type Run = unsafe extern "sysv64" fn(&mut Ctx, *const MicroOp) -> *const MicroOp;

/// The handler compiled for a tier. A caller runs it only where [`Tier::is_available`] said so.
pub(crate) fn pick<H: Handler>(tier: Tier) -> Run {
    match tier {
        Tier::Baseline => baseline::<H>,
        Tier::Avx2 => avx2::<H>,
        Tier::Avx512 => avx512::<H>,
    }
}

/// A handler that is seldom run: compiled once.
pub(crate) fn pick_cold<H: Handler>() -> Run {
    baseline::<H>
}

/// A handler of control flow, which needs no vectors.
pub(crate) fn pick_flow<H: Flow>() -> Run {
    flow::<H>
}

/// A handler of checks, which look at all lanes.
pub(crate) fn pick_watch<H: Flow>(tier: Tier) -> Run {
    match tier {
        Tier::Baseline => flow::<H>,
        Tier::Avx2 => watch_avx2::<H>,
        Tier::Avx512 => watch_avx512::<H>,
    }
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe extern "sysv64" fn watch_avx2<H: Flow>(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    // SAFETY: as in `flow`; `Machine::new` checked the features of its tier.
    H::run(ctx, unsafe { Micro::seen(op) })
}

#[target_feature(
    enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
)]
unsafe extern "sysv64" fn watch_avx512<H: Flow>(
    ctx: &mut Ctx,
    op: *const MicroOp,
) -> *const MicroOp {
    // SAFETY: as in `watch_avx2`.
    H::run(ctx, unsafe { Micro::seen(op) })
}

unsafe extern "sysv64" fn flow<H: Flow>(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    // SAFETY: the run loop passes a pointer into the program that `ctx` keeps alive, to an op that was made of `H`.
    H::run(ctx, unsafe { Micro::seen(op) })
}

unsafe extern "sysv64" fn baseline<H: Handler>(
    ctx: &mut Ctx,
    op: *const MicroOp,
) -> *const MicroOp {
    // SAFETY: as in `flow`; every straight op is followed by a terminator.
    unsafe {
        H::run(ctx, Micro::seen(op));
        op.add(1)
    }
}

#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe extern "sysv64" fn avx2<H: Handler>(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    // SAFETY: as in `baseline`; `Machine::new` checked the features of its tier.
    unsafe {
        H::run(ctx, Micro::seen(op));
        op.add(1)
    }
}

#[target_feature(
    enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"
)]
unsafe extern "sysv64" fn avx512<H: Handler>(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    // SAFETY: as in `avx2`.
    unsafe {
        H::run(ctx, Micro::seen(op));
        op.add(1)
    }
}
