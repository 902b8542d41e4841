//! What is said where nobody can go on: who waits where, and for what.

use super::{Cta, frame};
use crate::{
    check::{Kind, New, Place},
    error::{Awaited, Fault, FaultKind, Waiting, names},
    exec::{awaited, gate},
    job::Job,
    op::{CLUSTER, Ctx, How, MicroOp, Program, SpanId},
};

/// Who is named first: those that wait for what somebody would have to do.
fn rank(waiting: &Waiting) -> u32 {
    match waiting.awaits {
        Awaited::Word { .. } | Awaited::Phase { .. } => 0,
        Awaited::Nothing => 1,
        Awaited::Lanes(_) => 2,
        Awaited::Barrier(_) | Awaited::Cluster => 3,
        Awaited::Others(_) => 4,
    }
}

impl Cta {
    /// Who of it waits where.
    pub(super) fn waiting(&self, ctx: &mut Ctx, program: &Program) -> Vec<Waiting> {
        let mut all = Vec::new();
        for (i, warp) in self.warps.iter().enumerate() {
            frame(ctx, &self.frames, program, i);
            let mut held = Vec::new();
            for stay in warp.stays() {
                let first = program.blocks[stay.block as usize].first;
                let start = program
                    .ops
                    .get(first as usize)
                    .map_or(SpanId(0), MicroOp::span);
                let lane = stay.lanes.trailing_zeros() & 31;
                let (span, awaits) = match stay.how {
                    How::Runs => {
                        let trace = warp.trace.as_ref();
                        match trace.and_then(|trace| trace.polled[lane as usize]) {
                            Some(word) => (program.span(word.span), awaited(&word, ctx)),
                            None => (program.span(start), Awaited::Nothing),
                        }
                    }
                    How::Held => {
                        let wait = program.code.must_wait(stay.block);
                        let others = warp.live & !stay.lanes;
                        (
                            wait.unwrap_or_else(|| program.span(start)),
                            Awaited::Others(others),
                        )
                    }
                    How::Gated => match gate(program, stay.block) {
                        Some(gate) => {
                            let missing = gate.members(ctx, lane) & warp.live & !stay.lanes;
                            (program.span(gate.span()), Awaited::Lanes(missing))
                        }
                        None => (program.span(start), Awaited::Nothing),
                    },
                    How::Barrier(CLUSTER) => {
                        let own = warp.parked.iter().find(|parked| {
                            parked.resume == stay.block && parked.lanes == stay.lanes
                        });
                        let span = own.map_or(start, |parked| parked.span);
                        (program.span(span), Awaited::Cluster)
                    }
                    How::Barrier(number) => {
                        let own = warp.parked.iter().find(|parked| {
                            parked.resume == stay.block && parked.lanes == stay.lanes
                        });
                        let span = own.map_or(start, |parked| parked.span);
                        (program.span(span), Awaited::Barrier(number))
                    }
                };
                let waiting = Waiting {
                    cta: self.cta,
                    warp: i as u32,
                    lanes: stay.lanes,
                    span,
                    awaits,
                };
                if stay.how == How::Held {
                    held.push(waiting);
                } else {
                    all.push(waiting);
                }
            }
            all.extend(held);
        }
        all.sort_by_key(rank);
        all
    }

    /// The fault of a launch in which nobody can go on, told to the checker.
    pub(super) fn stuck(
        &self,
        ctx: &mut Ctx,
        job: &Job,
        mut waiting: Vec<Waiting>,
        not_begun: u64,
    ) -> Fault {
        let program = job.program(self.compiled);
        waiting.sort_by_key(rank);
        let place = |ctx: &Ctx, waiting: &Waiting| Place {
            kernel: program.subject.name.clone(),
            span: waiting.span,
            cta: waiting.cta,
            thread: ctx.thread(waiting.warp * 32 + (waiting.lanes.trailing_zeros() & 31)),
            access: None,
        };
        let here = waiting.first().map(|first| place(ctx, first));
        // Spans are all equal, for modules to be.
        let at = here.as_ref().map(|here| here.span.to_string());
        let other = waiting
            .iter()
            .find(|other| Some(other.span.to_string()) != at);
        let other = other.map(|other| place(ctx, other));
        let word = waiting.first().and_then(|first| match first.awaits {
            Awaited::Word {
                address, shared, ..
            } => Some((address, shared)),
            Awaited::Phase { address, .. } => Some((address, true)),
            Awaited::Barrier(_)
            | Awaited::Cluster
            | Awaited::Lanes(_)
            | Awaited::Others(_)
            | Awaited::Nothing => None,
        });
        // One barrier that never fills; where several are waited for, each waits for who waits elsewhere.
        let parked = || self.warps.iter().flat_map(|warp| &warp.parked);
        let barrier = parked().next().map(|parked| parked.barrier);
        let alone = waiting.iter().all(|one| {
            matches!(one.awaits, Awaited::Barrier(own) if Some(own) == barrier && one.cta == self.cta)
        });
        let never = alone && parked().all(|parked| parked.count.is_some());
        let told = self.divergence(ctx, program, None);
        if !told
            && let Some(here) = here.clone()
            && let Some(checker) = &mut ctx.checker
        {
            let allocation = word.and_then(|(address, shared)| {
                if shared {
                    program.subject.shared.nearest(address)
                } else {
                    checker.global.nearest(address)
                }
            });
            checker.add(New {
                kind: if never {
                    Kind::BarrierCount
                } else {
                    Kind::Deadlock
                },
                place: here,
                other,
                address: word.map(|(address, _)| address),
                allocation,
                message: format!("nobody can go on: {}", names(&waiting, not_begun)),
            });
        }
        let here = here.as_ref();
        Fault {
            kernel: program.subject.name.clone(),
            span: here.map(|here| here.span).unwrap_or_default(),
            cta: here.map_or(self.cta, |here| here.cta),
            thread: here.map_or([0; 3], |here| here.thread),
            address: word.map(|(address, _)| address),
            kind: FaultKind::Deadlock { waiting, not_begun },
        }
    }
}
