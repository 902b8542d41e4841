//! Fences, and hints that change no result.

use super::super::{Ctx, Handler, MicroOp};
use crate::{error::Error, lower::Lowerer};
use warpsmith_ptx::{ir::Inst, op::Op};

/// A fence between the memory accesses of host threads.
struct Fence;
impl Handler for Fence {
    #[inline(always)]
    fn run(_: &mut Ctx, _: &MicroOp) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

/// Gives way at the next jump.
struct Sleep;
impl Handler for Sleep {
    #[inline(always)]
    fn run(ctx: &mut Ctx, _: &MicroOp) {
        ctx.fuel = ctx.fuel.min(0);
        ctx.slept = true;
    }
}

/// Lowers fences, and hints that do nothing here.
pub(in crate::exec) fn lower_hint(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    if matches!(inst.op, Op::Membar | Op::Fence) {
        let op = l.op::<Fence>();
        l.emit(op);
    } else if inst.op == Op::Nanosleep {
        let op = l.op::<Sleep>();
        l.emit(op);
    }
    Ok(())
}
