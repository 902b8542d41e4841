//! The ops by which a checked program tells its checker what orders threads, and whose lanes an instruction names.

use super::{Ctx, Handler, MicroOp, checked::ask, lane::mask_of, operand};
use crate::{
    check::{Kind, New, ObjectEvent},
    error::Error,
    lower::{Lowerer, immediate},
};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
};

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
    met(ctx, op, lanes);
}

/// Lanes have met at `bar.warp.sync`, these and perhaps others.
pub(super) fn met(ctx: &mut Ctx, op: &MicroOp, lanes: u32) {
    ask(ctx, op, lanes, |checker, at, _| {
        checker.sync_lanes(at, lanes)
    });
}

/// An instruction of the whole warp to which only some lanes come.
pub(super) fn partial(ctx: &mut Ctx, op: &MicroOp, lanes: u32, all: u32, missing: u32) {
    let text = format!(
        "{} of {} lanes of the warp come to this instruction, which all must run together; lane {missing} does not",
        lanes.count_ones(),
        all.count_ones()
    );
    note(ctx, op, Kind::BarrierDivergence, lanes, &text);
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

/// What an instruction orders, and whose lanes it names.
pub(crate) fn emit_order(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    let last = inst.operands.len().saturating_sub(1);
    let names_members = match inst.op {
        Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::Elect => has(Qual::Sync),
        _ => false,
    };
    // All lanes are members of the mask of all.
    let all = matches!(inst.operands.last(), Some(Operand::Imm(imm)) if immediate(*imm, 32) == 0xFFFF_FFFF);
    if names_members && !all {
        let src = l.src(operand(l, inst, last)?, 32)?;
        l.emit(MicroOp {
            a: src.slot,
            b: u32::from(src.uniform),
            ..l.cold::<Members>()
        });
    }
    match inst.op {
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
