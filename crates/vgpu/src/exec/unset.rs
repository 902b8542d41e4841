//! The ops by which a checked program follows predicates that lanes have not written: a mask of those lanes for each.

use super::{Ctx, Handler, Micro, OptSlot, Pred, Slot, args, checked::ask, choices};
use crate::build::Lowerer;

choices! {
    /// How predicates are put together.
    pub(crate) enum Logic {
        /// False on one side leaves the other one open.
        And,
        /// True does.
        Or,
        /// Both always matter.
        Any,
    }
}

/// A source: the slot of its mask, if it has one, and its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) mask: Option<Slot>,
    pub(crate) value: Pred,
}

args! {
    struct Mask {
        mask: Slot,
    }

    struct Combination {
        dst: Slot,
        logic: Logic,
        /// The masks of both sides, and their values.
        a: OptSlot,
        b: OptSlot,
        x: Pred,
        y: Pred,
    }

    struct Opening {
        value: Slot,
        mask: Slot,
        /// What the predicate is where it was not written.
        holds: bool,
    }

    struct Closing {
        dst: Slot,
        logic: Logic,
        mask: Slot,
        value: Slot,
    }
}

/// No lane has written a mask's predicate.
struct Unwritten;
impl Handler for Unwritten {
    type Args = Mask;
    fn run(ctx: &mut Ctx, op: &Micro<Mask>) {
        ctx.set_scalar(op.mask, u64::from(u32::MAX));
    }
}

pub(super) fn emit_unwritten(l: &mut Lowerer, mask: Slot) {
    l.emit(l.cold::<Unwritten>(Mask { mask }));
}

/// The lanes that run have written a mask's predicate.
struct Written;
impl Handler for Written {
    type Args = Mask;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Mask>) {
        put(ctx, op.mask, 0);
    }
}

pub(crate) fn emit_written(l: &mut Lowerer, mask: Slot) {
    l.emit(l.cold::<Written>(Mask { mask }));
}

/// Sets a mask for the lanes that run.
#[inline(always)]
fn put(ctx: &mut Ctx, slot: Slot, bits: u32) {
    let (old, mask) = (ctx.mask_at(slot), ctx.mask);
    ctx.set_scalar(slot, u64::from(old & !mask | bits & mask));
}

/// A mask's predicate decides what the lanes do that run.
struct Decides;
impl Handler for Decides {
    type Args = Mask;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Mask>) {
        let bad = ctx.mask_at(op.mask) & ctx.mask;
        if bad != 0 {
            ask(ctx, op.span(), bad, |checker, at, _| {
                checker.decided(at, bad)
            });
            // Once for each value.
            put(ctx, op.mask, 0);
        }
    }
}

pub(crate) fn emit_decides(l: &mut Lowerer, mask: Slot) {
    l.emit(l.cold::<Decides>(Mask { mask }));
}

/// The mask of what logic makes of two predicates.
struct Combine;
impl Handler for Combine {
    type Args = Combination;
    fn run(ctx: &mut Ctx, op: &Micro<Combination>) {
        let mask = |slot: OptSlot| slot.get().map_or(0, |slot| ctx.mask_at(slot));
        let (a, b) = (mask(op.a), mask(op.b));
        let (x, y) = (ctx.pred(op.x), ctx.pred(op.y));
        let out = match op.logic {
            Logic::And => a & b | a & y | b & x,
            Logic::Or => a & b | a & !y | b & !x,
            Logic::Any => a | b,
        };
        put(ctx, op.dst, out);
    }
}

/// The mask of what `kind` makes of one or two predicates, before it is made.
pub(crate) fn emit_logic(l: &mut Lowerer, dst: Slot, kind: Logic, sides: &[Side]) {
    let Some(first) = sides.first() else {
        return;
    };
    let second = sides.get(1);
    let args = Combination {
        dst,
        logic: if second.is_some() { kind } else { Logic::Any },
        a: first.mask.into(),
        b: second.and_then(|side| side.mask).into(),
        x: first.value,
        y: second.unwrap_or(first).value,
    };
    l.emit(l.cold::<Combine>(args));
}

/// Where a mask says so, a predicate is true or false.
struct Open;
impl Handler for Open {
    type Args = Opening;
    fn run(ctx: &mut Ctx, op: &Micro<Opening>) {
        let (old, open) = (ctx.mask_at(op.value), ctx.mask_at(op.mask) & ctx.mask);
        let new = if op.holds { old | open } else { old & !open };
        ctx.set_scalar(op.value, u64::from(new));
    }
}

/// Before a comparison is combined with a predicate: where that was not written, it is what lets the comparison through.
pub(crate) fn emit_open(l: &mut Lowerer, value: Slot, mask: Slot, kind: Logic, negated: bool) {
    let holds = (kind == Logic::And) != negated;
    l.emit(l.cold::<Open>(Opening { value, mask, holds }));
}

/// The mask of a predicate that logic made of a comparison and a predicate with a mask.
struct Closed;
impl Handler for Closed {
    type Args = Closing;
    fn run(ctx: &mut Ctx, op: &Micro<Closing>) {
        let (mask, value) = (ctx.mask_at(op.mask), ctx.mask_at(op.value));
        let out = match op.logic {
            Logic::And => mask & value,
            Logic::Or => mask & !value,
            Logic::Any => mask,
        };
        put(ctx, op.dst, out);
    }
}

/// After it: where the comparison leaves it open, the result is as little known.
pub(crate) fn emit_closed(l: &mut Lowerer, dst: Slot, mask: Slot, logic: Logic, value: Slot) {
    let args = Closing {
        dst,
        logic,
        mask,
        value,
    };
    l.emit(l.cold::<Closed>(args));
}
