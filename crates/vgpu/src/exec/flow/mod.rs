//! Control flow of a warp: lanes pending per block, the lowest runnable block goes on.
//!
//! - Lanes that part wait in `wait[block]`; the lowest pending block runs, and lanes that come to it join.
//! - A block that the analysis calls convergent runs only with all live lanes: uniform registers rest on it.
//! - A gate holds lanes of a `.sync` op until its members are there, have left, or are about to (`gate.rs`).
//! - A barrier parks lanes; `sched/mod.rs` releases them.
//! - Jumps burn fuel; an empty tank ends the turn, and the next turn prefers another block.
//! - Where a seed decides the order of lanes, any pending block may be next, and for a part of its lanes (`apart.rs`).

mod apart;
mod barrier;
mod call;
mod cluster;
mod gate;
mod guard;
mod hint;
#[cfg(target_arch = "x86_64")]
mod parted;

pub(crate) use gate::{Gate, gate};
pub(crate) use guard::{begin_guard, end_guard};
pub(super) use hint::lower_hint;
#[cfg(target_arch = "x86_64")]
pub(crate) use parted::part;

use super::{BlockId, Ctx, Flow, Micro, MicroOp, OptPred, Pred, Slot, Words, args};
use crate::op::Stop;
use crate::{
    analysis::{Term, class},
    build::Lowerer,
    error::{Error, FaultKind, Misuse},
};

/// Jumps a warp may take in one turn.
pub(crate) const FUEL: i32 = 1024;

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
        let op = match &self.warp.came {
            Some(parked) => {
                let resume = parked.resume;
                self.warp.came = None;
                self.activate(self.warp.live);
                self.block(resume)
            }
            None => self.pick(),
        };
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

args! {
    struct Jump {
        to: BlockId,
    }

    struct Branch {
        pred: Pred,
        then: BlockId,
        other: BlockId,
    }

    struct Switch {
        index: Slot,
        /// Whether the index is one for the warp.
        scalar: bool,
        /// The blocks, and how many.
        targets: Words,
        count: u32,
    }

    struct ExitIf {
        pred: Pred,
        next: BlockId,
    }

    struct Trap {
        /// The lanes that do; all without one.
        pred: OptPred,
        /// One more than the number of the function that has no room on the stack, or 0.
        function: u32,
        next: BlockId,
    }
}

/// To a block.
struct Jumps;
impl Flow for Jumps {
    type Args = Jump;
    fn run(ctx: &mut Ctx, op: &Micro<Jump>) -> *const MicroOp {
        ctx.goto(op.to.0)
    }
}

/// To one block or, where the predicate does not hold, to another.
struct Branches;
impl Flow for Branches {
    type Args = Branch;
    fn run(ctx: &mut Ctx, op: &Micro<Branch>) -> *const MicroOp {
        let active = ctx.warp.active;
        let taken = ctx.pred(op.pred) & active;
        if taken == active {
            ctx.goto(op.then.0)
        } else if taken == 0 {
            ctx.goto(op.other.0)
        } else {
            split(ctx, op, taken)
        }
    }
}

#[inline(never)]
fn split(ctx: &mut Ctx, op: &Micro<Branch>, taken: u32) -> *const MicroOp {
    let rest = ctx.warp.active & !taken;
    for (BlockId(block), lanes) in [(op.then, taken), (op.other, rest)] {
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

/// To the block that an index chooses.
struct Switches;
impl Flow for Switches {
    type Args = Switch;
    fn run(ctx: &mut Ctx, op: &Micro<Switch>) -> *const MicroOp {
        let targets = ctx.extra(op.targets, op.count as usize).to_vec();
        let index = if op.scalar {
            [ctx.scalar(op.index) as u32; 32]
        } else {
            *ctx.cells::<u32>(op.index)
        };
        let mut active = ctx.warp.active;
        while active != 0 {
            let lane = active.trailing_zeros();
            let value = index[lane as usize];
            let Some(&block) = targets.get(value as usize) else {
                let kind = FaultKind::Misuse(Misuse::BranchIndex);
                ctx.fault(op.span(), kind, lane, None);
                ctx.stop = Stop::Fuel;
                return std::ptr::null();
            };
            let lanes = super::lane::mask_of(|i| active >> i & 1 != 0 && index[i] == value);
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
struct Exits;
impl Flow for Exits {
    type Args = ();
    fn run(ctx: &mut Ctx, _: &Micro<()>) -> *const MicroOp {
        let lanes = ctx.warp.active;
        ctx.exit(lanes);
        ctx.pick()
    }
}

/// Lanes with the predicate exit, the others go on.
struct ExitsIf;
impl Flow for ExitsIf {
    type Args = ExitIf;
    fn run(ctx: &mut Ctx, op: &Micro<ExitIf>) -> *const MicroOp {
        let lanes = ctx.pred(op.pred) & ctx.warp.active;
        if lanes != 0 {
            ctx.exit(lanes);
            if ctx.warp.active == 0 {
                return ctx.pick();
            }
        }
        ctx.goto(op.next.0)
    }
}

/// `trap`, or a call for which there is no room.
struct Traps;
impl Flow for Traps {
    type Args = Trap;
    fn run(ctx: &mut Ctx, op: &Micro<Trap>) -> *const MicroOp {
        let wanted = op.pred.get().map_or(!0, |pred| ctx.pred(pred));
        let lanes = wanted & ctx.warp.active;
        if lanes != 0 {
            let kind = match op.function.checked_sub(1) {
                Some(function) => ctx.no_call(function),
                None => FaultKind::Trap,
            };
            ctx.fault(op.span(), kind, lanes.trailing_zeros(), None);
        }
        ctx.goto(op.next.0)
    }
}

/// Emits the end of a block.
pub(crate) fn emit_flow(l: &mut Lowerer, term: &Term) -> Result<(), Error> {
    let pred = |l: &Lowerer, reg, flip| Pred {
        mask: l.slot_of(reg),
        flip,
    };
    let op = match term {
        Term::Jump(block) => l.flow::<Jumps>(Jump {
            to: BlockId(*block),
        }),
        Term::Branch {
            pred: reg,
            negated,
            then,
            other,
        } => l.flow::<Branches>(Branch {
            pred: pred(l, *reg, *negated),
            then: BlockId(*then),
            other: BlockId(*other),
        }),
        Term::Switch { index, targets } => {
            let src = l.src(index, 32)?;
            let args = Switch {
                index: src.slot,
                scalar: src.uniform,
                targets: l.extra(targets),
                count: targets.len() as u32,
            };
            l.flow::<Switches>(args)
        }
        Term::Exit => l.flow::<Exits>(()),
        Term::ExitIf {
            pred: reg,
            negated,
            next,
        } => l.flow::<ExitsIf>(ExitIf {
            pred: pred(l, *reg, *negated),
            next: BlockId(*next),
        }),
        Term::Trap {
            guard,
            function,
            next,
        } => l.flow::<Traps>(Trap {
            pred: guard.map(|(reg, negated)| pred(l, reg, negated)).into(),
            function: function.map_or(0, |function| function.0 + 1),
            next: BlockId(*next),
        }),
        Term::Gate {
            members,
            class,
            next,
        } => {
            let (members, varies) = l.gate_members(members.as_ref())?;
            l.gates.push((*next, l.ops.len() as u32));
            l.flow::<gate::Gates>(gate::Gate {
                members,
                varies,
                orders: *class == class::WARP,
                class: *class,
                next: BlockId(*next),
            })
        }
        Term::Barrier(barrier) => barrier::emit(l, barrier)?,
        Term::Call(term) => call::emit(l, term)?,
        Term::Return { .. } => call::emit_return(l),
    };
    l.emit(op);
    Ok(())
}
