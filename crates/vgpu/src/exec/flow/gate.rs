//! Gates where lanes may wait for different members.

use super::super::{Ctx, MicroOp};

/// Lanes whose members are all here go on, the others wait; the members stand in lanes `a`.
#[inline(never)]
pub(super) fn each(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
    let block = op.aux as usize;
    let here = ctx.warp.active | ctx.warp.gate[block];
    let live = ctx.warp.live;
    let members = ctx.cells::<u32>(op.a);
    let ready = (0..32)
        .filter(|lane| here >> lane & 1 != 0)
        .fold(0, |all, lane| {
            let missing = members[lane] & live & !here;
            all | u32::from(missing == 0) << lane
        });
    let rest = here & !ready;
    ctx.warp.gate[block] = rest;
    let bit = 1 << (block % 64);
    if rest == 0 {
        ctx.warp.gated[block / 64] &= !bit;
    } else {
        ctx.warp.gated[block / 64] |= bit;
    }
    if ready == 0 {
        return ctx.pick();
    }
    ctx.activate(ready);
    if op.c == 1 {
        super::super::ordered::gate(ctx, op);
    }
    ctx.block(op.aux)
}
