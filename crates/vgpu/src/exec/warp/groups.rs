//! `vote`, `match`, `redux`, `activemask` and `elect`: what lanes find out together, group by group.

use super::{
    super::{
        Ctx, Handler, Micro, MicroOp, Pred, Slot, args,
        lane::{Cell, Lane, mask_of},
        operand,
        show::Show,
    },
    pair, pred_slot,
};
use crate::{
    build::{Dst, Lowerer},
    error::Error,
    op::Frame,
};
use std::marker::PhantomData;
use warpsmith_ptx::{ir::Inst, qual::Qual, types::Type};

/// The member mask of a `.sync` op: one for the warp, or one for each lane.
#[derive(Clone, Copy)]
struct Members {
    mask: Slot,
    scalar: bool,
}

impl Show for Members {
    fn show(&self, frame: &Frame) -> String {
        let each = if self.scalar { "one" } else { "lanes" };
        format!("{}:{each}", self.mask.show(frame))
    }
}

/// A value for each group: a scalar, or lanes.
#[derive(Clone, Copy)]
struct Target {
    dst: Slot,
    scalar: bool,
}

impl Show for Target {
    fn show(&self, frame: &Frame) -> String {
        let each = if self.scalar { "one" } else { "lanes" };
        format!("{}:{each}", self.dst.show(frame))
    }
}

args! {
    struct Mask {
        dst: Slot,
    }

    struct Voting {
        to: Target,
        pred: Pred,
        members: Members,
    }

    struct Matching {
        dst: Slot,
        /// Where it goes whether all are the same.
        pred: Slot,
        a: Slot,
        members: Members,
    }

    struct Reducing {
        to: Target,
        a: Slot,
        members: Members,
    }

    struct Electing {
        to: Target,
        pred: Slot,
        members: Members,
    }
}

/// Calls `f` with the lanes of each group and those that take part.
#[inline(always)]
fn groups(ctx: &Ctx, members: Members, mut f: impl FnMut(u32, u32)) {
    if members.scalar {
        return f(ctx.mask, ctx.scalar(members.mask) as u32 & ctx.mask);
    }
    let masks = ctx.cells::<u32>(members.mask);
    let mut left = ctx.mask;
    while left != 0 {
        let mask = masks[left.trailing_zeros() as usize];
        let group = left & mask_of(|i| masks[i] == mask);
        f(group, mask & ctx.mask);
        left &= !group;
    }
}

fn members(l: &mut Lowerer, inst: &Inst) -> Result<Members, Error> {
    let last = inst.operands.len().saturating_sub(1);
    let src = l.src(operand(l, inst, last)?, 32)?;
    Ok(Members {
        mask: src.slot,
        scalar: src.uniform,
    })
}

/// Writes the values of groups.
#[inline(always)]
fn put_grouped(
    ctx: &mut Ctx,
    to: Target,
    members: Members,
    mut value: impl FnMut(&Ctx, u32) -> u32,
) {
    let mut out = [0; 32];
    let mut last = 0;
    groups(ctx, members, |group, part| {
        last = value(ctx, part);
        if group == !0 {
            out = [last; 32];
        } else {
            for (i, out) in out.iter_mut().enumerate() {
                if group >> i & 1 != 0 {
                    *out = last;
                }
            }
        }
    });
    if to.scalar {
        ctx.set_scalar(to.dst, u64::from(last));
    } else {
        ctx.put_cells(to.dst, out);
    }
}

/// The active lanes in the same calls, for each lane.
struct ActiveLanes;

impl Handler for ActiveLanes {
    type Args = Mask;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Mask>) {
        let active = ctx.mask;
        let out = std::array::from_fn(|lane| ctx.companions(active, lane));
        ctx.put_cells::<u32>(op.dst, out);
    }
}

/// The lanes that run it.
struct Active;

impl Handler for Active {
    type Args = Mask;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Mask>) {
        ctx.set_scalar(op.dst, u64::from(ctx.mask));
    }
}

/// The lanes of a predicate.
struct Ballot;

impl Handler for Ballot {
    type Args = Voting;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Voting>) {
        let votes = ctx.pred(op.pred);
        put_grouped(ctx, op.to, op.members, |_, part| votes & part);
    }
}

/// Whether all, any, or all or none of the lanes of a predicate are set.
struct Vote<const KIND: u32>;

mod kind {
    pub(super) const ALL: u32 = 0;
    pub(super) const ANY: u32 = 1;
    pub(super) const UNI: u32 = 2;
}

impl<const KIND: u32> Handler for Vote<KIND> {
    type Args = Voting;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Voting>) {
        let votes = ctx.pred(op.pred);
        let mut out = 0;
        groups(ctx, op.members, |group, part| {
            let set = votes & part;
            let holds = match KIND {
                kind::ALL => set == part,
                kind::ANY => set != 0,
                _ => set == part || set == 0,
            };
            out |= if holds { group } else { 0 };
        });
        ctx.put_mask(op.to.dst, out);
    }
}

pub(super) fn vote(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    if !has(Qual::Sync) {
        return Err(l.unsupported(inst));
    }
    let pred = l.pred(operand(l, inst, 1)?)?;
    if has(Qual::Ballot) {
        let to = l.dst(operand(l, inst, 0)?)?.into();
        let members = members(l, inst)?;
        l.emit(l.op::<Ballot>(Voting { to, pred, members }));
        return Ok(());
    }
    let to = Target {
        dst: pred_slot(l, Some(operand(l, inst, 0)?))?,
        scalar: false,
    };
    let members = members(l, inst)?;
    let args = Voting { to, pred, members };
    let op = if has(Qual::All) {
        l.op::<Vote<{ kind::ALL }>>(args)
    } else if has(Qual::Any) {
        l.op::<Vote<{ kind::ANY }>>(args)
    } else {
        l.op::<Vote<{ kind::UNI }>>(args)
    };
    l.emit(op);
    Ok(())
}

impl From<Dst> for Target {
    fn from(dst: Dst) -> Target {
        Target {
            dst: dst.slot,
            scalar: dst.uniform,
        }
    }
}

/// For each lane those of its group with the same `a`.
struct MatchAny<C>(PhantomData<C>);

impl<C: Cell> Handler for MatchAny<C> {
    type Args = Matching;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Matching>) {
        let a = ctx.cells::<C>(op.a);
        let mut out = [0; 32];
        groups(ctx, op.members, |group, part| {
            for (i, out) in out.iter_mut().enumerate() {
                if group >> i & 1 != 0 {
                    *out = part & mask_of(|j| a[j] == a[i]);
                }
            }
        });
        ctx.put_cells(op.dst, out);
    }
}

/// The members if all have the same `a`, else 0; whether they have goes to a predicate.
struct MatchAll<C>(PhantomData<C>);

impl<C: Cell> Handler for MatchAll<C> {
    type Args = Matching;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Matching>) {
        let a = ctx.cells::<C>(op.a);
        let (mut out, mut same) = ([0; 32], 0);
        groups(ctx, op.members, |group, part| {
            let first = a[part.trailing_zeros() as usize & 31];
            let equal = part & !mask_of(|i| a[i] == first) == 0;
            if equal {
                same |= group;
                for (i, out) in out.iter_mut().enumerate() {
                    if group >> i & 1 != 0 {
                        *out = part;
                    }
                }
            }
        });
        ctx.put_cells(op.dst, out);
        ctx.put_mask(op.pred, same);
    }
}

pub(super) fn matches(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let dst = l.dst(dst)?.slot;
    let wide = inst.quals.types().any(|ty| ty.bits() == 64);
    let value = operand(l, inst, 1)?;
    let a = if wide {
        l.src64(value)?
    } else {
        l.src32(value)?
    };
    let pred = pred_slot(l, pred)?;
    let args = Matching {
        dst,
        pred,
        a,
        members: members(l, inst)?,
    };
    let op = match (inst.quals.has(Qual::Any), wide) {
        (true, false) => l.op::<MatchAny<u32>>(args),
        (true, true) => l.op::<MatchAny<u64>>(args),
        (false, false) => l.op::<MatchAll<u32>>(args),
        (false, true) => l.op::<MatchAll<u64>>(args),
    };
    l.emit(op);
    Ok(())
}

/// An operation of `redux`.
trait Join: 'static {
    type T: Lane<Cell = u32>;
    const START: Self::T;
    fn join(a: Self::T, b: Self::T) -> Self::T;
}

macro_rules! joins {
    ($($name:ident, $ty:ty, $start:expr, |$a:ident, $b:ident| $f:expr;)*) => {$(
        struct $name;
        impl Join for $name {
            type T = $ty;
            const START: $ty = $start;
            #[inline(always)]
            fn join($a: $ty, $b: $ty) -> $ty { $f }
        }
    )*};
}

joins! {
    Add, u32, 0, |a, b| a.wrapping_add(b);
    MinU, u32, u32::MAX, |a, b| a.min(b);
    MaxU, u32, 0, |a, b| a.max(b);
    MinS, i32, i32::MAX, |a, b| a.min(b);
    MaxS, i32, i32::MIN, |a, b| a.max(b);
    And, u32, u32::MAX, |a, b| a & b;
    Or, u32, 0, |a, b| a | b;
    Xor, u32, 0, |a, b| a ^ b;
}

/// `J` over the lanes of `a`.
struct Reduce<J>(PhantomData<J>);

impl<J: Join> Handler for Reduce<J> {
    type Args = Reducing;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Reducing>) {
        put_grouped(ctx, op.to, op.members, |ctx, part| {
            let a = ctx.cells::<u32>(op.a);
            let mut all = J::START;
            for (i, a) in a.iter().enumerate() {
                let joined = J::join(all, J::T::from_cell(*a));
                all = if part >> i & 1 != 0 { joined } else { all };
            }
            all.to_cell()
        });
    }
}

pub(super) fn redux(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    let reduce: fn(&Lowerer, Reducing) -> MicroOp = match inst.quals.types().next() {
        Some(Type::U32 | Type::S32) if has(Qual::Add) => |l, args| l.op::<Reduce<Add>>(args),
        Some(Type::U32) if has(Qual::Min) => |l, args| l.op::<Reduce<MinU>>(args),
        Some(Type::U32) if has(Qual::Max) => |l, args| l.op::<Reduce<MaxU>>(args),
        Some(Type::S32) if has(Qual::Min) => |l, args| l.op::<Reduce<MinS>>(args),
        Some(Type::S32) if has(Qual::Max) => |l, args| l.op::<Reduce<MaxS>>(args),
        Some(Type::B32) if has(Qual::And) => |l, args| l.op::<Reduce<And>>(args),
        Some(Type::B32) if has(Qual::Or) => |l, args| l.op::<Reduce<Or>>(args),
        Some(Type::B32) if has(Qual::Xor) => |l, args| l.op::<Reduce<Xor>>(args),
        _ => return Err(l.unsupported(inst)),
    };
    let a = l.src32(operand(l, inst, 1)?)?;
    let to = l.dst(operand(l, inst, 0)?)?.into();
    let members = members(l, inst)?;
    l.emit(reduce(l, Reducing { to, a, members }));
    Ok(())
}

/// The lowest member of each group; a predicate holds for it alone.
struct Elect;

impl Handler for Elect {
    type Args = Electing;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Electing>) {
        let mut leaders = 0;
        put_grouped(ctx, op.to, op.members, |_, part| {
            let leader = part.trailing_zeros() & 31;
            leaders |= part & 1 << leader;
            leader
        });
        ctx.put_mask(op.pred, leaders);
    }
}

pub(super) fn elect(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let to = l.dst(dst)?.into();
    let pred = pred_slot(l, pred)?;
    let members = members(l, inst)?;
    l.emit(l.op::<Elect>(Electing { to, pred, members }));
    Ok(())
}

/// Lowers `activemask`.
pub(super) fn active(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let dst = l.dst(operand(l, inst, 0)?)?;
    let args = Mask { dst: dst.slot };
    let op = if dst.uniform {
        l.op::<Active>(args)
    } else {
        l.cold::<ActiveLanes>(args)
    };
    l.emit(op);
    Ok(())
}
