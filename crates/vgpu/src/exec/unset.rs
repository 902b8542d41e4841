//! The ops by which a checked program follows predicates that lanes have not written: a mask of those lanes for each.

use super::{Ctx, Handler, MicroOp, checked::ask};
use crate::lower::Lowerer;

/// How predicates are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    /// False on one side leaves the other one open.
    And,
    /// True does.
    Or,
    /// Both always matter.
    Any,
}

/// A source: the slots of its mask, if it has one, and of its value, which is negated by xor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) mask: Option<u32>,
    pub(crate) value: u32,
    pub(crate) negated: u32,
}

fn number(kind: Logic) -> u32 {
    match kind {
        Logic::And => 0,
        Logic::Or => 1,
        Logic::Any => 2,
    }
}

/// No lane has written mask `dst`'s predicate.
struct Unwritten;
impl Handler for Unwritten {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        ctx.set_scalar(op.dst, u64::from(u32::MAX));
    }
}

pub(super) fn emit_unwritten(l: &mut Lowerer, slot: u32) {
    l.emit(MicroOp {
        dst: slot,
        ..l.cold::<Unwritten>()
    });
}

/// The lanes that run have written mask `dst`'s predicate.
struct Written;
impl Handler for Written {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        put(ctx, op.dst, 0);
    }
}

pub(crate) fn emit_written(l: &mut Lowerer, slot: u32) {
    l.emit(MicroOp {
        dst: slot,
        ..l.cold::<Written>()
    });
}

/// Sets a mask for the lanes that run.
#[inline(always)]
fn put(ctx: &mut Ctx, slot: u32, bits: u32) {
    let (old, mask) = (ctx.pred(slot), ctx.mask);
    ctx.set_scalar(slot, u64::from(old & !mask | bits & mask));
}

/// Mask `a`'s predicate decides what the lanes do that run.
struct Decides;
impl Handler for Decides {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let bad = ctx.pred(op.a) & ctx.mask;
        if bad != 0 {
            ask(ctx, op, bad, |checker, at, _| checker.decided(at, bad));
            // Once for each value.
            put(ctx, op.a, 0);
        }
    }
}

pub(crate) fn emit_decides(l: &mut Lowerer, slot: u32) {
    l.emit(MicroOp {
        a: slot,
        ..l.cold::<Decides>()
    });
}

/// Mask `dst` of what logic `aux` makes of two: one more than the slots of their masks in `a` and `b`, their values in
/// `c` and `more[0]`, negated by `more[1]` and `more[2]`.
struct Combine;
impl Handler for Combine {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mask = |slot: u32| slot.checked_sub(1).map_or(0, |slot| ctx.pred(slot));
        let (a, b) = (mask(op.a), mask(op.b));
        let (x, y) = (
            ctx.pred(op.c) ^ op.more[1],
            ctx.pred(op.more[0]) ^ op.more[2],
        );
        let out = match op.aux {
            0 => a & b | a & y | b & x,
            1 => a & b | a & !y | b & !x,
            _ => a | b,
        };
        put(ctx, op.dst, out);
    }
}

/// The mask of what `kind` makes of one or two predicates, before it is made.
pub(crate) fn emit_logic(l: &mut Lowerer, slot: u32, kind: Logic, sides: &[Side]) {
    let Some(first) = sides.first() else {
        return;
    };
    let second = sides.get(1);
    let one_more = |side: &Side| side.mask.map_or(0, |slot| slot + 1);
    l.emit(MicroOp {
        dst: slot,
        a: one_more(first),
        b: second.map_or(0, one_more),
        c: first.value,
        more: [
            second.unwrap_or(first).value,
            first.negated,
            second.unwrap_or(first).negated,
            0,
        ],
        aux: number(if second.is_some() { kind } else { Logic::Any }),
        ..l.cold::<Combine>()
    });
}

/// Where mask `a` says so, predicate `dst` is true (`aux` 1) or false.
struct Open;
impl Handler for Open {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let (old, open) = (ctx.pred(op.dst), ctx.pred(op.a) & ctx.mask);
        let new = if op.aux == 1 { old | open } else { old & !open };
        ctx.set_scalar(op.dst, u64::from(new));
    }
}

/// Before a comparison is combined with a predicate: where that was not written, it is what lets the comparison through.
pub(crate) fn emit_open(l: &mut Lowerer, value: u32, mask: u32, kind: Logic, negated: bool) {
    l.emit(MicroOp {
        dst: value,
        a: mask,
        aux: u32::from((kind == Logic::And) != negated),
        ..l.cold::<Open>()
    });
}

/// Mask `dst` of predicate `b`, which logic `aux` made of a comparison and the predicate with mask `a`.
struct Closed;
impl Handler for Closed {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let (mask, value) = (ctx.pred(op.a), ctx.pred(op.b));
        let out = match op.aux {
            0 => mask & value,
            1 => mask & !value,
            _ => mask,
        };
        put(ctx, op.dst, out);
    }
}

/// After it: where the comparison leaves it open, the result is as little known.
pub(crate) fn emit_closed(l: &mut Lowerer, slot: u32, mask: u32, kind: Logic, value: u32) {
    l.emit(MicroOp {
        dst: slot,
        a: mask,
        b: value,
        aux: number(kind),
        ..l.cold::<Closed>()
    });
}
