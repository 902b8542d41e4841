//! Lanes that parted in compiled code, which is left in a block that is for some of them.

use crate::op::{Ctx, MicroOp, WAYS};

/// Makes lanes wait where compiled code says, and goes on with `op` for the others.
pub(crate) extern "sysv64" fn part(ctx: &mut Ctx, op: *const MicroOp) -> *const MicroOp {
    for at in 0..(ctx.parted.count as usize).min(WAYS) {
        let [block, lanes] = ctx.parted.waits[at];
        if lanes != 0 {
            let convergent = ctx.program.blocks[block as usize].convergent;
            ctx.warp.hold(block, lanes, convergent);
        }
    }
    let active = ctx.parted.active;
    if active == 0 {
        return ctx.pick();
    }
    ctx.activate(active);
    op
}
