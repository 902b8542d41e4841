//! Runs the warps of a CTA in turns, with its barriers, and the CTAs of a launch on a worker.
#![allow(unsafe_code)]

mod barrier;
mod group;
mod live;
mod preset;
mod spin;
mod stuck;

use barrier::{Barrier, Meeting};
pub(crate) use group::Group;
use preset::set;
use spin::Watch;

use crate::{
    check::Checker,
    error::{Fault, FaultKind},
    exec::{TENSOR_MEMORY, take_back},
    job::Job,
    memory::{Buffer, Own, PARAM_BASE, Window},
    op::{Ctx, LaneOrder, Program, Stop, Warp},
    order::Order,
};
use std::sync::{Arc, PoisonError, atomic::Ordering};

/// A CTA: frames, memory, warps, barriers. Kept and used again for other CTAs.
pub(crate) struct Cta {
    frames: Buffer,
    shared: Buffer,
    tensor: Buffer,
    local: Buffer,
    #[expect(
        clippy::vec_box,
        reason = "a warp changes places with that of the context at each turn"
    )]
    warps: Vec<Box<Warp>>,
    blocked: Vec<bool>,
    barriers: [Barrier; 16],
    /// Those that somebody has come to, one bit each.
    used: u16,
    /// Its number in the launch, and its place.
    index: u64,
    cta: [u32; 3],
    /// The run its frames are set up for, and whether they are those of compiled code.
    serial: u64,
    compiled: bool,
    /// Threads that have not exited.
    live: u32,
    /// Rounds of turns, where their order is not the same each time.
    rounds: u32,
    /// Jumps since it gave way.
    stay: u64,
    /// Whether it does nothing but wait, and how that is found.
    watch: Watch,
    /// Whether it has ended, and whether all its warps wait at barriers.
    is_over: bool,
    is_parked: bool,
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

/// Jumps after which a CTA gives way to others, some 10 milliseconds: one of them may be who it waits for, in a way that
/// does not show.
const SLICE: u64 = 1 << 17;

/// A worker: its context and the CTAs it reuses.
pub(crate) struct Worker {
    ctx: Ctx,
    spare: Vec<Box<Cta>>,
    /// The launch's parameters, where kernels take their addresses.
    params: Buffer,
}

impl Worker {
    pub(crate) fn new() -> Worker {
        Worker {
            ctx: Ctx::new(Arc::new(Program::empty()), Window::EMPTY),
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

    /// Works on a launch until there is nothing left to do. A worker stays with a CTA, whose registers are in its cache,
    /// until that ends, can only wait or has run for long; of a cooperative launch, whose CTAs all exist, until others
    /// wait for a turn. Then the one that has waited longest gets it.
    pub(crate) fn work(&mut self, job: &Job) {
        self.enter(job);
        let cooperative = job.limits.cooperative;
        while cooperative && let Some(group) = self.begin(job) {
            queue(job).push_back(group);
        }
        let (mut own, mut idle) = (None, 0);
        while !job.aborted() {
            let Some(mut group) = own.take().or_else(|| self.next(job)) else {
                if !cooperative || job.is_done() {
                    break;
                }
                std::thread::yield_now();
                continue;
            };
            group.resume(&mut self.ctx, job);
            let mut round = group.round(&mut self.ctx, job);
            while round == Round::Progress && !(cooperative || group.gives_way() || job.aborted()) {
                round = group.round(&mut self.ctx, job);
            }
            // Whom a CTA waits for may need this core.
            let waits = std::mem::take(&mut self.ctx.slept) || group.waits();
            idle = if waits { idle + 1 } else { 0 };
            match round {
                Round::Done => self.spare.extend(group.ctas),
                Round::Progress | Round::Stuck => own = Some(self.swap(job, group)),
            }
            if idle > PATIENCE {
                std::thread::yield_now();
            }
        }
        self.spare.extend(own.into_iter().flat_map(|own| own.ctas));
        if job.aborted() {
            let all = queue(job)
                .drain(..)
                .flat_map(|group| group.ctas)
                .collect::<Vec<_>>();
            self.spare.extend(all);
        }
    }

    /// CTAs that nobody has begun, at their start.
    fn begin(&mut self, job: &Job) -> Option<Group> {
        let number = job.take()?;
        Some(Group::start(&mut self.ctx, job, number, &mut self.spare))
    }

    /// CTAs to work on.
    fn next(&mut self, job: &Job) -> Option<Group> {
        self.begin(job).or_else(|| queue(job).pop_front())
    }

    /// The CTAs to go on with after a round of these.
    fn swap(&mut self, job: &Job, mut group: Group) -> Group {
        if !(job.limits.cooperative || group.gives_way()) {
            return group;
        }
        group.rest();
        if !job.limits.cooperative {
            job.tighten();
        }
        let Some(next) = self.next(job) else {
            return group;
        };
        queue(job).push_back(group);
        next
    }

    fn enter(&mut self, job: &Job) {
        let ctx = &mut self.ctx;
        ctx.program = Arc::clone(job.program(job.is_compiled()));
        ctx.global = job.global;
        ctx.fault = None;
        ctx.printed.clone_from(&job.printed);
        ctx.objects.clone_from(&job.objects);
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
        view.cluster = job.view.cluster;
        view.clustered = job.view.clustered;
        view.peers.clear();
        view.grid_id = job.serial.load(Ordering::Relaxed);
        view.dynamic_shared = job.view.dynamic_shared;
        view.shared = job.shared_bytes;
        view.sms = job.view.sms;
        view.workspace = job.view.workspace;
    }
}

fn queue(job: &Job) -> std::sync::MutexGuard<'_, std::collections::VecDeque<Group>> {
    job.queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cta {
    fn new() -> Cta {
        Cta {
            frames: Buffer::new(),
            shared: Buffer::new(),
            tensor: Buffer::new(),
            local: Buffer::new(),
            warps: Vec::new(),
            blocked: Vec::new(),
            barriers: [Barrier::default(); 16],
            used: 0,
            index: 0,
            cta: [0; 3],
            serial: 0,
            compiled: false,
            live: 0,
            rounds: 0,
            stay: 0,
            watch: Watch::default(),
            is_over: false,
            is_parked: false,
        }
    }

    /// Sets everything up for CTA `index` of the launch.
    fn start(&mut self, ctx: &mut Ctx, job: &Job, index: u64) {
        let compiled = job.is_compiled();
        let another = std::mem::replace(&mut self.compiled, compiled) != compiled;
        let program = job.program(compiled);
        let [x, y, _] = job.view.grid.map(u64::from);
        self.index = index;
        self.is_over = false;
        self.is_parked = false;
        self.stay = 0;
        self.watch = Watch::default();
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
        if program.has_tensor {
            self.tensor.reserve(TENSOR_MEMORY);
            take_back(&self.tensor.window(0, TENSOR_MEMORY as u64));
        }
        self.local
            .reserve(program.local_bytes as usize * warps as usize * 32);
        let serial = job.serial.load(Ordering::Relaxed);
        let fresh = std::mem::replace(&mut self.serial, serial) != serial || another;
        self.warps.resize_with(warps as usize, Box::default);
        self.blocked.clear();
        self.blocked.resize(warps as usize, false);
        if std::mem::take(&mut self.used) != 0 {
            self.barriers = [Barrier::default(); 16];
        }
        self.rounds = (index as u32).wrapping_mul(0x9E37);
        self.live = threads;
        self.resume(ctx, job);
        if let Some(checker) = &mut ctx.checker {
            checker.start_cta(&program.subject, &ctx.view);
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

    /// Tells the checker that the CTA is over, and whether it came to its end.
    fn end(&self, ctx: &mut Ctx, came: bool) {
        if let Some(checker) = &mut ctx.checker {
            checker.end_cta(came);
        }
    }

    /// Points the context at this CTA.
    fn resume(&mut self, ctx: &mut Ctx, job: &Job) {
        self.aim(ctx, job);
        ctx.view.cta = self.cta;
        ctx.shared = self.shared.window(0, u64::from(job.shared_bytes));
        ctx.tensor = match job.program(self.compiled).has_tensor {
            true => self.tensor.window(0, TENSOR_MEMORY as u64),
            false => Window::EMPTY,
        };
        let local =
            u64::from(job.program(self.compiled).local_bytes) * 32 * self.warps.len() as u64;
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
        if job.is_stopped() {
            job.fail(self.fault(ctx, job, FaultKind::Stopped));
            return Round::Done;
        }
        let program = job.program(self.compiled);
        let (mut ran, mut jumps) = (false, 0);
        let mut meeting = Meeting::default();
        let mut fuel = self.fuel();
        let mut turns = Vec::new();
        ctx.lanes = None;
        if let Some(seed) = job.limits.seed {
            self.rounds = self.rounds.wrapping_add(1);
            let mut order = Order::new(seed, u64::from(self.rounds));
            turns.extend(0..self.warps.len());
            order.shuffle(&mut turns);
            fuel = 1 + order.below(64) as i32;
        }
        for turn in 0..self.warps.len() {
            let i = turns.get(turn).copied().unwrap_or(turn);
            if self.blocked[i] || self.warps[i].live == 0 {
                meeting.look(&self.warps[i]);
                continue;
            }
            ran = true;
            frame(ctx, &self.frames, program, i);
            std::mem::swap(&mut ctx.warp, &mut self.warps[i]);
            let before = ctx.warp.live;
            if let Some(seed) = job.limits.seed {
                let round = u64::from(self.rounds);
                ctx.lanes = Some(LaneOrder::new(seed, self.index, i as u64, round));
            }
            ctx.run_turn(fuel);
            jumps = jumps.max(fuel - ctx.fuel);
            let exited = before & !ctx.warp.live;
            std::mem::swap(&mut ctx.warp, &mut self.warps[i]);
            self.live -= exited.count_ones();
            if let Some(fault) = ctx.fault.take() {
                job.fail(*fault);
                return Round::Done;
            }
            let spent = std::mem::take(&mut ctx.spent);
            if let Some(instructions) = job.spend(spent) {
                job.fail(Fault {
                    kind: FaultKind::Budget { instructions },
                    kernel: job.name().clone(),
                    span: program.span(ctx.spent_at),
                    cta: self.cta,
                    thread: ctx.thread(i as u32 * 32),
                    address: None,
                });
                return Round::Done;
            }
            self.blocked[i] = ctx.stop == Stop::Blocked;
            self.look(ctx, job, i);
            if !self.warps[i].arrivals.is_empty() {
                self.arrive(ctx, program, i);
            }
            if exited != 0 && self.used != 0 {
                for id in 0..self.barriers.len() {
                    self.complete(ctx, program, id);
                }
            }
            meeting.look(&self.warps[i]);
        }
        self.meet(ctx, program, &meeting);
        if self.live == 0 {
            Round::Done
        } else if ran {
            self.stay += u64::from(jumps.max(0).unsigned_abs());
            self.weigh(ctx, job, jumps);
            Round::Progress
        } else {
            Round::Stuck
        }
    }

    /// A fault that no instruction made.
    fn fault(&self, ctx: &mut Ctx, job: &Job, kind: FaultKind) -> Fault {
        let first = self
            .waiting(ctx, job.program(self.compiled))
            .into_iter()
            .next();
        let lane = first.as_ref().map_or(0, |first| {
            first.warp * 32 + (first.lanes.trailing_zeros() & 31)
        });
        Fault {
            kind,
            kernel: job.name().clone(),
            span: first.map(|first| first.span).unwrap_or_default(),
            cta: self.cta,
            thread: ctx.thread(lane),
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
