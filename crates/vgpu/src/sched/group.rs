//! CTAs that run together: those of a cluster, or one alone.
//!
//! One worker runs all CTAs of a cluster, in turns: nothing of what they do to each other's shared memory needs a lock, and
//! their barrier is looked at between the turns.

use super::{Cta, Round};
use crate::{
    job::Job,
    memory::{RANK, SHARED_BASE, Window},
    op::{CLUSTER, Ctx},
    order::Order,
    view::Peer,
};
use smallvec::SmallVec;

/// CTAs of one cluster, by rank.
pub(crate) struct Group {
    pub(super) ctas: SmallVec<[Box<Cta>; 1]>,
    /// What they are to each other; nothing of a CTA that is alone.
    peers: Vec<Peer>,
    /// Whether their barrier is in use.
    meets: bool,
    /// Rounds of turns, where the order of CTAs is not the same each time.
    rounds: u32,
}

impl Group {
    /// Sets up cluster `number` of the launch with CTAs of `spare`.
    pub(super) fn start(ctx: &mut Ctx, job: &Job, number: u64, spare: &mut Vec<Box<Cta>>) -> Group {
        let mut group = Group {
            ctas: SmallVec::new(),
            peers: Vec::new(),
            meets: false,
            rounds: 0,
        };
        ctx.view.peers.clear();
        for index in ctas_of(job, number) {
            let mut cta = spare.pop().unwrap_or_else(|| Box::new(Cta::new()));
            cta.start(ctx, job, index);
            if job.cluster > 1 {
                let rank = group.peers.len() as u64 + 1;
                let base = match &ctx.checker {
                    Some(_) => ctx.view.own.shared,
                    None => SHARED_BASE + (rank << RANK),
                };
                group.peers.push(Peer {
                    index: index as u32,
                    shared: ctx.shared,
                    base,
                    lives: true,
                });
            }
            group.ctas.push(cta);
        }
        group
    }

    /// Whether another group should run in its place.
    pub(super) fn gives_way(&self) -> bool {
        let mut open = self.ctas.iter().filter(|cta| !cta.is_over);
        let long = open.clone().any(|cta| cta.stay >= super::SLICE);
        long || open.all(|cta| cta.watch.waits || cta.is_parked)
    }

    /// Whether one of them does nothing but wait.
    pub(super) fn waits(&self) -> bool {
        self.ctas.iter().any(|cta| cta.watch.waits)
    }

    /// It begins to stay anew.
    pub(super) fn rest(&mut self) {
        self.ctas.iter_mut().for_each(|cta| cta.stay = 0);
    }

    /// Points the context at a group of one CTA, before rounds of it.
    pub(super) fn resume(&mut self, ctx: &mut Ctx, job: &Job) {
        ctx.view.peers.clear();
        if let [cta] = &mut self.ctas[..] {
            cta.resume(ctx, job);
        }
    }

    /// Gives each warp that can go on one turn.
    pub(super) fn round(&mut self, ctx: &mut Ctx, job: &Job) -> Round {
        let mut ran = false;
        let mut turns = Vec::new();
        if let Some(seed) = job.limits.seed {
            self.rounds = self.rounds.wrapping_add(1);
            let first = self.ctas.first().map_or(0, |cta| cta.index);
            let by = first << 32 | u64::from(self.rounds);
            turns.extend(0..self.ctas.len());
            Order::new(seed, by).shuffle(&mut turns);
        }
        for turn in 0..self.ctas.len() {
            let i = turns.get(turn).copied().unwrap_or(turn);
            if self.ctas[i].is_over {
                continue;
            }
            if !self.peers.is_empty() {
                self.aim(ctx, job, i);
            }
            let cta = &mut self.ctas[i];
            let round = cta.round(ctx, job);
            self.meets |= std::mem::take(&mut ctx.met);
            ran |= round != Round::Stuck;
            cta.is_parked = round == Round::Stuck;
            if round == Round::Done {
                cta.is_over = true;
                cta.end(ctx, !job.aborted());
                job.end(cta.index, cta.watch.waited);
                if let Some(peer) = self.peers.get_mut(i) {
                    peer.lives = false;
                    peer.shared = Window::EMPTY;
                }
            }
            if job.aborted() {
                return Round::Progress;
            }
        }
        if self.ctas.iter().all(|cta| cta.is_over) {
            return Round::Done;
        }
        ran |= self.meets && self.meet(ctx, job);
        if ran {
            self.wait(ctx, job);
            return Round::Progress;
        }
        self.stuck(ctx, job);
        Round::Stuck
    }

    /// Where all that are not at barriers do nothing but wait, those at barriers wait for them: that they can go on no more
    /// is for the launch to say.
    fn wait(&mut self, ctx: &mut Ctx, job: &Job) {
        let open = || self.ctas.iter().filter(|cta| !cta.is_over);
        let some = open().any(|cta| cta.is_parked) && open().any(|cta| cta.watch.waits);
        if !some || !open().all(|cta| cta.is_parked || cta.watch.waits) {
            return;
        }
        for i in 0..self.ctas.len() {
            if self.ctas[i].is_over || !self.ctas[i].is_parked {
                continue;
            }
            self.aim(ctx, job, i);
            let cta = &mut self.ctas[i];
            cta.watch.waited = true;
            let stuck = job.wait(cta.index, job.changes(), || {
                cta.waiting(ctx, job.program(cta.compiled))
            });
            if let Some((waiting, not_begun)) = stuck {
                let fault = cta.stuck(ctx, job, waiting, not_begun);
                job.fail(fault);
                return;
            }
        }
    }

    fn aim(&mut self, ctx: &mut Ctx, job: &Job, i: usize) {
        ctx.view.peers.clone_from(&self.peers);
        self.ctas[i].resume(ctx, job);
    }

    /// Lets go who waits at the barrier of the cluster, if all lanes have come to it.
    fn meet(&mut self, ctx: &mut Ctx, job: &Job) -> bool {
        let mut warps = self.ctas.iter().flat_map(|cta| &cta.warps);
        let missing = warps.clone().any(|warp| warp.live & !warp.met != 0);
        if missing || warps.all(|warp| warp.met == 0) {
            return false;
        }
        if let Some(checker) = &mut ctx.checker {
            checker.all_met(&ctx.view);
        }
        for i in 0..self.ctas.len() {
            if self.ctas[i].is_over {
                continue;
            }
            if ctx.checker.is_some() && !self.peers.is_empty() {
                self.aim(ctx, job, i);
            }
            self.ctas[i].leave(ctx, job);
        }
        self.meets = false;
        job.change(1);
        true
    }

    /// Nobody of them can go on.
    fn stuck(&mut self, ctx: &mut Ctx, job: &Job) {
        let mut waiting = Vec::new();
        let mut first = None;
        for i in (0..self.ctas.len()).rev() {
            if self.ctas[i].is_over {
                continue;
            }
            if !self.peers.is_empty() {
                self.aim(ctx, job, i);
            }
            let cta = &self.ctas[i];
            waiting.splice(0..0, cta.waiting(ctx, job.program(cta.compiled)));
            first = Some(i);
        }
        if let Some(first) = first {
            let fault = self.ctas[first].stuck(ctx, job, waiting, 0);
            job.fail(fault);
        }
    }
}

impl Cta {
    /// Its lanes at the barrier of the cluster go on.
    fn leave(&mut self, ctx: &mut Ctx, job: &Job) {
        let program = job.program(self.compiled);
        for i in 0..self.warps.len() {
            let warp = &mut self.warps[i];
            warp.met = 0;
            if let Some(checker) = &mut ctx.checker {
                checker.lanes_met(i as u32, warp.live);
            }
            let mut at = 0;
            while at < warp.parked.len() {
                if warp.parked[at].barrier != CLUSTER {
                    at += 1;
                    continue;
                }
                let parked = warp.parked.remove(at);
                self.blocked[i] = false;
                let convergent = program.blocks[parked.resume as usize].convergent;
                warp.hold(parked.resume, parked.lanes, convergent);
                if let Some(checker) = &mut ctx.checker {
                    checker.leaves(&ctx.view, i as u32, parked.lanes);
                }
            }
        }
    }
}

/// The numbers of the CTAs of a cluster, by rank.
fn ctas_of(job: &Job, number: u64) -> impl Iterator<Item = u64> + use<> {
    let grid = job.view.grid.map(u64::from);
    let each = job.view.cluster.map(|n| u64::from(n.max(1)));
    let [nx, ny] = [grid[0] / each[0], grid[1] / each[1]];
    let alone = job.cluster == 1;
    (0..u64::from(job.cluster)).map(move |rank| {
        if alone {
            return number;
        }
        let place = [number % nx, number / nx % ny, number / nx / ny];
        let inside = [
            rank % each[0],
            rank / each[0] % each[1],
            rank / each[0] / each[1],
        ];
        let at: [u64; 3] = std::array::from_fn(|i| place[i] * each[i] + inside[i]);
        at[0] + grid[0] * (at[1] + grid[1] * at[2])
    })
}
