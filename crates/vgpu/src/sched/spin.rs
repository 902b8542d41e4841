//! Whether a CTA does nothing but wait: its warps come back to where they were, with the same values in all registers
//! that matter, and nothing has changed meanwhile that a thread may see.
//!
//! A CTA that runs for long without an end is watched for a while: its program is exchanged for its twin, which counts
//! what changes memory (`exec/watched.rs`). Of each warp a state is kept, and compared with later ones. Two that are alike
//! say that it goes on like this for ever, unless something changes: a warp reads nothing but registers and memory. What
//! reads a clock never waits for ever. That all CTAs of a launch wait is for the launch to say ([`Job::wait`]).

use super::{
    Cta,
    live::{Live, live},
};
use crate::{
    analysis::{Code, Home},
    exec::{self, FUEL},
    job::Job,
    op::{Calls, Ctx, How, Program, Stay, Trace},
};
use std::sync::Arc;

/// Jumps that the busiest warps of a CTA take before it is watched, and while it is: four times and twice as many if that
/// found nothing, up to a most.
const PATIENCE: u64 = 1 << 17;
const WINDOW: u64 = 3 << 10;
const MOST: u64 = 1 << 22;
/// The first of a CTA that has been found to wait before.
const QUICK: u64 = 1 << 14;
/// Jumps of a turn while it waits: what comes then soon runs at full speed.
const SHORT: i32 = 128;
/// Jumps in which it is seen that it still waits.
const AGAIN: u64 = 4 * SHORT as u64;

/// What is known of a CTA that may only wait.
pub(super) struct Watch {
    /// Jumps since it was last watched, or since it is.
    used: u64,
    patience: u64,
    window: u64,
    /// By warp, while it is watched.
    looks: Vec<Look>,
    is_on: bool,
    /// Whether it waited until just now: what has changed may be what it waited for, or not.
    again: bool,
    /// Whether it has changed anything in this round.
    changed: bool,
    /// Whether it does nothing but wait now, and whether it ever did.
    pub(super) waits: bool,
    pub(super) waited: bool,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            used: 0,
            patience: PATIENCE,
            window: WINDOW,
            looks: Vec::new(),
            is_on: false,
            again: false,
            changed: false,
            waits: false,
            waited: false,
        }
    }
}

/// What is known of a warp.
#[derive(Default)]
struct Look {
    /// Changes when its state was kept.
    changes: u64,
    kept: Option<State>,
    /// Turns since then, and how many there may be before another state is kept (Brent, 1980).
    turns: u32,
    limit: u32,
    /// Changes when it was found to go on as it does.
    quiet: Option<u64>,
    /// The registers that matter in the blocks it ran.
    live: Option<(Vec<bool>, Live)>,
}

/// The state of a warp at the end of a turn.
struct State {
    stays: Vec<Stay>,
    calls: Calls,
    frame: Vec<u8>,
    local: Vec<u8>,
}

impl Cta {
    /// Jumps of a turn.
    pub(super) fn fuel(&self) -> i32 {
        if self.watch.waits || self.watch.again {
            SHORT
        } else {
            FUEL
        }
    }

    /// Points the context at the program to run.
    pub(super) fn aim(&self, ctx: &mut Ctx, job: &Job) {
        let program = if self.watch.is_on {
            job.program(self.compiled).watched(exec::watched)
        } else {
            job.program(self.compiled)
        };
        if !Arc::ptr_eq(&ctx.program, program) {
            ctx.program = Arc::clone(program);
        }
    }

    /// Looks at warp `i` at the end of its turn, which the context is still at.
    #[inline(always)]
    pub(super) fn look(&mut self, ctx: &mut Ctx, job: &Job, i: usize) {
        if self.watch.is_on {
            self.look_closely(ctx, job, i);
        }
    }

    #[inline(never)]
    fn look_closely(&mut self, ctx: &mut Ctx, job: &Job, i: usize) {
        let changed = std::mem::take(&mut ctx.changes);
        if changed != 0 {
            self.watch.changed = true;
            job.change(changed);
        }
        let now = job.changes();
        let warp = &mut self.warps[i];
        let look = &mut self.watch.looks[i];
        if look.changes != now {
            *look = Look {
                changes: now,
                live: look.live.take(),
                ..Look::default()
            };
        }
        if look.quiet == Some(now) || warp.live == 0 {
            return;
        }
        let stays = (warp.stays(), warp.calls());
        let Some(trace) = &mut warp.trace else {
            return;
        };
        look.turns += 1;
        if let Some(kept) = &look.kept
            && kept.stays == stays.0
        {
            let runs = stays.0.iter().filter(|stay| stay.how == How::Runs);
            let runs = runs.fold(0, |all, stay| all | stay.lanes);
            let known = look
                .live
                .take()
                .filter(|(visited, _)| *visited == trace.visited);
            let (visited, live) = known.unwrap_or_else(|| {
                let code = &job.program(self.compiled).code;
                (trace.visited.clone(), live(code, &trace.visited))
            });
            let alike = runs & !trace.ran == 0
                && !live.timed
                && kept.calls == stays.1
                && kept.local == local(ctx, job.program(self.compiled), i)
                && {
                    let mut frame = Vec::new();
                    ctx.copy_frame(&mut frame);
                    same(
                        &job.program(self.compiled).code,
                        &live,
                        &kept.stays,
                        [&kept.frame, &frame],
                    )
                };
            look.live = Some((visited, live));
            if alike {
                look.quiet = Some(now);
                return;
            }
        }
        if look.kept.is_none() || look.turns >= look.limit {
            let mut frame = Vec::new();
            ctx.copy_frame(&mut frame);
            look.kept = Some(State {
                stays: stays.0,
                calls: stays.1,
                frame,
                local: local(ctx, job.program(self.compiled), i),
            });
            look.limit = (2 * look.limit).max(1);
            look.turns = 0;
            trace.visited.fill(false);
            trace.ran = 0;
        }
    }

    /// After a round of turns: whether it only waits, or is to be watched, or no longer.
    #[inline(always)]
    pub(super) fn weigh(&mut self, ctx: &mut Ctx, job: &Job, jumps: i32) {
        self.watch.used += u64::from(jumps.max(1).unsigned_abs());
        if self.watch.is_on || self.watch.used >= self.watch.patience {
            self.weigh_closely(ctx, job);
        }
    }

    #[inline(never)]
    fn weigh_closely(&mut self, ctx: &mut Ctx, job: &Job) {
        if !self.watch.is_on {
            self.watch_on(ctx, job);
            return;
        }
        let now = job.changes();
        let quiet = (0..self.warps.len()).all(|i| {
            self.warps[i].live == 0 || self.blocked[i] || self.watch.looks[i].quiet == Some(now)
        });
        let watch = &mut self.watch;
        let waited = std::mem::replace(&mut watch.waits, quiet && !watch.changed);
        if watch.waits {
            watch.waited = true;
            watch.again = false;
            watch.used = 0;
            watch.patience = QUICK;
            let stuck = job.wait(self.index, now, || {
                self.waiting(ctx, job.program(self.compiled))
            });
            if let Some((waiting, not_begun)) = stuck {
                let fault = self.stuck(ctx, job, waiting, not_begun);
                job.fail(fault);
            }
            return;
        }
        if waited {
            watch.again = true;
            watch.used = 0;
        }
        let window = if watch.again { AGAIN } else { watch.window };
        if watch.changed || watch.used >= window {
            if !watch.waited {
                watch.patience = (4 * watch.patience).min(MOST);
                watch.window = (2 * watch.window).min(MOST);
            }
            self.watch_off(ctx, job);
        }
    }

    fn watch_on(&mut self, ctx: &mut Ctx, job: &Job) {
        // What it did so far was not counted.
        job.change(1);
        let watch = &mut self.watch;
        watch.is_on = true;
        watch.used = 0;
        watch.changed = false;
        watch.looks.clear();
        watch.looks.resize_with(self.warps.len(), Look::default);
        for warp in &mut self.warps {
            warp.trace = Some(Box::new(Trace {
                visited: vec![false; job.program(self.compiled).blocks.len()],
                ..Trace::default()
            }));
        }
        ctx.changes = 0;
        self.aim(ctx, job);
    }

    fn watch_off(&mut self, ctx: &mut Ctx, job: &Job) {
        let watch = &mut self.watch;
        watch.is_on = false;
        watch.again = false;
        watch.used = 0;
        watch.changed = false;
        watch.looks.clear();
        for warp in &mut self.warps {
            warp.trace = None;
        }
        self.aim(ctx, job);
    }
}

/// The local memory of a warp's threads.
fn local(ctx: &Ctx, program: &Program, warp: usize) -> Vec<u8> {
    let bytes = program.local_bytes as usize * 32;
    let mut all = vec![0; bytes];
    // A warp that has none reads nothing.
    let _whole = ctx.local.read((warp * bytes) as u64, &mut all);
    all
}

/// Whether the registers that matter are the same in two frames, for the lanes that are where they are live.
fn same(code: &Code, live: &Live, stays: &[Stay], [a, b]: [&[u8]; 2]) -> bool {
    let differs = |slot: u32, step: usize, lanes: u32| {
        (0..32).any(|lane| {
            let at = slot as usize + step * lane;
            lanes >> lane & 1 != 0 && a.get(at..at + step) != b.get(at..at + step)
        })
    };
    let scalar = |frame: &[u8], slot: u32| {
        let mut bytes = [0; 8];
        let at = slot as usize;
        if let Some(own) = frame.get(at..at + 8) {
            bytes.copy_from_slice(own);
        }
        u64::from_ne_bytes(bytes)
    };
    stays.iter().all(|stay| {
        live.at(stay.block).all(|reg| match code.homes[reg] {
            Home::Fixed => true,
            Home::Scalar(slot) => scalar(a, slot) == scalar(b, slot),
            Home::Mask(slot) => (scalar(a, slot) ^ scalar(b, slot)) & u64::from(stay.lanes) == 0,
            Home::Narrow(slot) => !differs(slot, 4, stay.lanes),
            Home::Wide(slot) => !differs(slot, 8, stay.lanes),
        })
    })
}
