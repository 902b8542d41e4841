//! The ops by which a checked program follows what shuffles did not bring (`lower/lost.rs`).

use super::{
    Ctx, Handler, MicroOp,
    checked::ask,
    lane::mask_of,
    operand,
    shadows::{self, Doubt},
    warp::{mode_of, source},
};
use crate::{error::Error, lower::Lowerer};
use warpsmith_ptx::ir::{Inst, Operand};

/// From now on a value of the warp may be lost: its masks count.
#[cold]
#[inline(never)]
fn begin(ctx: &mut Ctx) {
    ctx.warp.lost = true;
    for at in 0..ctx.program.lost.len() {
        let slot = ctx.program.lost[at];
        ctx.set_scalar(slot, 0);
    }
}

/// The lanes of a mask that run get these bits.
fn put(ctx: &mut Ctx, slot: u32, bits: u32) {
    let old = ctx.scalar(slot) as u32;
    ctx.set_scalar(slot, u64::from(old & !ctx.mask | bits & ctx.mask));
}

/// A value of the warp may be lost.
struct Losing;
impl Doubt for Losing {
    #[inline(always)]
    fn is_there(ctx: &Ctx) -> bool {
        ctx.warp.lost
    }
}

pub(crate) fn emit_skip(l: &mut Lowerer, count: usize) {
    shadows::emit_skip_without::<Losing>(l, count);
}

/// Mask `dst` is what the `imm` masks at `aux` have.
struct Mix;
impl Handler for Mix {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.lost {
            return;
        }
        let (mut bits, mut from) = (0, None);
        for at in 0..op.imm as u32 {
            let slot = ctx.extra(op.aux + at, 1)[0];
            let own = ctx.scalar(slot) as u32 & ctx.mask;
            bits |= own;
            from = from.or((own != 0).then_some(slot));
        }
        follow(ctx, from, op.dst);
        put(ctx, op.dst, bits);
    }
}

/// The op that gives a mask what others have.
pub(crate) fn mix(l: &mut Lowerer, target: u32, sources: &[u32]) -> MicroOp {
    MicroOp {
        dst: target,
        aux: l.extra(sources),
        imm: sources.len() as u64,
        ..l.cold::<Mix>()
    }
}

/// What is known of one mask is known of another.
fn follow(ctx: &mut Ctx, from: Option<u32>, to: u32) {
    if let (Some(from), Some(checker)) = (from, &mut ctx.checker) {
        checker.lost_along(from, to);
    }
}

/// Mask `dst` is that at `a` for the lanes of predicate `c ^ aux`, else that at `b`, and that at `more[0]`: of each one
/// more than the slot, and 0 where nothing can be lost.
struct Select;
impl Handler for Select {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.lost {
            return;
        }
        let chosen = ctx.pred(op.c) ^ op.aux;
        let (mut bits, mut from) = (0, None);
        for (slot, lanes) in [(op.a, chosen), (op.b, !chosen), (op.more[0], !0)] {
            if let Some(slot) = slot.checked_sub(1) {
                let own = ctx.scalar(slot) as u32 & lanes & ctx.mask;
                bits |= own;
                from = from.or((own != 0).then_some(slot));
            }
        }
        follow(ctx, from, op.dst);
        put(ctx, op.dst, bits);
    }
}

/// The mask of what `selp` selects; at once, since the predicate may change.
pub(crate) fn emit_select(
    l: &mut Lowerer,
    target: u32,
    sources: [Option<u32>; 3],
    pred: &Operand,
) -> Result<(), Error> {
    let (c, aux) = l.pred(pred)?;
    let [a, b, p] = sources.map(|slot| slot.map_or(0, |slot| slot + 1));
    l.emit(MicroOp {
        dst: target,
        a,
        b,
        c,
        aux,
        more: [p, 0, 0, 0],
        ..l.cold::<Select>()
    });
    Ok(())
}

/// Mask `dst` of what a shuffle of mode `aux` by the lanes of `b` and `c` gives: of those lanes that read from one that
/// does not take part, and of those whose lane has lost what is at mask `a`, one more than its slot.
struct Shuffle;
impl Handler for Shuffle {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mask = ctx.mask;
        if mask == !0 && !ctx.warp.lost {
            // There is no lane that does not take part.
            return;
        }
        shuffle(ctx, op);
    }
}

#[inline(never)]
fn shuffle(ctx: &mut Ctx, op: &MicroOp) {
    let mask = ctx.mask;
    let (b, c) = (ctx.cells::<u32>(op.b), ctx.cells::<u32>(op.c));
    let from = |i: usize| {
        let (other, fine) = source(op.aux, i as u32, b[i], c[i]);
        (other & 31, fine)
    };
    let bad = mask
        & mask_of(|i| {
            let (other, fine) = from(i);
            fine && mask >> other & 1 == 0
        });
    let lost = op.a.checked_sub(1).filter(|_| ctx.warp.lost);
    let held = lost.map_or(0, |slot| ctx.scalar(slot) as u32);
    let moved = mask & !bad & mask_of(|i| held >> from(i).0 & 1 != 0);
    if bad != 0 && !ctx.warp.lost {
        begin(ctx);
    }
    if !ctx.warp.lost {
        return;
    }
    if bad != 0 {
        ask(ctx, op, mask, |checker, at, _| {
            checker.lost_at(at, op.dst, bad.trailing_zeros());
        });
    } else if moved != 0 {
        follow(ctx, lost, op.dst);
    }
    put(ctx, op.dst, bad | moved);
}

pub(crate) fn emit_shuffle(
    l: &mut Lowerer,
    inst: &Inst,
    target: u32,
    from: Option<u32>,
) -> Result<(), Error> {
    let b = l.src32(operand(l, inst, 2)?)?;
    let c = l.src32(operand(l, inst, 3)?)?;
    l.emit(MicroOp {
        dst: target,
        a: from.map_or(0, |slot| slot + 1),
        b,
        c,
        aux: mode_of(inst),
        ..l.cold::<Shuffle>()
    });
    Ok(())
}

/// The values of the `imm` masks at `aux` are used.
struct Used;
impl Handler for Used {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if ctx.warp.lost {
            used(ctx, op);
        }
    }
}

#[inline(never)]
fn used(ctx: &mut Ctx, op: &MicroOp) {
    for at in 0..op.imm as u32 {
        let slot = ctx.extra(op.aux + at, 1)[0];
        let bad = ctx.scalar(slot) as u32 & ctx.mask;
        if bad != 0 {
            let mask = ctx.mask;
            ask(ctx, op, mask, |checker, at, _| {
                checker.lost_used(at, slot, bad)
            });
            // Once for each value.
            put(ctx, slot, 0);
        }
    }
}

pub(crate) fn emit_used(l: &mut Lowerer, slots: &[u32]) {
    let aux = l.extra(slots);
    l.emit(MicroOp {
        aux,
        imm: slots.len() as u64,
        ..l.cold::<Used>()
    });
}
