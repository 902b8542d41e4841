//! The ops by which a checked program tells its checker what orders threads, and whose lanes an instruction names.

use super::{
    Ctx, Handler, Micro, Slot, SpanId, Words, args, checked::ask, flow::Gate, lane::mask_of,
    operand,
};
use crate::{
    analysis::{immediate, roles::each_reg},
    build::Lowerer,
    check::{Kind, New, ObjectEvent, Reader},
    error::Error,
};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId},
    op::Op,
    qual::Qual,
};

/// The active lanes have come together at a `bar.warp.sync`.
pub(super) fn gate(ctx: &mut Ctx, op: &Micro<Gate>) {
    let lanes = ctx.warp.active;
    let lacking = if op.varies {
        let members = ctx.cells::<u32>(op.members);
        lanes & mask_of(|i| members[i] >> i & 1 == 0)
    } else {
        lanes & !(ctx.scalar(op.members) as u32)
    };
    if lacking != 0 {
        note(ctx, op.span(), Kind::Mask, lacking, LACKING);
    }
    met(ctx, op.span(), lanes);
}

/// Lanes have met at `bar.warp.sync`, these and perhaps others.
pub(super) fn met(ctx: &mut Ctx, span: SpanId, lanes: u32) {
    ask(ctx, span, lanes, |checker, at, _| {
        checker.sync_lanes(at, lanes)
    });
}

/// An instruction of the whole warp to which only some lanes come.
pub(super) fn partial(ctx: &mut Ctx, span: SpanId, lanes: u32, all: u32, missing: u32) {
    let text = format!(
        "{} of {} lanes of the warp come to this instruction, which all must run together; lane {missing} does not",
        lanes.count_ones(),
        all.count_ones()
    );
    note(ctx, span, Kind::BarrierDivergence, lanes, &text);
}

args! {
    struct Fencing {
        /// For the CTA alone.
        within: bool,
    }

    struct Waiting {
        /// For everything, or else for all groups but so many.
        all: bool,
        left: u32,
    }

    struct Grouping {
        /// Of products, or of bulk copies.
        products: bool,
        /// Groups that are not waited for.
        left: u32,
    }

    struct Holding {
        /// Numbers of registers.
        regs: Words,
        count: u32,
    }

    struct Naming {
        /// The member mask: one for the warp, or one for each lane.
        members: Slot,
        scalar: bool,
    }
}

struct Fence;
impl Handler for Fence {
    type Args = Fencing;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Fencing>) {
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.fence(at, op.within)
        });
    }
}

struct Commit;
impl Handler for Commit {
    type Args = ();
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<()>) {
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| checker.commit(at));
    }
}

struct Wait;
impl Handler for Wait {
    type Args = Waiting;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Waiting>) {
        let mask = ctx.mask;
        let left = (!op.all).then_some(op.left);
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.wait(at, left)
        });
    }
}

struct ProxyFence;
impl Handler for ProxyFence {
    type Args = ();
    fn run(ctx: &mut Ctx, op: &Micro<()>) {
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.proxy_fence(at)
        });
    }
}

struct CommitGroup;
impl Handler for CommitGroup {
    type Args = Grouping;
    fn run(ctx: &mut Ctx, op: &Micro<Grouping>) {
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.commit_group(at, op.reader());
        });
    }
}

struct WaitGroups;
impl Handler for WaitGroups {
    type Args = Grouping;
    fn run(ctx: &mut Ctx, op: &Micro<Grouping>) {
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.wait_groups(at, op.reader(), op.left);
        });
    }
}

/// A product holds registers until its group is waited for.
struct Holds;
impl Handler for Holds {
    type Args = Holding;
    fn run(ctx: &mut Ctx, op: &Micro<Holding>) {
        let regs = ctx.extra(op.regs, op.count as usize).to_vec();
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.hold(at, regs)
        });
    }
}

/// The stores of a warp to tensor memory are done.
struct StoresDone;
impl Handler for StoresDone {
    type Args = ();
    fn run(ctx: &mut Ctx, op: &Micro<()>) {
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.waits_for_stores(at)
        });
    }
}

/// Registers that products may hold still are read or written.
struct Early;
impl Handler for Early {
    type Args = Holding;
    fn run(ctx: &mut Ctx, op: &Micro<Holding>) {
        let regs = ctx.extra(op.regs, op.count as usize).to_vec();
        let mask = ctx.mask;
        ask(ctx, op.span(), mask, |checker, at, _| {
            checker.uses_held(at, &regs)
        });
    }
}

fn holding(l: &mut Lowerer, regs: &[RegId]) -> Holding {
    let numbers: Vec<u32> = regs.iter().map(|reg| reg.0).collect();
    Holding {
        regs: l.extra(&numbers),
        count: numbers.len() as u32,
    }
}

/// Emits what looks whether a product holds one of these registers.
pub(crate) fn emit_early(l: &mut Lowerer, regs: &[RegId]) {
    let args = holding(l, regs);
    l.emit(l.cold::<Early>(args));
}

impl Grouping {
    fn reader(&self) -> Reader {
        if self.products {
            Reader::Product
        } else {
            Reader::Copy
        }
    }
}

/// Lanes whose member mask lacks them.
struct Members;
impl Handler for Members {
    type Args = Naming;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Naming>) {
        let mask = ctx.mask;
        let lacking = if op.scalar {
            mask & !(ctx.scalar(op.members) as u32)
        } else {
            let members = ctx.cells::<u32>(op.members);
            mask & mask_of(|i| members[i] >> i & 1 == 0)
        };
        if lacking != 0 {
            note(ctx, op.span(), Kind::Mask, lacking, LACKING);
        }
    }
}

/// Lanes come to the barrier of the cluster, with what they did before if it `orders` that.
pub(super) fn meets(ctx: &mut Ctx, span: SpanId, lanes: u32, orders: bool) {
    ask(ctx, span, lanes, |checker, at, _| {
        checker.meets(at, orders);
    });
}

/// Lanes have waited for the barrier of the cluster.
pub(super) fn has_met(ctx: &mut Ctx, span: SpanId, lanes: u32) {
    ask(ctx, span, lanes, |checker, at, _| checker.has_met(at));
}

/// What an operation on an `mbarrier` at a shared address orders.
pub(super) fn object(
    ctx: &mut Ctx,
    span: SpanId,
    lane: u32,
    (peer, inside): (Option<u32>, u64),
    event: ObjectEvent,
) {
    ask(ctx, span, 1 << lane, |checker, at, _| match peer {
        Some(peer) => {
            checker.at_peer(peer, |checker| checker.object(at, lane, inside, event));
        }
        None => checker.object(at, lane, inside, event),
    });
}

/// Bytes that an `mbarrier` expects, or that came, and whether its phase ended.
pub(super) fn transacts(
    ctx: &mut Ctx,
    span: SpanId,
    lane: u32,
    (peer, inside): (Option<u32>, u64),
    (bytes, ended): ([u32; 2], bool),
) {
    ask(ctx, span, 1 << lane, |checker, _, _| match peer {
        Some(peer) => {
            checker.at_peer(peer, |checker| checker.transacts(inside, bytes, ended));
        }
        None => checker.transacts(inside, bytes, ended),
    });
}

/// A barrier is given a count that no warps make up.
#[cold]
pub(super) fn odd_count(ctx: &mut Ctx, span: SpanId, lanes: u32, count: u32) {
    let text = format!("a barrier for {count} threads, which is not a multiple of 32");
    note(ctx, span, Kind::BarrierCount, lanes, &text);
}

/// What [`Kind::Mask`] says.
const LACKING: &str = "the member mask lacks the lane that runs this";

#[cold]
fn note(ctx: &mut Ctx, span: SpanId, kind: Kind, lanes: u32, text: &str) {
    ask(ctx, span, lanes, |checker, at, _| {
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
        l.emit(l.cold::<Members>(Naming {
            members: src.slot,
            scalar: src.uniform,
        }));
    }
    let number = || match inst.operands.first() {
        Some(Operand::Imm(imm)) => immediate(*imm, 32) as u32,
        _ => 0,
    };
    let grouped = inst.op == Op::Wgmma || inst.op == Op::Cp && has(Qual::Bulk);
    let products = inst.op == Op::Wgmma;
    match inst.op {
        // That of device memory alone is for others.
        Op::Fence if has(Qual::Proxy) && has(Qual::Async) && !has(Qual::Global) => {
            l.emit(l.cold::<ProxyFence>(()));
        }
        Op::Fence if has(Qual::Proxy) => {}
        Op::Wgmma | Op::Cp if grouped && has(Qual::CommitGroup) => {
            l.emit(l.cold::<CommitGroup>(Grouping { products, left: 0 }));
        }
        Op::Wgmma | Op::Cp if grouped && has(Qual::WaitGroup) => {
            let left = number();
            l.emit(l.cold::<WaitGroups>(Grouping { products, left }));
        }
        Op::Wgmma if has(Qual::Group) => {
            let mut regs = Vec::new();
            let held = inst.operands.iter();
            held.for_each(|operand| each_reg(operand, &mut |reg| regs.push(reg)));
            if !regs.is_empty() {
                let args = holding(l, &regs);
                l.emit(l.cold::<Holds>(args));
            }
        }
        Op::Tcgen05 if has(Qual::WaitSt) => {
            l.emit(l.cold::<StoresDone>(()));
        }
        Op::Membar | Op::Fence => {
            let within = has(Qual::Cta);
            l.emit(l.cold::<Fence>(Fencing { within }));
        }
        Op::Cp if has(Qual::CommitGroup) => {
            l.emit(l.cold::<Commit>(()));
        }
        Op::Cp if has(Qual::WaitGroup) || has(Qual::WaitAll) => {
            l.emit(l.cold::<Wait>(Waiting {
                all: has(Qual::WaitAll),
                left: number(),
            }));
        }
        _ => {}
    }
    Ok(())
}
