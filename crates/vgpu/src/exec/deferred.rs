//! The ops by which a checked program counts reads only for lanes in which what was read matters (`lower/deferred.rs`).

use super::{
    AccessId, Base, Ctx, Handler, Micro, OptPred, Pred, Slot, SpanId, args,
    checked::{LaneAddresses, addresses, ask, check_of},
    stored::Unknown,
};
use crate::build::Lowerer;

/// Where the lanes of a load are kept, and their addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) root: Slot,
    pub(crate) addresses: Slot,
}

args! {
    struct Mask {
        dst: Slot,
    }

    struct Beginning {
        /// The lanes that read.
        dst: Slot,
        /// Where, and where that is kept.
        at: Base,
        offset: u64,
        addresses: Slot,
    }

    struct Making {
        dst: Slot,
        a: Slot,
        /// The lanes of `a` that count; all without one.
        when: OptPred,
        /// Whether it is added to what there was.
        adds: bool,
    }

    struct Settling {
        /// Lanes in which it matters.
        mask: Slot,
        /// Lanes that are not settled.
        root: Slot,
        addresses: Slot,
        access: AccessId,
    }
}

/// No lane has read.
struct Clear;
impl Handler for Clear {
    type Args = Mask;
    fn run(ctx: &mut Ctx, op: &Micro<Mask>) {
        ctx.set_scalar(op.dst, 0);
    }
}

/// The lanes that run read.
struct Begin;
impl Handler for Begin {
    type Args = Beginning;
    fn run(ctx: &mut Ctx, op: &Micro<Beginning>) {
        let wanted = ctx.checker.as_ref().is_some_and(|c| c.wants_races());
        if wanted {
            let place = LaneAddresses {
                base: op.at,
                offset: op.offset,
            };
            *ctx.cells_mut(op.addresses) = addresses(ctx, place);
            ctx.set_scalar(op.dst, u64::from(ctx.mask));
        }
    }
}

/// Before the check of such a load.
pub(crate) fn emit_clear(l: &mut Lowerer, reading: Reading) {
    let dst = reading.root;
    l.emit(l.cold::<Clear>(Mask { dst }));
}

/// Between that and the load; the number of the access and its place in the spans.
pub(crate) fn emit_begin(l: &mut Lowerer, reading: Reading) -> Option<(AccessId, SpanId)> {
    let check = check_of(l.ops.last()?)?;
    let (known, LaneAddresses { base, offset }) = ((check.access(), check.span()), check.place());
    let args = Beginning {
        dst: reading.root,
        at: base,
        offset,
        addresses: reading.addresses,
    };
    l.emit(l.cold::<Begin>(args));
    Some(known)
}

/// A mask is a part of another.
struct Intersection;
impl Handler for Intersection {
    type Args = Making;
    fn run(ctx: &mut Ctx, op: &Micro<Making>) {
        let mut bits = ctx.mask_at(op.a);
        if let Some(pred) = op.when.get() {
            bits &= ctx.pred(pred);
        }
        if op.adds {
            bits |= ctx.mask_at(op.dst);
        }
        ctx.set_scalar(op.dst, u64::from(bits));
    }
}

pub(crate) fn emit_part(l: &mut Lowerer, to: Slot, from: Slot, when: Option<Pred>, is_first: bool) {
    let args = Making {
        dst: to,
        a: from,
        when: when.into(),
        adds: !is_first,
    };
    l.emit(l.cold::<Intersection>(args));
}

/// What an access read matters in lanes that run and are not settled.
struct Settle;
impl Handler for Settle {
    type Args = Settling;
    fn run(ctx: &mut Ctx, op: &Micro<Settling>) {
        let left = ctx.mask_at(op.root);
        let lanes = ctx.mask_at(op.mask) & left & ctx.mask;
        if lanes == 0 {
            return;
        }
        ctx.set_scalar(op.root, u64::from(left & !lanes));
        let addresses = *ctx.cells::<u64>(op.addresses);
        ask(ctx, op.span(), lanes, |checker, at, _| {
            checker.settle(at, op.access.0, &addresses, &Unknown);
        });
    }
}

pub(crate) fn emit_settle(
    l: &mut Lowerer,
    mask: Slot,
    reading: Reading,
    (access, span): (AccessId, SpanId),
) {
    let args = Settling {
        mask,
        root: reading.root,
        addresses: reading.addresses,
        access,
    };
    l.emit(l.cold::<Settle>(args).at(span));
}
