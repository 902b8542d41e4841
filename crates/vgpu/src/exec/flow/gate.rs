//! Lanes that wait for lanes of their warp: who may go on, and what is said where nobody can.

use super::{
    super::{BlockId, Ctx, Flow, Micro, MicroOp, Slot, SpanId, args, ordered},
    first,
};
use crate::op::Stop;
use crate::{analysis::class, error::FaultKind, op::Program};
use warpsmith_ptx::ir::Span;

args! {
    pub(crate) struct Gate {
        pub(in crate::exec) members: Slot,
        /// Whether each lane has its own.
        pub(in crate::exec) varies: bool,
        /// Whether it orders accesses.
        pub(super) orders: bool,
        /// One of [`class`].
        pub(super) class: u32,
        pub(super) next: BlockId,
    }
}

/// Waits for the member lanes, then goes on with a block.
pub(super) struct Gates;
impl Flow for Gates {
    type Args = Gate;
    fn run(ctx: &mut Ctx, op: &Micro<Gate>) -> *const MicroOp {
        let block = op.next.0 as usize;
        if op.varies {
            return each(ctx, op);
        }
        let members = ctx.scalar(op.members) as u32 & ctx.warp.live;
        let here = ctx.warp.active | ctx.warp.gate[block];
        if members & !here == 0 {
            if here != ctx.warp.active {
                ctx.warp.gate[block] = 0;
                ctx.warp.gated[block / 64] &= !(1 << (block % 64));
                ctx.activate(here);
            }
            if op.orders {
                ordered::gate(ctx, op);
            }
            if op.class == class::WHOLE && ctx.warp.live != ctx.warp.all {
                return partial(ctx, op, here, None);
            }
            return enter(ctx, op.next.0, here);
        }
        ctx.warp.gate[block] = here;
        ctx.warp.gated[block / 64] |= 1 << (block % 64);
        ctx.pick()
    }
}

/// The op at which lanes wait before a block.
pub(crate) fn gate(program: &Program, block: u32) -> Option<&Micro<Gate>> {
    program.gate(block)?.of_flow::<Gates>()
}

impl Micro<Gate> {
    /// The lanes that a lane waits for.
    pub(crate) fn members(&self, ctx: &Ctx, lane: u32) -> u32 {
        match self.varies {
            false => ctx.scalar(self.members) as u32,
            true => ctx.cells::<u32>(self.members)[lane as usize & 31],
        }
    }
}

/// Lanes at a gate.
#[derive(Clone, Copy)]
struct At {
    block: u32,
    lanes: u32,
    op: Micro<Gate>,
}

/// Those of the lanes at a gate whose members are all `here` or have left.
fn ready(ctx: &Ctx, op: &Micro<Gate>, lanes: u32, here: u32) -> u32 {
    let away = ctx.warp.live & !here;
    if !op.varies {
        let missing = ctx.scalar(op.members) as u32 & away;
        return if missing == 0 { lanes } else { 0 };
    }
    let members = ctx.cells::<u32>(op.members);
    (0..32)
        .filter(|lane| lanes >> lane & 1 != 0 && members[*lane] & away == 0)
        .fold(0, |all, lane| all | 1 << lane)
}

/// The lanes that the first lane of a gate waits for.
fn members(ctx: &Ctx, at: &At) -> u32 {
    at.op.members(ctx, at.lanes.trailing_zeros())
}

/// Takes lanes from a gate.
fn leave(ctx: &mut Ctx, block: u32, lanes: u32) {
    let rest = ctx.warp.gate[block as usize] & !lanes;
    ctx.warp.gate[block as usize] = rest;
    if rest == 0 {
        ctx.warp.gated[block as usize / 64] &= !(1 << (block % 64));
    }
}

/// Gates where lanes may wait for different members: those whose members are all here go on, the others wait.
#[inline(never)]
pub(super) fn each(ctx: &mut Ctx, op: &Micro<Gate>) -> *const MicroOp {
    let block = op.next.0 as usize;
    let here = ctx.warp.active | ctx.warp.gate[block];
    let ready = ready(ctx, op, here, here);
    ctx.warp.gate[block] = here;
    ctx.warp.gated[block / 64] |= 1 << (block % 64);
    leave(ctx, op.next.0, ready);
    if ready == 0 {
        return ctx.pick();
    }
    pass(ctx, op, ready)
}

/// Lanes go on behind a gate.
fn pass(ctx: &mut Ctx, op: &Micro<Gate>, lanes: u32) -> *const MicroOp {
    ctx.activate(lanes);
    if op.orders {
        ordered::gate(ctx, op);
    }
    if op.class == class::WHOLE && ctx.warp.live != ctx.warp.all {
        return partial(ctx, op, lanes, None);
    }
    enter(ctx, op.next.0, lanes)
}

/// The active lanes, which are these, go on with a block, if it does not wait for all.
#[inline(always)]
pub(super) fn enter(ctx: &mut Ctx, block: u32, lanes: u32) -> *const MicroOp {
    if lanes != ctx.warp.live && ctx.program.blocks[block as usize].convergent {
        ctx.warp.hold(block, lanes, true);
        return ctx.pick();
    }
    ctx.block(block)
}

/// Only lanes at gates, and those that wait for all others, are left of a warp: lets those go whom nobody keeps
/// waiting any more; `None` if all have to wait.
#[cold]
#[inline(never)]
pub(super) fn settle(ctx: &mut Ctx) -> Option<*const MicroOp> {
    let mut gates = Vec::new();
    let mut from = 0;
    while let Some(block) = first(&ctx.warp.gated, from) {
        if let Some(op) = gate(&ctx.program, block) {
            gates.push(At {
                block,
                lanes: ctx.warp.gate[block as usize],
                op: *op,
            });
        }
        from = block + 1;
    }
    for at in &gates {
        // Others have left meanwhile.
        let lanes = ready(ctx, &at.op, at.lanes, at.lanes);
        if lanes != 0 {
            leave(ctx, at.block, lanes);
            return Some(pass(ctx, &at.op, lanes));
        }
    }
    if let Some(next) = meet(ctx, &gates) {
        return Some(next);
    }
    // To a barrier nobody else can come now.
    if let Some(at) = gates.iter().find(|at| at.op.class == class::BARRIER) {
        leave(ctx, at.block, at.lanes);
        return Some(pass(ctx, &at.op, at.lanes));
    }
    // A barrier of the CTA may bring more lanes.
    if !ctx.warp.parked.is_empty() {
        return None;
    }
    let held = first(&ctx.warp.held, 0);
    let waits = held.and_then(|block| ctx.program.code.must_wait(block));
    for (i, at) in gates.iter().enumerate() {
        let others = gates.iter().enumerate().filter(|(j, _)| *j != i);
        let other = others.map(|(_, other)| other).next();
        let elsewhere = other.map(|other| ctx.program.span(other.op.span()));
        if at.op.class == class::WHOLE {
            let elsewhere = elsewhere.or_else(|| held.map(|block| place(ctx, block)));
            return Some(partial(ctx, &at.op, at.lanes, elsewhere));
        }
        let meets = |other: &&At| {
            let missing = members(ctx, at) & ctx.warp.live & !(at.lanes | other.lanes);
            at.op.class >= class::EXCHANGE
                && other.block != at.block
                && other.op.class == at.op.class
                && members(ctx, other) == members(ctx, at)
                && missing == 0
        };
        if let Some(other) = gates.iter().find(meets) {
            let other = ctx.program.span(other.op.span());
            return Some(stop(ctx, &at.op, FaultKind::TwoPlaces { other }, at.lanes));
        }
    }
    if held.is_some() && waits.is_none() {
        // Those that wait for all others leave without another wait, but for this: they are as good as gone.
        let at = gates.first()?;
        leave(ctx, at.block, at.lanes);
        ctx.activate(at.lanes);
        return Some(enter(ctx, at.block, at.lanes));
    }
    None
}

/// Lanes meet at `bar.warp.sync` though they wait at several places.
fn meet(ctx: &mut Ctx, gates: &[At]) -> Option<*const MicroOp> {
    let warp = || gates.iter().filter(|at| at.op.class == class::WARP);
    let here = warp().fold(0, |all, at| all | at.lanes);
    let free = |ctx: &Ctx, at: &At| ready(ctx, &at.op, at.lanes, here);
    let all = warp().fold(0, |all, at| all | free(ctx, at));
    if all == 0 {
        return None;
    }
    for at in warp() {
        let lanes = free(ctx, at);
        if lanes != 0 {
            leave(ctx, at.block, lanes);
            ctx.activate(lanes);
            ordered::met(ctx, at.op.span(), all);
            let convergent = ctx.program.blocks[at.block as usize].convergent;
            ctx.warp.hold(at.block, lanes, convergent);
        }
    }
    Some(ctx.pick())
}

/// Where the code of a block begins.
fn place(ctx: &Ctx, block: u32) -> Span {
    let first = ctx.program.blocks[block as usize].first;
    let op = ctx.program.ops.get(first as usize);
    ctx.program.span(op.map_or(SpanId(0), MicroOp::span))
}

/// An instruction of the whole warp to which not all come.
#[cold]
pub(super) fn partial(
    ctx: &mut Ctx,
    op: &Micro<Gate>,
    lanes: u32,
    elsewhere: Option<Span>,
) -> *const MicroOp {
    let all = ctx.warp.all;
    let missing = (all & !lanes).trailing_zeros() & 31;
    ordered::partial(ctx, op.span(), lanes, all, missing);
    let kind = FaultKind::Partial {
        lanes: lanes.count_ones(),
        of: all.count_ones(),
        elsewhere,
    };
    stop(ctx, op, kind, lanes)
}

fn stop(ctx: &mut Ctx, op: &Micro<Gate>, kind: FaultKind, lanes: u32) -> *const MicroOp {
    ctx.fault(op.span(), kind, lanes.trailing_zeros() & 31, None);
    ctx.warp.active = 0;
    ctx.stop = Stop::Fuel;
    std::ptr::null()
}
