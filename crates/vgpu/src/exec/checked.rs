//! The ops by which a checked program asks its checker.

mod access;

pub(crate) use access::{each_of_many, emit_access, emit_restore, many};

use super::{Ctx, Flow, Handler, MicroOp, lane::mask_of, operand, shadows};
use crate::{
    check::{At, Checker, Kind, New, ObjectEvent},
    error::Error,
    lower::{Lowerer, immediate},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
};

/// Calls `f` with the checker, if there is one, for the lanes of `mask`.
#[inline(always)]
fn ask<R>(
    ctx: &mut Ctx,
    op: &MicroOp,
    mask: u32,
    f: impl FnOnce(&mut Checker, &At<'_>, &Ctx) -> R,
) -> Option<R> {
    let mut checker = ctx.checker.take()?;
    let at = At {
        program: &ctx.program,
        view: &ctx.view,
        warp: ctx.warp.index,
        mask,
        span: op.span,
    };
    let result = f(&mut checker, &at, ctx);
    ctx.checker = Some(checker);
    Some(result)
}

/// From now on a register of the warp may be undefined: its shadows count.
#[cold]
#[inline(never)]
fn taint(ctx: &mut Ctx) {
    if ctx.warp.tainted {
        return;
    }
    ctx.warp.tainted = true;
    for at in 0..ctx.program.shadows.len() {
        let slot = ctx.program.shadows[at];
        *ctx.cells_mut(slot) = [0u32; 32];
    }
}

/// The next `c` ops matter only if a register may be undefined.
struct Skip;
impl Flow for Skip {
    fn run(ctx: &mut Ctx, op: &MicroOp) -> *const MicroOp {
        let skip = if ctx.warp.tainted { 0 } else { op.c as usize };
        std::ptr::from_ref(op).wrapping_add(1 + skip)
    }
}

pub(crate) fn emit_skip(l: &mut Lowerer, count: usize) {
    l.emit(MicroOp {
        c: count as u32,
        ..l.flow::<Skip>()
    });
}

/// Shadow `dst` is `c` in every lane.
struct Fill;
impl Handler for Fill {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if op.c != 0 {
            taint(ctx);
        }
        if ctx.warp.tainted {
            ctx.put_cells(op.dst, [op.c; 32]);
        }
    }
}

pub(crate) fn emit_fill(l: &mut Lowerer, slot: u32, value: u32) {
    let op = fill(l, slot, value);
    l.put_off(op);
}

/// At the start of a kernel, all of these registers are undefined.
pub(crate) fn emit_unwritten(l: &mut Lowerer, slots: &[u32]) {
    shadows::emit_once(l, slots.len());
    for slot in slots {
        let op = fill(l, *slot, 0xFF);
        l.emit(op);
    }
}

fn fill(l: &Lowerer, slot: u32, value: u32) -> MicroOp {
    MicroOp {
        dst: slot,
        c: value,
        ..l.cold::<Fill>()
    }
}

/// The registers of the `imm` shadows at `aux` are used.
struct Used;
impl Handler for Used {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if !ctx.warp.tainted {
            return;
        }
        let slots = ctx.extra(op.aux, op.imm as usize);
        let undefined = |slot: u32| {
            let shadow = ctx.cells::<u32>(slot);
            shadow.iter().fold(0, |all, bits| all | bits) != 0
        };
        if slots.iter().any(|slot| undefined(*slot)) {
            report_used(ctx, op);
        }
    }
}

#[cold]
#[inline(never)]
fn report_used(ctx: &mut Ctx, op: &MicroOp) {
    let slots = ctx.extra(op.aux, op.imm as usize).to_vec();
    for slot in slots {
        let shadow = *ctx.cells::<u32>(slot);
        let mask = ctx.mask;
        let bad = mask & mask_of(|i| shadow[i] != 0);
        if bad != 0 {
            ask(ctx, op, mask, |checker, at, _| checker.used(at, slot, bad));
            // Once for each value.
            ctx.put_cells(slot, [0u32; 32]);
        }
    }
}

pub(crate) fn emit_used(l: &mut Lowerer, slots: &[u32]) {
    let aux = l.extra(slots);
    l.put_off(MicroOp {
        aux,
        imm: slots.len() as u64,
        ..l.cold::<Used>()
    });
}

/// The active lanes have come together at a `bar.warp.sync`.
pub(super) fn gate(ctx: &mut Ctx, op: &MicroOp) {
    let lanes = ctx.warp.active;
    let lacking = if op.b == 1 {
        let members = ctx.cells::<u32>(op.a);
        lanes & mask_of(|i| members[i] >> i & 1 == 0)
    } else {
        lanes & !(ctx.scalar(op.a) as u32)
    };
    if lacking != 0 {
        note(ctx, op, Kind::Mask, lacking, LACKING);
    }
    ask(ctx, op, lanes, |checker, at, _| {
        checker.sync_lanes(at, lanes)
    });
}

/// For the CTA alone if `b` is 1.
struct Fence;
impl Handler for Fence {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mask = ctx.mask;
        ask(ctx, op, mask, |checker, at, _| checker.fence(at, op.b == 1));
    }
}

struct Commit;
impl Handler for Commit {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mask = ctx.mask;
        ask(ctx, op, mask, |checker, at, _| checker.commit(at));
    }
}

/// For all but `imm` groups, or for everything if `b` is 1.
struct Wait;
impl Handler for Wait {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mask = ctx.mask;
        let left = (op.b == 0).then_some(op.imm as u32);
        ask(ctx, op, mask, |checker, at, _| checker.wait(at, left));
    }
}

/// Lanes whose member mask, scalar or lanes of `a` as `b` says, lacks them.
struct Members;
impl Handler for Members {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mask = ctx.mask;
        let lacking = if op.b == 1 {
            mask & !(ctx.scalar(op.a) as u32)
        } else {
            let members = ctx.cells::<u32>(op.a);
            mask & mask_of(|i| members[i] >> i & 1 == 0)
        };
        if lacking != 0 {
            note(ctx, op, Kind::Mask, lacking, LACKING);
        }
    }
}

/// What an operation on an `mbarrier` at a shared address orders.
pub(super) fn object(ctx: &mut Ctx, op: &MicroOp, lane: u32, inside: u64, event: ObjectEvent) {
    ask(ctx, op, 1 << lane, |checker, at, _| {
        checker.object(at, lane, inside, event);
    });
}

/// A barrier is given a count that no warps make up.
#[cold]
pub(super) fn odd_count(ctx: &mut Ctx, op: &MicroOp, lanes: u32, count: u32) {
    let text = format!("a barrier for {count} threads, which is not a multiple of 32");
    note(ctx, op, Kind::BarrierCount, lanes, &text);
}

/// What [`Kind::Mask`] says.
const LACKING: &str = "the member mask lacks the lane that runs this";

#[cold]
fn note(ctx: &mut Ctx, op: &MicroOp, kind: Kind, lanes: u32, text: &str) {
    ask(ctx, op, lanes, |checker, at, _| {
        checker.add(New {
            kind,
            place: at.place(lanes.trailing_zeros() & 31, None),
            other: None,
            address: None,
            allocation: None,
            message: text.to_owned(),
        });
    });
}

/// Lanes that a shuffle of mode `aux` reads, by the lanes of `a` and `b`, and that do not take part.
struct Sources;
impl Handler for Sources {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let (b, c) = (ctx.cells::<u32>(op.a), ctx.cells::<u32>(op.b));
        let mask = ctx.mask;
        let bad = mask
            & mask_of(|i| {
                let (from, fine) = super::warp::source(op.aux, i as u32, b[i], c[i]);
                fine && mask >> (from & 31) & 1 == 0
            });
        if bad != 0 {
            let text = "the lane that this shuffle reads from does not take part";
            note(ctx, op, Kind::ShflInactive, bad, text);
        }
    }
}

/// What an instruction orders, and whose lanes it names.
pub(crate) fn emit_order(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    let last = inst.operands.len().saturating_sub(1);
    let names_members = match inst.op {
        Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::Elect => has(Qual::Sync),
        _ => false,
    };
    if names_members {
        let src = l.src(operand(l, inst, last)?, 32)?;
        l.emit(MicroOp {
            a: src.slot,
            b: u32::from(src.uniform),
            ..l.cold::<Members>()
        });
    }
    match inst.op {
        Op::Shfl => {
            let a = l.src32(operand(l, inst, 2)?)?;
            let b = l.src32(operand(l, inst, 3)?)?;
            l.emit(MicroOp {
                a,
                b,
                aux: super::warp::mode_of(inst),
                ..l.cold::<Sources>()
            });
        }
        Op::Membar | Op::Fence => {
            let within = u32::from(has(Qual::Cta));
            l.emit(MicroOp {
                b: within,
                ..l.cold::<Fence>()
            });
        }
        Op::Cp if has(Qual::CommitGroup) => {
            let op = l.cold::<Commit>();
            l.emit(op);
        }
        Op::Cp if has(Qual::WaitGroup) || has(Qual::WaitAll) => {
            let left = match inst.operands.first() {
                Some(Operand::Imm(imm)) => immediate(*imm, 32),
                _ => 0,
            };
            l.emit(MicroOp {
                imm: left,
                b: u32::from(has(Qual::WaitAll)),
                ..l.cold::<Wait>()
            });
        }
        _ => {}
    }
    Ok(())
}
