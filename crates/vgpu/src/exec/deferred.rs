//! The ops by which a checked program counts reads only for lanes in which what was read matters (`lower/deferred.rs`).

use super::{
    Ctx, Handler, MicroOp,
    checked::{addresses, ask},
    stored::Unknown,
};
use crate::lower::Lowerer;

/// Where the lanes of a load are kept, and their addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) root: u32,
    pub(crate) addresses: u32,
}

/// No lane has read what mask `dst` is for.
struct Clear;
impl Handler for Clear {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        ctx.set_scalar(op.dst, 0);
    }
}

/// The lanes that run read, which mask `dst` is for, at addresses `a` plus `imm`, as a check has them, kept in `c`.
struct Begin;
impl Handler for Begin {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let wanted = ctx.checker.as_ref().is_some_and(|c| c.wants_races());
        if wanted {
            let at = addresses(ctx, op);
            *ctx.cells_mut(op.c) = at;
            ctx.set_scalar(op.dst, u64::from(ctx.mask));
        }
    }
}

/// Before the check of such a load.
pub(crate) fn emit_clear(l: &mut Lowerer, reading: Reading) {
    l.emit(MicroOp {
        dst: reading.root,
        ..l.cold::<Clear>()
    });
}

/// Between that and the load; the number of the access and its place in the spans.
pub(crate) fn emit_begin(l: &mut Lowerer, reading: Reading) -> Option<(u32, u32)> {
    let check = *l.ops.last()?;
    l.emit(MicroOp {
        dst: reading.root,
        a: check.a,
        b: check.b,
        c: reading.addresses,
        imm: check.imm,
        ..l.cold::<Begin>()
    });
    Some((check.aux, check.span))
}

/// Mask `dst` is mask `a`, where predicate `b - 1` xor `c` says so if `b` is not 0; added to what it was if `aux` is 1.
struct Part;
impl Handler for Part {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mut bits = ctx.pred(op.a);
        if let Some(slot) = op.b.checked_sub(1) {
            bits &= ctx.pred(slot) ^ op.c;
        }
        if op.aux == 1 {
            bits |= ctx.pred(op.dst);
        }
        ctx.set_scalar(op.dst, u64::from(bits));
    }
}

pub(crate) fn emit_part(
    l: &mut Lowerer,
    to: u32,
    from: u32,
    when: Option<(u32, u32)>,
    is_first: bool,
) {
    let (b, c) = when.map_or((0, 0), |(slot, flip)| (slot + 1, flip));
    l.emit(MicroOp {
        dst: to,
        a: from,
        b,
        c,
        aux: u32::from(!is_first),
        ..l.cold::<Part>()
    });
}

/// What access `aux` read matters in the lanes of mask `a` that run and that mask `b` still has; its addresses are in `c`.
struct Settle;
impl Handler for Settle {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let left = ctx.pred(op.b);
        let lanes = ctx.pred(op.a) & left & ctx.mask;
        if lanes == 0 {
            return;
        }
        ctx.set_scalar(op.b, u64::from(left & !lanes));
        let addresses = *ctx.cells::<u64>(op.c);
        ask(ctx, op, lanes, |checker, at, _| {
            checker.settle(at, op.aux, &addresses, &Unknown);
        });
    }
}

pub(crate) fn emit_settle(
    l: &mut Lowerer,
    mask: u32,
    reading: Reading,
    (number, span): (u32, u32),
) {
    l.emit(MicroOp {
        a: mask,
        b: reading.root,
        c: reading.addresses,
        aux: number,
        span,
        ..l.cold::<Settle>()
    });
}
