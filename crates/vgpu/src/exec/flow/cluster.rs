//! The barrier of a cluster (PTX ISA 9.7.13.3): lanes come to it, and wait for all others some time later.
//!
//! Each CTA of a cluster is run by the same worker, which sees after each round of turns whether all lanes have come
//! (`sched/group.rs`).

use super::super::{BlockId, Ctx, Flow, Micro, MicroOp, OptPred, Pred, args, ordered};
use crate::{
    analysis::BarrierTerm,
    build::Lowerer,
    error::{FaultKind, Misuse},
    op::{CLUSTER, Parked, Reduce},
};

args! {
    struct Meeting {
        guard: OptPred,
        /// Whether what comes before it is known to those who wait.
        orders: bool,
        aligned: bool,
        next: BlockId,
    }
}

/// The lanes that run one.
fn lanes(ctx: &Ctx, op: &Meeting) -> u32 {
    let guard = op.guard.get().map_or(!0, |guard| ctx.pred(guard));
    ctx.warp.active & guard
}

/// `barrier.cluster.arrive`.
struct Comes;
impl Flow for Comes {
    type Args = Meeting;
    fn run(ctx: &mut Ctx, op: &Micro<Meeting>) -> *const MicroOp {
        let lanes = lanes(ctx, op);
        let twice = lanes & ctx.warp.owes;
        if twice != 0 {
            let kind = FaultKind::Misuse(Misuse::ClusterArrive);
            ctx.fault(op.span(), kind, twice.trailing_zeros(), None);
        }
        if lanes != 0 {
            if op.aligned && lanes != ctx.warp.live {
                let missing = (ctx.warp.live & !lanes).trailing_zeros() & 31;
                ordered::partial(ctx, op.span(), lanes, ctx.warp.live, missing);
            }
            ordered::meets(ctx, op.span(), lanes, op.orders);
            ctx.warp.met |= lanes;
            ctx.warp.owes |= lanes;
            ctx.met = true;
        }
        ctx.goto(op.next.0)
    }
}

/// `barrier.cluster.wait`.
struct Waits;
impl Flow for Waits {
    type Args = Meeting;
    fn run(ctx: &mut Ctx, op: &Micro<Meeting>) -> *const MicroOp {
        let lanes = lanes(ctx, op);
        let early = lanes & !ctx.warp.owes;
        if early != 0 {
            let kind = FaultKind::Misuse(Misuse::ClusterWait);
            ctx.fault(op.span(), kind, early.trailing_zeros(), None);
            return ctx.goto(op.next.0);
        }
        ctx.warp.owes &= !lanes;
        // Of a phase all lanes are let go at once.
        if lanes & ctx.warp.met == 0 {
            ordered::has_met(ctx, op.span(), lanes);
            return ctx.goto(op.next.0);
        }
        ctx.warp.parked.push(Parked {
            barrier: CLUSTER,
            lanes,
            resume: op.next.0,
            reduce: Reduce::None,
            count: None,
            votes: 0,
            arrive_only: false,
            aligned: op.aligned,
            span: op.span(),
        });
        let rest = ctx.warp.active & !lanes;
        if rest != 0 {
            ctx.activate(rest);
            return ctx.goto(op.next.0);
        }
        ctx.pick()
    }
}

/// The op of either.
pub(super) fn emit(l: &mut Lowerer, term: &BarrierTerm, orders: bool) -> MicroOp {
    let guard = term.guard.map(|(pred, negated)| Pred {
        mask: l.slot_of(pred),
        flip: negated,
    });
    let args = Meeting {
        guard: guard.into(),
        orders,
        aligned: term.aligned,
        next: BlockId(term.next),
    };
    if term.arrive {
        l.flow::<Comes>(args)
    } else {
        l.flow::<Waits>(args)
    }
}
