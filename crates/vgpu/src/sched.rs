//! Runs the warps of a CTA in turns, with its barriers, and the CTAs of a launch on a worker.
#![allow(unsafe_code)]

mod preset;

use preset::set;

use crate::{
    check::{At, Checker, Kind, New},
    error::{Fault, FaultKind},
    exec::{Ctx, FUEL, Parked, Reduce, Stop, Warp},
    job::Job,
    lower::Program,
    memory::{Buffer, Own, PARAM_BASE, Window},
    order::Order,
};
use std::sync::{Arc, PoisonError, atomic::Ordering};

/// A CTA: frames, memory, warps, barriers. Kept and used again for other CTAs.
pub(crate) struct Cta {
    frames: Buffer,
    shared: Buffer,
    local: Buffer,
    warps: Vec<Warp>,
    blocked: Vec<bool>,
    barriers: [Barrier; 16],
    cta: [u32; 3],
    /// The run its frames are set up for.
    serial: u64,
    /// Threads that have not exited.
    live: u32,
    /// Rounds of turns, where their order is not the same each time.
    rounds: u32,
}

#[derive(Clone, Copy, Default)]
struct Barrier {
    lanes: u32,
    /// Arrivals in the granularity of whole warps.
    slots: u32,
    count: Option<u32>,
    votes: u32,
    missing: u32,
    used: bool,
}

/// What a round of turns came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Done,
    Progress,
    Stuck,
}

/// Rounds that only wait before a worker offers its core to others, some 50 microseconds: who takes it may keep it for
/// milliseconds, and whom a CTA waits for is mostly done before.
const PATIENCE: u32 = 400;

/// A worker: its context and the CTA it reuses.
pub(crate) struct Worker {
    ctx: Ctx,
    cta: Box<Cta>,
    spare: Vec<Box<Cta>>,
    /// The launch's parameters, where kernels take their addresses.
    params: Buffer,
}

impl Worker {
    pub(crate) fn new() -> Worker {
        Worker {
            ctx: Ctx::new(Arc::new(Program::empty()), Window::EMPTY),
            cta: Box::new(Cta::new()),
            spare: Vec::new(),
            params: Buffer::new(),
        }
    }

    /// Gives it the checker for a launch.
    pub(crate) fn set_checker(&mut self, checker: Option<Box<Checker>>) {
        self.ctx.checker = checker;
    }

    /// Takes the checker back.
    pub(crate) fn take_checker(&mut self) -> Option<Box<Checker>> {
        self.ctx.checker.take()
    }

    /// Works on a launch until no CTA is left to take.
    pub(crate) fn work(&mut self, job: &Job) {
        self.enter(job);
        if job.cooperative {
            self.share(job);
        } else {
            while let Some(index) = job.take() {
                self.cta.start(&mut self.ctx, job, index);
                loop {
                    if self.cta.round(&mut self.ctx, job) == Round::Done || job.aborted() {
                        break;
                    }
                }
                self.cta.end(&mut self.ctx);
                job.end();
            }
        }
    }

    fn enter(&mut self, job: &Job) {
        let ctx = &mut self.ctx;
        ctx.program = Arc::clone(&job.program);
        ctx.global = job.global;
        ctx.fault = None;
        ctx.printed.clone_from(&job.printed);
        let params = &job.view.params;
        self.params.reserve(params.len());
        ctx.params = self.params.window(PARAM_BASE, params.len() as u64);
        let fits = ctx.params.write(PARAM_BASE, params);
        debug_assert!(fits, "the buffer has room for the parameters");
        let view = &mut ctx.view;
        view.params.clear();
        view.params.extend_from_slice(&job.view.params);
        view.grid = job.view.grid;
        view.block = job.view.block;
        view.grid_id = job.serial.load(Ordering::Relaxed);
        view.dynamic_shared = job.view.dynamic_shared;
        view.shared = job.shared_bytes;
        view.sms = job.view.sms;
        view.workspace = job.view.workspace;
    }

    /// Cooperative launches: all CTAs exist. A worker stays with one, whose registers are in its cache, until others wait
    /// for a turn; then the one that has waited longest gets it.
    fn share(&mut self, job: &Job) {
        while let Some(index) = job.take() {
            let mut cta = self.spare.pop().unwrap_or_else(|| Box::new(Cta::new()));
            cta.start(&mut self.ctx, job, index);
            queue(job).push_back(cta);
        }
        let (mut own, mut idle) = (None, 0);
        while !job.is_done() && !job.aborted() {
            {
                let mut waiting = queue(job);
                if let Some(next) = waiting.pop_front() {
                    waiting.extend(own.replace(next));
                }
            }
            let Some(mut cta) = own.take() else {
                std::thread::yield_now();
                continue;
            };
            cta.resume(&mut self.ctx, job);
            match cta.round(&mut self.ctx, job) {
                Round::Done => {
                    cta.end(&mut self.ctx);
                    self.spare.push(cta);
                    job.end();
                }
                Round::Progress | Round::Stuck => own = Some(cta),
            }
            // Whom a CTA waits for may need this core.
            idle = if std::mem::take(&mut self.ctx.slept) {
                idle + 1
            } else {
                0
            };
            if idle > PATIENCE {
                std::thread::yield_now();
            }
        }
        self.spare.extend(own);
        if job.aborted() {
            self.spare.extend(queue(job).drain(..));
        }
    }
}

fn queue(job: &Job) -> std::sync::MutexGuard<'_, std::collections::VecDeque<Box<Cta>>> {
    job.queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cta {
    fn new() -> Cta {
        Cta {
            frames: Buffer::new(),
            shared: Buffer::new(),
            local: Buffer::new(),
            warps: Vec::new(),
            blocked: Vec::new(),
            barriers: [Barrier::default(); 16],
            cta: [0; 3],
            serial: 0,
            live: 0,
            rounds: 0,
        }
    }

    /// Sets everything up for CTA `index` of the launch.
    fn start(&mut self, ctx: &mut Ctx, job: &Job, index: u64) {
        let program = &job.program;
        let [x, y, _] = job.view.grid.map(u64::from);
        self.cta = [
            (index % x) as u32,
            (index / x % y) as u32,
            (index / x / y) as u32,
        ];
        let threads: u32 = job.view.block.iter().product();
        let warps = threads.div_ceil(32);
        self.frames
            .reserve(program.frame_bytes as usize * warps as usize);
        self.shared.reserve(job.shared_bytes as usize);
        self.local
            .reserve(program.local_bytes as usize * warps as usize * 32);
        let serial = job.serial.load(Ordering::Relaxed);
        let fresh = std::mem::replace(&mut self.serial, serial) != serial;
        self.warps.resize_with(warps as usize, Warp::default);
        self.blocked.clear();
        self.blocked.resize(warps as usize, false);
        self.barriers = [Barrier::default(); 16];
        self.rounds = (index as u32).wrapping_mul(0x9E37);
        self.live = threads;
        self.resume(ctx, job);
        if let Some(checker) = &mut ctx.checker {
            checker.start_cta(program, &ctx.view);
        }
        for (i, warp) in self.warps.iter_mut().enumerate() {
            let first = i as u32 * 32;
            let count = (threads - first).min(32);
            warp.start(first / 32, (!0u32) >> (32 - count), program.blocks.len());
            frame(ctx, &self.frames, program, i);
            if fresh {
                for (slot, value) in &program.consts {
                    ctx.set_scalar(*slot, *value);
                }
                for preset in &program.per_launch {
                    set(ctx, preset, first);
                }
            }
            for preset in &program.per_cta {
                set(ctx, preset, first);
            }
        }
    }

    /// Tells the checker that the CTA is over.
    fn end(&self, ctx: &mut Ctx) {
        if let Some(checker) = &mut ctx.checker {
            checker.end_cta();
        }
    }

    /// Points the context at this CTA.
    fn resume(&mut self, ctx: &mut Ctx, job: &Job) {
        ctx.view.cta = self.cta;
        ctx.shared = self.shared.window(0, u64::from(job.shared_bytes));
        let local = u64::from(job.program.local_bytes) * 32 * self.warps.len() as u64;
        ctx.local = self.local.window(0, local);
        if let Some(checker) = &mut ctx.checker {
            checker.resume_cta(&ctx.view);
            ctx.view.own = checker.own(&ctx.view);
        } else {
            ctx.view.own = Own::default();
        }
    }

    /// Gives each warp that can go on one turn.
    fn round(&mut self, ctx: &mut Ctx, job: &Job) -> Round {
        let mut ran = false;
        let mut fuel = FUEL;
        let mut turns = Vec::new();
        if let Some(seed) = job.seed {
            self.rounds = self.rounds.wrapping_add(1);
            let mut order = Order::new(seed, u64::from(self.rounds));
            turns.extend(0..self.warps.len());
            order.shuffle(&mut turns);
            fuel = 1 + order.below(64) as i32;
        }
        for turn in 0..self.warps.len() {
            let i = turns.get(turn).copied().unwrap_or(turn);
            if self.blocked[i] || self.warps[i].live == 0 {
                continue;
            }
            ran = true;
            frame(ctx, &self.frames, &job.program, i);
            std::mem::swap(&mut ctx.warp, &mut self.warps[i]);
            let before = ctx.warp.live.count_ones();
            ctx.run_turn(fuel);
            let exited = before - ctx.warp.live.count_ones();
            std::mem::swap(&mut ctx.warp, &mut self.warps[i]);
            self.live -= exited;
            if let Some(fault) = ctx.fault.take() {
                job.fail(*fault);
                return Round::Done;
            }
            let spent = std::mem::take(&mut ctx.spent);
            if let Some(instructions) = job.spend(spent) {
                job.fail(Fault {
                    kind: FaultKind::Budget { instructions },
                    kernel: job.program.name.clone(),
                    span: job.program.span(ctx.spent_at),
                    cta: self.cta,
                    thread: ctx.thread(i as u32 * 32),
                    address: None,
                });
                return Round::Done;
            }
            self.blocked[i] = ctx.stop == Stop::Blocked;
            if !self.warps[i].arrivals.is_empty() {
                self.arrive(ctx, &job.program, i);
            }
            if exited != 0 {
                for id in 0..16 {
                    self.complete(ctx, &job.program, id);
                }
            }
        }
        if self.live == 0 {
            Round::Done
        } else if ran {
            Round::Progress
        } else {
            self.stuck(ctx, &job.program);
            job.fail(self.deadlock(ctx, &job.program));
            Round::Stuck
        }
    }

    /// Counts what warp `i` brought to barriers.
    fn arrive(&mut self, ctx: &mut Ctx, program: &Program, i: usize) {
        let mut arrivals = std::mem::take(&mut self.warps[i].arrivals);
        for parked in &arrivals {
            let barrier = &mut self.barriers[parked.barrier as usize];
            let lanes = parked.lanes.count_ones();
            barrier.used = true;
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

    /// Releases a barrier if all it waits for are there.
    fn complete(&mut self, ctx: &mut Ctx, program: &Program, id: usize) {
        let barrier = self.barriers[id];
        let done = match barrier.count {
            Some(count) => barrier.slots >= count,
            None => barrier.lanes >= self.live,
        };
        if !barrier.used || !done {
            return;
        }
        self.barriers[id] = Barrier::default();
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
            for parked in warp.parked.iter().filter(|p| p.barrier as usize == id) {
                checker.release(i as u32, parked.lanes, id);
            }
        }
        let parked = self.warps.iter().flat_map(|warp| &warp.parked);
        let here = parked.filter(|parked| parked.barrier as usize == id);
        let lanes: u32 = here.map(|parked| parked.lanes.count_ones()).sum();
        checker.reset(id, lanes == ctx.view.block.iter().product());
    }

    /// Warps of which only some lanes have come to an aligned barrier, or by several ways.
    fn divergence(&self, ctx: &mut Ctx, program: &Program, id: Option<usize>) -> bool {
        let view = &ctx.view;
        let mut found = false;
        let Some(checker) = &mut ctx.checker else {
            return found;
        };
        for (i, warp) in self.warps.iter().enumerate() {
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
            let at = |span: u32| At {
                program,
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

    /// What the checker says where nobody can go on.
    fn stuck(&self, ctx: &mut Ctx, program: &Program) {
        if self.divergence(ctx, program, None) {
            return;
        }
        let view = &ctx.view;
        let Some(checker) = &mut ctx.checker else {
            return;
        };
        let waiting = || {
            let warps = self.warps.iter().enumerate();
            warps.flat_map(|(i, warp)| warp.parked.iter().map(move |parked| (i, parked)))
        };
        let places: Vec<String> = waiting()
            .map(|(i, parked)| {
                let (lanes, at) = (parked.lanes.count_ones(), program.span(parked.span));
                format!(
                    "warp {i} with {lanes} lanes at barrier {} in {at}",
                    parked.barrier
                )
            })
            .collect();
        let Some((i, parked)) = waiting().next() else {
            return;
        };
        // One barrier that never fills; where several are waited for, each waits for who waits elsewhere.
        let never =
            waiting().all(|(_, other)| other.count.is_some() && other.barrier == parked.barrier);
        let at = At {
            program,
            view,
            warp: i as u32,
            mask: parked.lanes,
            span: parked.span,
        };
        let second = waiting().find(|(_, other)| other.span != parked.span);
        checker.add(New {
            kind: if never {
                Kind::BarrierCount
            } else {
                Kind::Deadlock
            },
            place: at.place(parked.lanes.trailing_zeros() & 31, None),
            other: second.map(|(i, other)| {
                let at = At {
                    warp: i as u32,
                    span: other.span,
                    ..at
                };
                at.place(other.lanes.trailing_zeros() & 31, None)
            }),
            address: None,
            allocation: None,
            message: format!("nobody can go on: {}", places.join("; ")),
        });
    }

    fn deadlock(&self, ctx: &Ctx, program: &Program) -> Fault {
        let waiting = self
            .warps
            .iter()
            .flat_map(|warp| {
                warp.parked.iter().map(|parked| {
                    (
                        warp.index,
                        parked.lanes.count_ones(),
                        program.span(parked.span),
                    )
                })
            })
            .collect();
        let first = self.warps.iter().find(|warp| warp.live != 0);
        let place = first.and_then(|warp| warp.parked.first());
        let index = first.map_or(0, |warp| warp.index * 32 + warp.live.trailing_zeros());
        Fault {
            kind: FaultKind::Deadlock { waiting },
            kernel: program.name.clone(),
            span: place
                .map(|parked| program.span(parked.span))
                .unwrap_or_default(),
            cta: self.cta,
            thread: ctx.thread(index),
            address: None,
        }
    }
}

fn frame(ctx: &mut Ctx, frames: &Buffer, program: &Program, warp: usize) {
    let at = frames
        .as_ptr()
        .wrapping_add(warp * program.frame_bytes as usize);
    // SAFETY: `start` reserved one frame for each warp; frame sizes are multiples of 64, as is the buffer's
    // alignment; the CTA keeps the buffer while it runs, and the context runs only this program's ops.
    unsafe { ctx.set_frame(at, program.frame_bytes) };
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
