//! Counting instructions, for launches with a budget.

use super::{Ctx, Handler, MicroOp};
use crate::lower::Lowerer;

/// `imm` instructions are run.
struct Count;
impl Handler for Count {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        ctx.spent += op.imm;
        ctx.spent_at = op.span;
    }
}

/// Emits the count of a block of that many instructions.
pub(crate) fn emit_count(l: &mut Lowerer, instructions: usize) {
    l.emit(MicroOp {
        imm: instructions as u64,
        ..l.cold::<Count>()
    });
}
