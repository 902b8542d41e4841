//! `bar` in its forms: lanes are parked, and `sched` lets them go.

use super::super::{
    BlockId, Ctx, Flow, Micro, MicroOp, OptPred, OptSlot, Pred, Slot, args, choices, ordered,
};
use super::cluster;
use crate::op::{Parked, Reduce, Stop};
use crate::{
    analysis::{BarRed, BarrierTerm},
    build::Lowerer,
    error::{Error, FaultKind, Misuse},
};

args! {
    struct Barrier {
        number: Slot,
        /// How many threads it waits for; all of the CTA without one.
        count: OptSlot,
        votes: Votes,
        aligned: bool,
        /// The predicate of `bar.red`, and where its result goes.
        pred: OptPred,
        dst: OptSlot,
        guard: OptPred,
        next: BlockId,
    }
}

choices! {
    /// What lanes do at a barrier.
    enum Votes {
        Sync,
        /// They go on.
        Arrive,
        Popc,
        And,
        Or,
    }
}

/// `bar` in its forms.
struct Waits;
impl Flow for Waits {
    type Args = Barrier;
    fn run(ctx: &mut Ctx, op: &Micro<Barrier>) -> *const MicroOp {
        let mut lanes = ctx.warp.active;
        if let Some(guard) = op.guard.get() {
            lanes &= ctx.pred(guard);
        }
        if lanes == 0 {
            return ctx.goto(op.next.0);
        }
        let barrier = ctx.scalar(op.number) as u32;
        let count = op.count.get().map(|count| ctx.scalar(count) as u32);
        if let Some(count) = count
            && !count.is_multiple_of(32)
        {
            ordered::odd_count(ctx, op.span(), lanes, count);
        }
        if barrier >= 16 {
            let kind = FaultKind::Misuse(Misuse::BarrierNumber);
            ctx.fault(op.span(), kind, lanes.trailing_zeros(), None);
            return ctx.goto(op.next.0);
        }
        let reduce = match (op.votes, op.dst.get()) {
            (Votes::Popc, Some(dst)) => Reduce::Popc(dst),
            (Votes::And, Some(dst)) => Reduce::And(dst),
            (Votes::Or, Some(dst)) => Reduce::Or(dst),
            (Votes::Sync | Votes::Arrive | Votes::Popc | Votes::And | Votes::Or, _) => Reduce::None,
        };
        let votes = op.pred.get().map_or(0, |pred| ctx.pred(pred) & lanes);
        let arrives = op.votes == Votes::Arrive;
        let parked = Parked {
            barrier,
            lanes,
            resume: op.next.0,
            reduce,
            count,
            votes,
            arrive_only: arrives,
            aligned: op.aligned,
            span: op.span(),
        };
        let is_plain = reduce == Reduce::None && count.is_none() && !arrives;
        let is_looked_at = ctx.checker.is_some() || ctx.warp.trace.is_some();
        if is_plain && lanes == ctx.warp.whole && !is_looked_at {
            ctx.warp.came = Some(parked);
            ctx.warp.active = 0;
            ctx.stop = Stop::Blocked;
            return std::ptr::null();
        }
        // What the warp does behind an arrival is not before it, though the barriers count it later.
        if arrives && let Some(checker) = &mut ctx.checker {
            checker.arrive(ctx.warp.index, lanes, barrier as usize);
        }
        ctx.warp.arrivals.push(parked);
        if arrives {
            return ctx.goto(op.next.0);
        }
        ctx.warp.parked.push(parked);
        let rest = ctx.warp.active & !lanes;
        if rest != 0 {
            ctx.activate(rest);
            return ctx.goto(op.next.0);
        }
        ctx.pick()
    }
}

/// The op of a barrier.
pub(super) fn emit(l: &mut Lowerer, term: &BarrierTerm) -> Result<MicroOp, Error> {
    let BarrierTerm {
        id,
        count,
        reduce,
        arrive,
        cluster,
        aligned,
        guard,
        next,
    } = term;
    if let Some(orders) = cluster {
        return Ok(cluster::emit(l, term, *orders));
    }
    let number = l.scalar_src(id)?;
    let count = match count {
        Some(count) => Some(l.scalar_src(count)?),
        None => None,
    };
    let mut args = Barrier {
        number,
        count: count.into(),
        votes: if *arrive { Votes::Arrive } else { Votes::Sync },
        aligned: *aligned,
        pred: OptPred::NONE,
        dst: OptSlot::NONE,
        guard: OptPred::NONE,
        next: BlockId(*next),
    };
    if let Some((what, dst, pred)) = reduce {
        args.pred = Some(l.pred(pred)?).into();
        args.dst = l.dst(dst)?.slot.into();
        args.votes = match what {
            BarRed::Popc => Votes::Popc,
            BarRed::And => Votes::And,
            BarRed::Or => Votes::Or,
        };
    }
    if let Some((pred, negated)) = guard {
        let mask = l.slot_of(*pred);
        args.guard = Some(Pred {
            mask,
            flip: *negated,
        })
        .into();
    }
    Ok(l.flow::<Waits>(args))
}
