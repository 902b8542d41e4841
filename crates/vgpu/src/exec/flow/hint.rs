//! Fences, and hints that change no result.

use super::super::{Ctx, Handler, Micro};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, op::Op};

/// A fence between the memory accesses of host threads.
struct Fence;
impl Handler for Fence {
    type Args = ();
    #[inline(always)]
    fn run(_: &mut Ctx, _: &Micro<()>) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// Gives way at the next jump.
struct Sleep;
impl Handler for Sleep {
    type Args = ();
    #[inline(always)]
    fn run(ctx: &mut Ctx, _: &Micro<()>) {
        ctx.fuel = ctx.fuel.min(0);
        ctx.slept = true;
    }
}

/// Lowers fences, and hints that do nothing here.
pub(in crate::exec) fn lower_hint(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    if matches!(inst.op, Op::Membar | Op::Fence) {
        l.emit(l.op::<Fence>(()));
    } else if inst.op == Op::Nanosleep {
        l.emit(l.op::<Sleep>(()));
    }
    Ok(())
}
