//! Counting instructions, for launches with a budget.

use super::{Ctx, Handler, Micro, args};
use crate::build::Lowerer;

args! {
    struct Counting {
        instructions: u64,
    }
}

/// Instructions are run.
struct Count;
impl Handler for Count {
    type Args = Counting;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Counting>) {
        ctx.spent += op.instructions;
        ctx.spent_at = op.span();
    }
}

/// Emits the count of a block of that many instructions.
pub(crate) fn emit_count(l: &mut Lowerer, instructions: usize) {
    let instructions = instructions as u64;
    l.emit(l.cold::<Count>(Counting { instructions }));
}
