//! Calls and returns: each lane has a stack of where to go on and of what its registers held.

use super::super::{Ctx, Flow, Micro, MicroOp, Slot, SpanId, Words, args};
use crate::op::{Stack, Stop};
use crate::{
    analysis::{CallTerm, function_at},
    build::Lowerer,
    error::{Error, FaultKind, Misuse},
};
use std::sync::Arc;
use warpsmith_ptx::{
    ir::{Operand, RegId},
    types::Type,
};

/// The function that fails assertions has no body: it is no call that a thread makes.
const ASSERT: &str = "__assertfail";

impl Ctx {
    /// Why a call is not made: it fails an assertion, or there is no room for it, of a function, by its number.
    pub(in crate::exec) fn no_call(&self, function: u32) -> FaultKind {
        let function = self.program.functions.get(function as usize);
        if function.is_some_and(|name| name == ASSERT) {
            return FaultKind::Assert;
        }
        FaultKind::StackFull {
            function: function.unwrap_or(&self.program.subject.name).clone(),
        }
    }

    /// Those of `lanes` that came to where they are by the same calls as `lane`.
    pub(in crate::exec) fn companions(&self, lanes: u32, lane: usize) -> u32 {
        let Some(own) = self.warp.calls.get(lane) else {
            return lanes;
        };
        let apart = self.warp.calls.iter().enumerate();
        let apart = apart.filter(|(_, stack)| stack.context != own.context);
        apart.fold(lanes, |lanes, (other, _)| lanes & !(1 << other))
    }
}

/// Words that a lane may have on its stack.
const LIMIT: usize = 1 << 17;

/// How a saved slot holds its value.
mod cells {
    pub(super) const NARROW: u32 = 0;
    pub(super) const WIDE: u32 = 1;
    pub(super) const MASK: u32 = 2;
    /// What is undefined of a register: only of account once something may be.
    pub(super) const SHADOW: u32 = 3;
}

args! {
    struct Call {
        /// Next block, number of saved slots, each slot with its cells, then three words for each function that it may
        /// go to: address and first block.
        site: Words,
        functions: u32,
        /// Whether the function is said by a register: lanes of addresses, or one for the warp.
        by_pointer: bool,
        scalar: bool,
        pointer: Slot,
    }
}

/// To a function: what its caller's slots hold is put on the stacks of the lanes.
struct Calls;
impl Flow for Calls {
    type Args = Call;
    fn run(ctx: &mut Ctx, op: &Micro<Call>) -> *const MicroOp {
        call(ctx, op)
    }
}

#[inline(never)]
fn call(ctx: &mut Ctx, op: &Micro<Call>) -> *const MicroOp {
    let active = ctx.warp.active;
    let program = Arc::clone(&ctx.program);
    let count = program.extra(op.site, 2)[1] as usize;
    let (saves, _) = program.extra(op.site.behind(2), 2 * count).as_chunks::<2>();
    let targets = op.site.behind(2 + 2 * count as u32);
    let targets = program.extra(targets, 3 * op.functions as usize);
    ctx.warp.calls.resize_with(32, Stack::default);
    for lane in lanes(active) {
        let mut stack = std::mem::take(&mut ctx.warp.calls[lane]);
        let values = saves
            .iter()
            .map(|[slot, kind]| load(ctx, Slot(*slot), *kind, lane));
        stack.words.extend(values);
        stack.words.push(stack.context);
        stack.words.push(u64::from(op.site.0));
        let mixed = stack.context.rotate_left(5) ^ (u64::from(op.site.0) + 1);
        stack.context = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let full = stack.words.len() > LIMIT;
        ctx.warp.calls[lane] = stack;
        if full {
            let address = match targets.first_chunk() {
                Some(target) if !op.by_pointer => address(target),
                _ => callee(ctx, op, lane),
            };
            let kind = ctx.no_call(function_at(address).unwrap_or(u32::MAX));
            return fault(ctx, op.span(), kind, lane);
        }
    }
    if !op.by_pointer {
        return match targets.get(2) {
            Some(block) => ctx.goto(*block),
            None => {
                let kind = FaultKind::Misuse(Misuse::NoCallee);
                fault(ctx, op.span(), kind, active.trailing_zeros() as usize)
            }
        };
    }
    let goal = |ctx: &Ctx, lane: usize| {
        let wanted = callee(ctx, op, lane);
        let (targets, _) = targets.as_chunks::<3>();
        let found = targets.iter().find(|target| address(target) == wanted);
        found.map(|target| target[2])
    };
    part(ctx, op.span(), Misuse::Callee, goal)
}

/// What a lane's pointer is to.
fn callee(ctx: &Ctx, op: &Micro<Call>, lane: usize) -> u64 {
    if op.scalar {
        ctx.scalar(op.pointer)
    } else {
        ctx.cells::<u64>(op.pointer)[lane]
    }
}

/// The address of a function that a call may go to.
fn address(target: &[u32; 3]) -> u64 {
    u64::from(target[0]) | u64::from(target[1]) << 32
}

/// To behind the call that each lane is in.
struct Return;
impl Flow for Return {
    type Args = ();
    fn run(ctx: &mut Ctx, op: &Micro<()>) -> *const MicroOp {
        back(ctx, op)
    }
}

#[inline(never)]
fn back(ctx: &mut Ctx, op: &Micro<()>) -> *const MicroOp {
    let mut next = [None; 32];
    let program = Arc::clone(&ctx.program);
    for lane in lanes(ctx.warp.active) {
        let mut stack = match ctx.warp.calls.get_mut(lane) {
            Some(stack) => std::mem::take(stack),
            None => continue,
        };
        if let Some(site) = stack.words.pop() {
            stack.context = stack.words.pop().unwrap_or(0);
            let site = Words(site as u32);
            let head = program.extra(site, 2);
            let (block, count) = (head[0], head[1] as usize);
            let (saves, _) = program.extra(site.behind(2), 2 * count).as_chunks::<2>();
            let from = stack.words.len().saturating_sub(count);
            for ([slot, kind], value) in saves.iter().zip(stack.words.drain(from..)) {
                restore(ctx, Slot(*slot), *kind, lane, value);
            }
            next[lane] = Some(block);
        }
        ctx.warp.calls[lane] = stack;
    }
    part(ctx, op.span(), Misuse::Return, |_, lane| next[lane])
}

/// Lanes go to where each wants to.
fn part(
    ctx: &mut Ctx,
    span: SpanId,
    misuse: Misuse,
    goal: impl Fn(&Ctx, usize) -> Option<u32>,
) -> *const MicroOp {
    let active = ctx.warp.active;
    let goals: [Option<u32>; 32] =
        std::array::from_fn(|lane| (active >> lane & 1 != 0).then(|| goal(ctx, lane)).flatten());
    if let Some(lane) = lanes(active).find(|lane| goals[*lane].is_none()) {
        return fault(ctx, span, FaultKind::Misuse(misuse), lane);
    }
    let first = goals.iter().flatten().next().copied();
    if let Some(block) = first
        && goals.iter().flatten().all(|other| *other == block)
    {
        return ctx.goto(block);
    }
    for lane in lanes(active) {
        if let Some(block) = goals[lane] {
            let convergent = ctx.program.blocks[block as usize].convergent;
            ctx.warp.hold(block, 1 << lane, convergent);
        }
    }
    ctx.fuel -= 1;
    if ctx.fuel < 0 {
        ctx.warp.rotate = true;
        ctx.stop = Stop::Fuel;
        return std::ptr::null();
    }
    ctx.pick()
}

fn fault(ctx: &mut Ctx, span: SpanId, kind: FaultKind, lane: usize) -> *const MicroOp {
    ctx.fault(span, kind, lane as u32, None);
    ctx.stop = Stop::Fuel;
    std::ptr::null()
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

fn load(ctx: &Ctx, slot: Slot, kind: u32, lane: usize) -> u64 {
    match kind {
        cells::NARROW => u64::from(ctx.cells::<u32>(slot)[lane]),
        cells::WIDE => ctx.cells::<u64>(slot)[lane],
        cells::SHADOW if !ctx.warp.tainted => 0,
        cells::SHADOW => u64::from(ctx.cells::<u32>(slot)[lane]),
        _ => u64::from(ctx.mask_at(slot) >> lane & 1),
    }
}

fn restore(ctx: &mut Ctx, slot: Slot, kind: u32, lane: usize, value: u64) {
    match kind {
        cells::NARROW => ctx.cells_mut::<u32>(slot)[lane] = value as u32,
        cells::WIDE => ctx.cells_mut::<u64>(slot)[lane] = value,
        cells::SHADOW if !ctx.warp.tainted => {}
        cells::SHADOW => ctx.cells_mut::<u32>(slot)[lane] = value as u32,
        _ => {
            let old = ctx.mask_at(slot) & !(1 << lane);
            ctx.set_scalar(slot, u64::from(old | (value as u32 & 1) << lane));
        }
    }
}

/// Emits a call.
pub(super) fn emit(l: &mut Lowerer, term: &CallTerm) -> Result<MicroOp, Error> {
    let CallTerm {
        pointer,
        saves,
        targets,
        next,
    } = term;
    let mut words = vec![*next, 0];
    let mut seen = Vec::new();
    for reg in saves {
        if let Some(save) = saved(l, *reg)
            && !seen.contains(&save)
        {
            seen.push(save);
            words.extend([save.0.0, save.1]);
            // Registers that share a slot do not share a shadow.
        }
        if let Some(slot) = l.shadow_of(*reg)
            && !seen.contains(&(slot, cells::SHADOW))
        {
            seen.push((slot, cells::SHADOW));
            words.extend([slot.0, cells::SHADOW]);
        }
    }
    words[1] = seen.len() as u32;
    for (address, block) in targets {
        words.extend([*address as u32, (*address >> 32) as u32, *block]);
    }
    let (slot, scalar) = match pointer {
        Some(pointer @ Operand::Reg(_)) => {
            let src = l.src(pointer, 64)?;
            (src.slot, src.uniform)
        }
        Some(_) => return Err(l.refuse("a call of this operand".to_owned())),
        None => (Slot::SCRATCH, false),
    };
    let args = Call {
        site: l.extra(&words),
        functions: targets.len() as u32,
        by_pointer: pointer.is_some(),
        scalar,
        pointer: slot,
    };
    Ok(l.flow::<Calls>(args))
}

/// The slot of a register and its cells; `None` for those that hold one value always, or none.
fn saved(l: &mut Lowerer, reg: RegId) -> Option<(Slot, u32)> {
    let ty = l.type_of(reg);
    let dst = l.dst(&Operand::Reg(reg)).ok()?;
    match ty {
        Type::Pred => Some((dst.slot, cells::MASK)),
        _ if dst.uniform || dst.slot == Slot::SCRATCH => None,
        _ if ty.bits() > 32 => Some((dst.slot, cells::WIDE)),
        _ => Some((dst.slot, cells::NARROW)),
    }
}

/// Emits a return.
pub(super) fn emit_return(l: &Lowerer) -> MicroOp {
    l.flow::<Return>(())
}
