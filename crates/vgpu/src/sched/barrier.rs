//! The barriers of a CTA: who has come, and who is let go.

use super::{Cta, frame};
use crate::{
    check::{At, Kind, New},
    op::{Ctx, How, Parked, Program, Reduce, SpanId, Warp},
};

/// What has come to a barrier.
#[derive(Clone, Copy, Default)]
pub(super) struct Barrier {
    lanes: u32,
    /// Arrivals in the granularity of whole warps.
    slots: u32,
    count: Option<u32>,
    votes: u32,
    missing: u32,
}

/// Warps of which all lanes came to a barrier at once in a round of turns.
#[derive(Default)]
pub(super) struct Meeting {
    /// Warps that have not exited, and those of them that came.
    live: u32,
    came: u32,
    /// Where the first came to, and whether one came to another.
    barrier: u32,
    apart: bool,
}

impl Meeting {
    /// Counts a warp after its turn, or one that had none.
    #[inline(always)]
    pub(super) fn look(&mut self, warp: &Warp) {
        if warp.live == 0 {
            return;
        }
        self.live += 1;
        if let Some(came) = &warp.came {
            if self.came == 0 {
                self.barrier = came.barrier;
            }
            self.came += 1;
            self.apart |= self.barrier != came.barrier;
        }
    }
}

impl Cta {
    /// Counts what warp `i` brought to barriers.
    pub(super) fn arrive(&mut self, ctx: &mut Ctx, program: &Program, i: usize) {
        let mut arrivals = std::mem::take(&mut self.warps[i].arrivals);
        for parked in &arrivals {
            let barrier = &mut self.barriers[parked.barrier as usize];
            let lanes = parked.lanes.count_ones();
            self.used |= 1 << parked.barrier;
            barrier.lanes += lanes;
            barrier.slots += if parked.lanes == self.warps[i].live {
                32
            } else {
                lanes
            };
            barrier.count = parked.count;
            barrier.votes += parked.votes.count_ones();
            barrier.missing += lanes - parked.votes.count_ones();
            if !parked.arrive_only
                && let Some(checker) = &mut ctx.checker
            {
                let (lanes, id) = (parked.lanes, parked.barrier as usize);
                checker.arrive(i as u32, lanes, id);
            }
            self.complete(ctx, program, parked.barrier as usize);
        }
        arrivals.clear();
        self.warps[i].arrivals = arrivals;
    }

    /// After a round of turns, warps of which all lanes came to a barrier at once: they go on if so did all others, and
    /// are counted else.
    pub(super) fn meet(&mut self, ctx: &mut Ctx, program: &Program, meeting: &Meeting) {
        if meeting.came == 0 {
            return;
        }
        let together = meeting.came == meeting.live && !meeting.apart;
        if together && self.used >> meeting.barrier & 1 == 0 {
            self.blocked.fill(false);
            return;
        }
        for i in 0..self.warps.len() {
            let warp = &mut self.warps[i];
            if let Some(came) = warp.came.take() {
                warp.arrivals.push(came);
                warp.parked.push(came);
                self.arrive(ctx, program, i);
            }
        }
    }

    /// Releases a barrier if all it waits for are there.
    pub(super) fn complete(&mut self, ctx: &mut Ctx, program: &Program, id: usize) {
        let barrier = self.barriers[id];
        let done = match barrier.count {
            Some(count) => barrier.slots >= count,
            None => barrier.lanes >= self.live,
        };
        if self.used >> id & 1 == 0 || !done {
            return;
        }
        self.barriers[id] = Barrier::default();
        self.used &= !(1 << id);
        if ctx.checker.is_some() {
            self.look_at(ctx, program, id);
        }
        for i in 0..self.warps.len() {
            let mut at = 0;
            while at < self.warps[i].parked.len() {
                if self.warps[i].parked[at].barrier as usize != id {
                    at += 1;
                    continue;
                }
                let parked = self.warps[i].parked.remove(at);
                self.blocked[i] = false;
                let convergent = program.blocks[parked.resume as usize].convergent;
                self.warps[i].hold(parked.resume, parked.lanes, convergent);
                if parked.reduce != Reduce::None {
                    frame(ctx, &self.frames, program, i);
                    deposit(ctx, &parked, &barrier);
                }
            }
        }
    }

    /// What the checker says of a barrier that is complete, and what those who waited know from now on.
    fn look_at(&self, ctx: &mut Ctx, program: &Program, id: usize) {
        self.divergence(ctx, program, Some(id));
        let Some(checker) = &mut ctx.checker else {
            return;
        };
        for (i, warp) in self.warps.iter().enumerate() {
            // Lanes that came apart are ordered by it as well.
            let here = warp.parked.iter().filter(|p| p.barrier as usize == id);
            let lanes = here.fold(0, |lanes, parked| lanes | parked.lanes);
            if lanes != 0 {
                checker.release(i as u32, lanes, id);
            }
        }
        let parked = self.warps.iter().flat_map(|warp| &warp.parked);
        let here = parked.filter(|parked| parked.barrier as usize == id);
        let lanes: u32 = here.map(|parked| parked.lanes.count_ones()).sum();
        checker.reset(id, lanes == ctx.view.block.iter().product());
    }

    /// Warps of which only some lanes have come to an aligned barrier, or by several ways.
    pub(super) fn divergence(&self, ctx: &mut Ctx, program: &Program, id: Option<usize>) -> bool {
        let view = &ctx.view;
        let mut found = false;
        let Some(checker) = &mut ctx.checker else {
            return found;
        };
        for (i, warp) in self.warps.iter().enumerate() {
            // Who waits for lanes of its warp keeps them from the barrier, or is kept.
            let gated = || warp.stays().iter().any(|stay| stay.how == How::Gated);
            if id.is_none() && gated() {
                continue;
            }
            let here = || {
                warp.parked.iter().filter(|parked| {
                    parked.aligned && id.is_none_or(|id| parked.barrier as usize == id)
                })
            };
            let Some(first) = here().next() else {
                continue;
            };
            let same = here().filter(|parked| parked.span == first.span);
            let lanes = same.fold(0, |lanes, parked| lanes | parked.lanes);
            if lanes == warp.live {
                continue;
            }
            let at = |span: SpanId| At {
                subject: &program.subject,
                view,
                warp: i as u32,
                mask: lanes,
                span,
            };
            found = true;
            let others = warp.parked.iter().find(|parked| parked.span != first.span);
            let lane = (warp.live & !lanes).trailing_zeros() & 31;
            checker.add(New {
                kind: Kind::BarrierDivergence,
                place: at(first.span).place(lanes.trailing_zeros() & 31, None),
                other: others
                    .map(|other| at(other.span).place(other.lanes.trailing_zeros() & 31, None)),
                address: None,
                allocation: None,
                message: format!(
                    "{} of {} lanes of warp {i} come to this barrier; lane {lane} does not",
                    lanes.count_ones(),
                    warp.live.count_ones()
                ),
            });
        }
        found
    }
}

fn deposit(ctx: &mut Ctx, parked: &Parked, barrier: &Barrier) {
    ctx.mask = parked.lanes;
    ctx.full = false;
    match parked.reduce {
        Reduce::None => {}
        Reduce::Popc(slot) => ctx.put_cells(slot, [barrier.votes; 32]),
        Reduce::And(slot) => ctx.put_mask(slot, if barrier.missing == 0 { !0 } else { 0 }),
        Reduce::Or(slot) => ctx.put_mask(slot, if barrier.votes != 0 { !0 } else { 0 }),
    }
}
