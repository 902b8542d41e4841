//! Control flow of a warp: lanes pending per block, the lowest runnable block goes on.
//!
//! - Lanes that part wait in `wait[block]`; the lowest pending block runs, and lanes that come to it join.
//! - A block that the analysis calls convergent runs only with all live lanes: uniform registers rest on it.
//! - A gate holds lanes of a `.sync` op until its members are there, have left, or are about to (`gate.rs`).
//! - A barrier parks lanes; `sched.rs` releases them.
//! - Jumps burn fuel; an empty tank ends the turn, and the next turn prefers another block.
//! - Where a seed decides the order of lanes, any pending block may be next, and for a part of its lanes (`apart.rs`).

mod apart;
mod call;
mod gate;
mod guard;
mod hint;
mod stay;

pub(crate) use apart::LaneOrder;
pub(crate) use guard::{begin_guard, end_guard};
pub(super) use hint::lower_hint;
pub(crate) use stay::{Calls, How, Stay};

use super::{Ctx, Flow, MicroOp, Trace};
use crate::{
    error::{Error, FaultKind, Misuse},
    lower::{BarrierTerm, Lowerer, Term, class},
};

/// Jumps a warp may take in one turn.
pub(crate) const FUEL: i32 = 1024;
/// What an access that may be part of a spin costs.
pub(crate) const SPIN_COST: i32 = 32;

/// Why a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lanes have exited.
    Done,
    /// It could go on.
    Fuel,
    /// All its lanes are parked, or wait for parked ones.
    Blocked,
}

/// Lanes at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    pub(crate) barrier: u32,
    pub(crate) lanes: u32,
    /// The block after the barrier.
    pub(crate) resume: u32,
    /// Where `bar.red` puts its result, how, and whether the barrier has counted it.
    pub(crate) reduce: Reduce,
    /// Threads it expects; `None` is the whole CTA.
    pub(crate) count: Option<u32>,
    /// Lanes whose predicate was true.
    pub(crate) votes: u32,
    /// `bar.arrive`: counted, never waits.
    pub(crate) arrive_only: bool,
    /// All lanes of a warp must come together.
    pub(crate) aligned: bool,
    pub(crate) span: u32,
}

/// What `bar.red` computes, and the slot of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    None,
    Popc(u32),
    And(u32),
    Or(u32),
}

/// A warp between its turns.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    /// Lanes that exist and have not exited.
    pub(crate) live: u32,
    /// Lanes that exist.
    all: u32,
    /// Those that go straight from block to block: all live ones where they go in step, none elsewhere.
    whole: u32,
    /// Lanes of the running block.
    pub(crate) active: u32,
    pending: Vec<u64>,
    held: Vec<u64>,
    gated: Vec<u64>,
    wait: Vec<u32>,
    gate: Vec<u32>,
    cursor: u32,
    rotate: bool,
    /// Whether a register may be undefined, where that is checked.
    pub(crate) tainted: bool,
    /// Whether a value may be one that a shuffle did not bring, where that is checked.
    pub(crate) lost: bool,
    /// What is undefined of what `cp.async` has read for each lane.
    pub(crate) copied: Option<Box<[u32; 32]>>,
    /// Whether it has begun.
    pub(crate) entered: bool,
    /// Lanes at barriers.
    pub(crate) parked: Vec<Parked>,
    /// Entries of `parked` and arrivals that the barriers have not counted.
    pub(crate) arrivals: Vec<Parked>,
    /// The calls that each lane is in.
    calls: Vec<call::Stack>,
    /// What it does, while that is watched.
    pub(crate) trace: Option<Box<Trace>>,
}

impl Warp {
    /// Where [`Warp::whole`] is, for compiled code.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const WHOLE_AT: usize = std::mem::offset_of!(Warp, whole);

    /// Puts `live` lanes at the first block.
    pub(crate) fn start(&mut self, index: u32, live: u32, blocks: usize) {
        self.index = index;
        self.live = live;
        self.all = live;
        self.trace = None;
        self.tainted = false;
        self.lost = false;
        self.entered = false;
        self.copied = None;
        self.active = 0;
        for bits in [&mut self.pending, &mut self.held, &mut self.gated] {
            bits.clear();
            bits.resize(blocks.div_ceil(64), 0);
        }
        for lanes in [&mut self.wait, &mut self.gate] {
            lanes.clear();
            lanes.resize(blocks, 0);
        }
        self.cursor = 0;
        self.rotate = false;
        self.parked.clear();
        self.arrivals.clear();
        self.calls.clear();
        self.held[0] = 1;
        self.wait[0] = live;
    }

    /// Makes lanes wait for their turn at `block`.
    pub(crate) fn hold(&mut self, block: u32, lanes: u32, convergent: bool) {
        let set = if convergent {
            &mut self.held
        } else {
            &mut self.pending
        };
        set[block as usize / 64] |= 1 << (block % 64);
        self.wait[block as usize] |= lanes;
    }

    fn take(&mut self, block: u32) -> u32 {
        self.pending[block as usize / 64] &= !(1 << (block % 64));
        self.held[block as usize / 64] &= !(1 << (block % 64));
        std::mem::take(&mut self.wait[block as usize])
    }
}

fn first(bits: &[u64], from: u32) -> Option<u32> {
    let mut word = from as usize / 64;
    let mut now = bits.get(word)? & (!0 << (from % 64));
    loop {
        if now != 0 {
            return Some(word as u32 * 64 + now.trailing_zeros());
        }
        word += 1;
        now = *bits.get(word)?;
    }
}

impl Ctx {
    /// Makes `lanes` the running ones.
    #[inline(always)]
    fn activate(&mut self, lanes: u32) {
        self.warp.active = lanes;
        self.mask = lanes;
        self.full = lanes == self.warp.live;
    }

    /// The active lanes go to `block`.
    #[inline(always)]
    pub(crate) fn goto(&mut self, block: u32) -> *const MicroOp {
        self.fuel -= 1;
        if self.fuel >= 0 && self.warp.active == self.warp.whole {
            return self.block(block);
        }
        self.goto_slow(block)
    }

    #[inline(never)]
    fn goto_slow(&mut self, block: u32) -> *const MicroOp {
        let convergent = self.program.blocks[block as usize].convergent;
        let lanes = self.warp.active;
        if self.fuel < 0 {
            self.warp.hold(block, lanes, convergent);
            self.warp.rotate = true;
            self.stop = Stop::Fuel;
            return std::ptr::null();
        }
        if self.lanes.is_some() {
            return self.goto_apart(block);
        }
        if !convergent
            && self.warp.wait[block as usize] == 0
            && first(&self.warp.pending, 0).is_none_or(|low| low > block)
        {
            self.warp.cursor = block;
            return self.block(block);
        }
        self.warp.hold(block, lanes, convergent);
        self.pick()
    }

    /// The next block of the warp that can run, with its lanes active; null if there is none.
    pub(crate) fn pick(&mut self) -> *const MicroOp {
        if self.lanes.is_some()
            && let Some(op) = self.pick_apart()
        {
            return op;
        }
        let warp = &mut self.warp;
        let start = if std::mem::take(&mut warp.rotate) {
            warp.cursor + 1
        } else {
            0
        };
        let next = first(&warp.pending, start).or_else(|| first(&warp.pending, 0));
        if let Some(block) = next {
            let lanes = warp.take(block);
            warp.cursor = block;
            self.activate(lanes);
            return self.block(block);
        }
        if let Some(block) = first(&warp.held, 0)
            && warp.wait[block as usize] == warp.live
        {
            let lanes = warp.take(block);
            self.activate(lanes);
            return self.block(block);
        }
        if first(&warp.gated, 0).is_some()
            && let Some(op) = gate::settle(self)
        {
            return op;
        }
        let warp = &mut self.warp;
        warp.active = 0;
        self.stop = if warp.live == 0 {
            Stop::Done
        } else {
            Stop::Blocked
        };
        std::ptr::null()
    }

    /// Starts or goes on with the warp until its turn ends.
    pub(crate) fn run_turn(&mut self, fuel: i32) {
        self.fuel = fuel;
        let in_step = self.lanes.is_none();
        self.warp.whole = if in_step { self.warp.live } else { 0 };
        let op = self.pick();
        self.run_from(op);
    }

    fn exit(&mut self, lanes: u32) {
        let warp = &mut self.warp;
        warp.live &= !lanes;
        warp.whole &= warp.live;
        let rest = warp.active & !lanes;
        self.activate(rest);
    }
}

/// To block `aux`.
struct Jump;
impl Flow for Jump {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        ctx.goto(op.aux)
    }
}

/// On predicate `a` to block `aux`, else to block `b`; `imm` is xored to the predicate.
struct Branch;
impl Flow for Branch {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let active = ctx.warp.active;
        let taken = (ctx.pred(op.a) ^ op.imm as u32) & active;
        if taken == active {
            ctx.goto(op.aux)
        } else if taken == 0 {
            ctx.goto(op.b)
        } else {
            split(ctx, op, taken)
        }
    }
}

#[inline(never)]
fn split(ctx: &mut Ctx, op: &MicroOp, taken: u32) -> *const MicroOp {
    let rest = ctx.warp.active & !taken;
    for (block, lanes) in [(op.aux, taken), (op.b, rest)] {
        let convergent = ctx.program.blocks[block as usize].convergent;
        ctx.warp.hold(block, lanes, convergent);
    }
    ctx.fuel -= 1;
    if ctx.fuel < 0 {
        ctx.warp.rotate = true;
        ctx.stop = Stop::Fuel;
        return std::ptr::null();
    }
    ctx.pick()
}

/// By the index in register `a` (lanes if `b` is 0) to one of `imm` blocks listed at `aux`.
struct Switch;
impl Flow for Switch {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let targets = ctx.extra(op.aux, op.imm as usize).to_vec();
        let index = *ctx.cells::<u32>(op.a);
        let mut active = ctx.warp.active;
        while active != 0 {
            let lane = active.trailing_zeros();
            let value = if op.b == 0 {
                index[lane as usize]
            } else {
                ctx.scalar(op.a) as u32
            };
            let Some(&block) = targets.get(value as usize) else {
                let kind = FaultKind::Misuse(Misuse::BranchIndex);
                ctx.fault(op, kind, lane, None);
                ctx.stop = Stop::Fuel;
                return std::ptr::null();
            };
            let lanes =
                super::lane::mask_of(|i| active >> i & 1 != 0 && (op.b != 0 || index[i] == value));
            let convergent = ctx.program.blocks[block as usize].convergent;
            ctx.warp.hold(block, lanes, convergent);
            active &= !lanes;
        }
        ctx.fuel -= 1;
        if ctx.fuel < 0 {
            ctx.warp.rotate = true;
            ctx.stop = Stop::Fuel;
            return std::ptr::null();
        }
        ctx.pick()
    }
}

/// All active lanes exit.
struct Exit;
impl Flow for Exit {
    fn run(ctx: &mut Ctx, _: &MicroOp) -> *const MicroOp {
        let lanes = ctx.warp.active;
        ctx.exit(lanes);
        ctx.pick()
    }
}

/// Lanes with predicate `a` exit, the others go to block `aux`.
struct ExitIf;
impl Flow for ExitIf {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let lanes = (ctx.pred(op.a) ^ op.imm as u32) & ctx.warp.active;
        if lanes != 0 {
            ctx.exit(lanes);
            if ctx.warp.active == 0 {
                return ctx.pick();
            }
        }
        ctx.goto(op.aux)
    }
}

/// `trap` for the lanes with predicate `a` if `b` is 1, for all otherwise; or, where `c` is one more than the number of
/// a function, that has no room on the stack.
struct Trap;
impl Flow for Trap {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let wanted = if op.b == 1 {
            ctx.pred(op.a) ^ op.imm as u32
        } else {
            !0
        };
        let lanes = wanted & ctx.warp.active;
        if lanes != 0 {
            let kind = match op.c.checked_sub(1) {
                Some(function) => ctx.stack_full(function),
                None => FaultKind::Trap,
            };
            ctx.fault(op, kind, lanes.trailing_zeros(), None);
        }
        ctx.goto(op.aux)
    }
}

/// A barrier: `a` its number, `b` the thread count (scalar slots), `c` the predicate of `bar.red`, `dst`
/// its result; `more[0]` the kind, `more[1]` guard slot + 1, `more[2]` the predicate's and `more[3]` the
/// guard's negation; bit 0 of `imm` where a count is given, bit 1 where lanes may come apart.
struct Barrier;
impl Flow for Barrier {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let mut lanes = ctx.warp.active;
        if op.more[1] != 0 {
            lanes &= ctx.pred(op.more[1] - 1) ^ op.more[3];
        }
        if lanes == 0 {
            return ctx.goto(op.aux);
        }
        let barrier = ctx.scalar(op.a) as u32;
        let count = (op.imm & 1 == 1).then(|| ctx.scalar(op.b) as u32);
        if let Some(count) = count
            && !count.is_multiple_of(32)
        {
            super::ordered::odd_count(ctx, op, lanes, count);
        }
        if barrier >= 16 {
            let kind = FaultKind::Misuse(Misuse::BarrierNumber);
            ctx.fault(op, kind, lanes.trailing_zeros(), None);
            return ctx.goto(op.aux);
        }
        let reduce = match op.more[0] {
            kind::POPC => Reduce::Popc(op.dst),
            kind::AND => Reduce::And(op.dst),
            kind::OR => Reduce::Or(op.dst),
            kind::ARRIVE | kind::SYNC | 5.. => Reduce::None,
        };
        let votes = match reduce {
            Reduce::None => 0,
            Reduce::Popc(_) | Reduce::And(_) | Reduce::Or(_) => {
                (ctx.pred(op.c) ^ op.more[2]) & lanes
            }
        };
        let parked = Parked {
            barrier,
            lanes,
            resume: op.aux,
            reduce,
            count,
            votes,
            arrive_only: op.more[0] == kind::ARRIVE,
            aligned: op.imm & 2 == 0,
            span: op.span,
        };
        // What the warp does behind an arrival is not before it, though the barriers count it later.
        if parked.arrive_only
            && let Some(checker) = &mut ctx.checker
        {
            checker.arrive(ctx.warp.index, lanes, barrier as usize);
        }
        ctx.warp.arrivals.push(parked);
        if parked.arrive_only {
            return ctx.goto(op.aux);
        }
        ctx.warp.parked.push(parked);
        let rest = ctx.warp.active & !lanes;
        if rest != 0 {
            ctx.activate(rest);
            return ctx.goto(op.aux);
        }
        ctx.pick()
    }
}

mod kind {
    pub(super) const SYNC: u32 = 0;
    pub(super) const ARRIVE: u32 = 1;
    pub(super) const POPC: u32 = 2;
    pub(super) const AND: u32 = 3;
    pub(super) const OR: u32 = 4;
}

/// Emits the end of a block.
pub(crate) fn emit_flow(l: &mut Lowerer, term: &Term) -> Result<(), Error> {
    let op = match term {
        Term::Jump(block) => MicroOp {
            aux: *block,
            ..l.flow::<Jump>()
        },
        Term::Branch {
            pred,
            negated,
            then,
            other,
        } => MicroOp {
            a: l.slot_of(*pred),
            imm: u64::from(*negated),
            aux: *then,
            b: *other,
            ..l.flow::<Branch>()
        },
        Term::Switch { index, targets } => {
            let src = l.src(index, 32)?;
            MicroOp {
                a: src.slot,
                b: u32::from(src.uniform),
                imm: targets.len() as u64,
                aux: l.extra(targets),
                ..l.flow::<Switch>()
            }
        }
        Term::Exit => l.flow::<Exit>(),
        Term::ExitIf {
            pred,
            negated,
            next,
        } => MicroOp {
            a: l.slot_of(*pred),
            imm: u64::from(*negated),
            aux: *next,
            ..l.flow::<ExitIf>()
        },
        Term::Trap {
            guard,
            function,
            next,
        } => MicroOp {
            c: function.map_or(0, |function| function.0 + 1),
            a: guard.map_or(0, |(pred, _)| l.slot_of(pred)),
            b: u32::from(guard.is_some()),
            imm: guard.map_or(0, |(_, negated)| u64::from(negated)),
            aux: *next,
            ..l.flow::<Trap>()
        },
        Term::Gate {
            members,
            class,
            next,
        } => {
            let (a, varies) = l.gate_members(members.as_ref())?;
            l.gates.push((*next, l.ops.len() as u32));
            MicroOp {
                a,
                b: u32::from(varies),
                c: u32::from(*class == class::WARP),
                more: [*class, 0, 0, 0],
                aux: *next,
                ..l.flow::<gate::Gate>()
            }
        }
        Term::Barrier(barrier) => emit_barrier(l, barrier)?,
        Term::Call(term) => call::emit(l, term)?,
        Term::Return { .. } => call::emit_return(l),
    };
    l.emit(op);
    Ok(())
}

fn emit_barrier(l: &mut Lowerer, term: &BarrierTerm) -> Result<MicroOp, Error> {
    let BarrierTerm {
        id,
        count,
        reduce,
        arrive,
        aligned,
        guard,
        next,
    } = term;
    let a = l.scalar_src(id)?;
    let b = match count {
        Some(count) => l.scalar_src(count)?,
        None => 0,
    };
    let mut op = MicroOp {
        a,
        b,
        imm: u64::from(count.is_some()) | u64::from(!aligned) << 1,
        aux: *next,
        ..l.flow::<Barrier>()
    };
    op.more[0] = if *arrive { kind::ARRIVE } else { kind::SYNC };
    if let Some((what, dst, pred)) = reduce {
        let (slot, negated) = l.pred(pred)?;
        let dst = l.dst(dst)?;
        op.c = slot;
        op.more[2] = negated;
        op.dst = dst.slot;
        op.more[0] = match what {
            crate::lower::BarRed::Popc => kind::POPC,
            crate::lower::BarRed::And => kind::AND,
            crate::lower::BarRed::Or => kind::OR,
        };
    }
    if let Some((pred, negated)) = guard {
        op.more[1] = l.slot_of(*pred) + 1;
        op.more[3] = *negated;
    }
    Ok(op)
}
