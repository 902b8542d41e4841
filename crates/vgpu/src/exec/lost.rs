//! The ops by which a checked program follows what shuffles did not bring (`lower/lost.rs`).

use super::{
    Ctx, Handler, Micro, MicroOp, OptSlot, Pred, Slot, Words, args,
    checked::ask,
    lane::mask_of,
    operand,
    shadows::{self, Doubt},
    warp::{Mode, mode_of, source},
};
use crate::{build::Lowerer, error::Error};
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
fn put(ctx: &mut Ctx, slot: Slot, bits: u32) {
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

args! {
    struct Mixture {
        dst: Slot,
        /// The slots of the masks it is made of.
        masks: Words,
        count: u32,
    }

    struct Selection {
        dst: Slot,
        pred: Pred,
        /// The masks of what is selected, and of the predicate.
        yes: OptSlot,
        no: OptSlot,
        always: OptSlot,
    }

    struct Exchange {
        dst: Slot,
        mode: Mode,
        /// The mask of the source.
        from: OptSlot,
        b: Slot,
        c: Slot,
    }

    struct Uses {
        masks: Words,
        count: u32,
    }
}

/// A mask is what others have.
struct Mix;
impl Handler for Mix {
    type Args = Mixture;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Mixture>) {
        if !ctx.warp.lost {
            return;
        }
        let (mut bits, mut from) = (0, None);
        for at in 0..op.count {
            let slot = Slot(ctx.extra(op.masks.behind(at), 1)[0]);
            let own = ctx.scalar(slot) as u32 & ctx.mask;
            bits |= own;
            from = from.or((own != 0).then_some(slot));
        }
        follow(ctx, from, op.dst);
        put(ctx, op.dst, bits);
    }
}

/// The op that gives a mask what others have.
pub(crate) fn mix(l: &mut Lowerer, dst: Slot, sources: &[Slot]) -> MicroOp {
    let args = Mixture {
        dst,
        masks: list(l, sources),
        count: sources.len() as u32,
    };
    l.cold::<Mix>(args)
}

/// Slots in the extra table.
fn list(l: &mut Lowerer, slots: &[Slot]) -> Words {
    let words: Vec<u32> = slots.iter().map(|slot| slot.0).collect();
    l.extra(&words)
}

/// What is known of one mask is known of another.
fn follow(ctx: &mut Ctx, from: Option<Slot>, to: Slot) {
    if let (Some(from), Some(checker)) = (from, &mut ctx.checker) {
        checker.lost_along(from.0, to.0);
    }
}

/// A mask is what `selp` selects of others.
struct Select;
impl Handler for Select {
    type Args = Selection;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Selection>) {
        if !ctx.warp.lost {
            return;
        }
        let chosen = ctx.pred(op.pred);
        let (mut bits, mut from) = (0, None);
        for (slot, lanes) in [(op.yes, chosen), (op.no, !chosen), (op.always, !0)] {
            if let Some(slot) = slot.get() {
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
    dst: Slot,
    sources: [Option<Slot>; 3],
    pred: &Operand,
) -> Result<(), Error> {
    let pred = l.pred(pred)?;
    let [yes, no, always] = sources.map(OptSlot::from);
    let args = Selection {
        dst,
        pred,
        yes,
        no,
        always,
    };
    l.emit(l.cold::<Select>(args));
    Ok(())
}

/// The mask of what a shuffle gives: of those lanes that read from one that does not take part, and of those whose lane
/// has lost it.
struct Shuffle;
impl Handler for Shuffle {
    type Args = Exchange;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Exchange>) {
        let mask = ctx.mask;
        if mask == !0 && !ctx.warp.lost {
            // There is no lane that does not take part.
            return;
        }
        shuffle(ctx, op);
    }
}

#[inline(never)]
fn shuffle(ctx: &mut Ctx, op: &Micro<Exchange>) {
    let mask = ctx.mask;
    let (b, c) = (ctx.cells::<u32>(op.b), ctx.cells::<u32>(op.c));
    let from = |i: usize| {
        let (other, fine) = source(op.mode, i as u32, b[i], c[i]);
        (other & 31, fine)
    };
    let bad = mask
        & mask_of(|i| {
            let (other, fine) = from(i);
            fine && mask >> other & 1 == 0
        });
    let lost = op.from.get().filter(|_| ctx.warp.lost);
    let held = lost.map_or(0, |slot| ctx.scalar(slot) as u32);
    let moved = mask & !bad & mask_of(|i| held >> from(i).0 & 1 != 0);
    if bad != 0 && !ctx.warp.lost {
        begin(ctx);
    }
    if !ctx.warp.lost {
        return;
    }
    if bad != 0 {
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.lost_at(at, op.dst.0, bad.trailing_zeros());
        });
    } else if moved != 0 {
        follow(ctx, lost, op.dst);
    }
    put(ctx, op.dst, bad | moved);
}

pub(crate) fn emit_shuffle(
    l: &mut Lowerer,
    inst: &Inst,
    dst: Slot,
    from: Option<Slot>,
) -> Result<(), Error> {
    let args = Exchange {
        dst,
        mode: mode_of(inst),
        from: from.into(),
        b: l.src32(operand(l, inst, 2)?)?,
        c: l.src32(operand(l, inst, 3)?)?,
    };
    l.emit(l.cold::<Shuffle>(args));
    Ok(())
}

/// The values of masks are used.
struct Used;
impl Handler for Used {
    type Args = Uses;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Uses>) {
        if ctx.warp.lost {
            used(ctx, op);
        }
    }
}

#[inline(never)]
fn used(ctx: &mut Ctx, op: &Micro<Uses>) {
    for at in 0..op.count {
        let slot = Slot(ctx.extra(op.masks.behind(at), 1)[0]);
        let bad = ctx.scalar(slot) as u32 & ctx.mask;
        if bad != 0 {
            let mask = ctx.mask;
            ask(ctx, op.span(), mask, |checker, at, _| {
                checker.lost_used(at, slot.0, bad)
            });
            // Once for each value.
            put(ctx, slot, 0);
        }
    }
}

pub(crate) fn emit_used(l: &mut Lowerer, slots: &[Slot]) {
    let args = Uses {
        masks: list(l, slots),
        count: slots.len() as u32,
    };
    l.emit(l.cold::<Used>(args));
}
