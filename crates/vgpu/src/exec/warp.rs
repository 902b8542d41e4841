//! Exchanges between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
//!
//! The gate before a `.sync` op brings its members together; those that take part are the members among the
//! active lanes. Lanes may name different masks in one op, as two halves of a warp do: then each group of
//! lanes with the same mask is an exchange of its own.

use super::{
    Ctx, Handler, MicroOp,
    lane::{Cell, Lane, lanes, mask_of},
    operand,
};
use crate::{
    error::Error,
    lower::{Dst, Lowerer, immediate},
};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
    uniform::broadcasts,
};

/// Lowers one of them.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    match inst.op {
        Op::Shfl => shuffle(l, inst),
        Op::Vote => vote(l, inst),
        Op::Match => matches(l, inst),
        Op::Redux => redux(l, inst),
        Op::Activemask => {
            let dst = l.dst(operand(l, inst, 0)?)?;
            let op = if dst.uniform {
                l.op::<Active>()
            } else {
                l.cold::<ActiveLanes>()
            };
            l.emit(MicroOp {
                dst: dst.slot,
                ..op
            });
            Ok(())
        }
        Op::Elect => elect(l, inst),
        _ => Err(l.unsupported(inst)),
    }
}

/// `d` and `p` of `d|p`, or `d` alone.
fn pair(operand: &Operand) -> (&Operand, Option<&Operand>) {
    match operand {
        Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
        _ => (operand, None),
    }
}

/// The slot of a destination predicate.
fn pred_slot(l: &mut Lowerer, operand: Option<&Operand>) -> Result<u32, Error> {
    match operand {
        Some(Operand::Reg(reg)) if l.type_of(*reg) == Type::Pred => Ok(l.slot_of(*reg)),
        Some(Operand::Sink) | None => Ok(l.temp()),
        Some(_) => Err(l.refuse("this predicate destination".to_owned())),
    }
}

/// The lane that `lane` reads, and whether it is in range.
#[inline(always)]
pub(crate) fn source(mode: u32, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segments) = (b & 31, c & 31, c >> 8 & 31);
    let low = lane & segments;
    let high = low | clamp & !segments;
    let (from, fine) = match mode {
        mode::UP => (lane.wrapping_sub(b), lane as i32 - b as i32 >= high as i32),
        mode::DOWN => (lane + b, lane + b <= high),
        mode::BFLY => (lane ^ b, lane ^ b <= high),
        _ => {
            let from = low | b & !segments;
            (from, from <= high)
        }
    };
    (if fine { from & 31 } else { lane }, fine)
}

mod mode {
    pub(super) const UP: u32 = 0;
    pub(super) const DOWN: u32 = 1;
    pub(super) const BFLY: u32 = 2;
    pub(super) const IDX: u32 = 3;
}

/// `dst` is `a` of the lanes that 32 words at `aux` name; the mask of those in range, `c`, goes to `b`.
/// A lane that is not active gives nothing: who reads it keeps its own value.
struct Table;

impl Handler for Table {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mut from = [0; 32];
        from.copy_from_slice(ctx.extra(op.aux, 32));
        exchange(ctx, op, &from, op.c);
    }
}

/// The same with lane `i ^ X` for lane `i`.
struct Butterfly<const X: usize>;

impl<const X: usize> Handler for Butterfly<X> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        if ctx.mask != !0 {
            return exchange(ctx, op, &lanes(|i| (i ^ X) as u32), !0);
        }
        let a = ctx.cells::<u32>(op.a);
        let out = lanes(|i| a[i ^ X]);
        ctx.put_cells(op.dst, out);
        ctx.put_mask(op.b, !0);
    }
}

/// The same for mode `aux` with the lanes of b in `more[0]` and of c in `more[1]`.
struct Shuffle;

impl Handler for Shuffle {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let (b, c) = (ctx.cells::<u32>(op.more[0]), ctx.cells::<u32>(op.more[1]));
        let from = lanes(|i| source(op.aux, i as u32, b[i], c[i]).0);
        let fine = mask_of(|i| source(op.aux, i as u32, b[i], c[i]).1);
        exchange(ctx, op, &from, fine);
    }
}

#[inline(always)]
fn exchange(ctx: &mut Ctx, op: &MicroOp, from: &[u32; 32], fine: u32) {
    let a = ctx.cells::<u32>(op.a);
    let mask = ctx.mask;
    let out = if mask == !0 {
        lanes(|i| a[from[i] as usize & 31])
    } else {
        lanes(|i| {
            let j = from[i] as usize & 31;
            if mask >> j & 1 != 0 { a[j] } else { a[i] }
        })
    };
    ctx.put_cells(op.dst, out);
    ctx.put_mask(op.b, fine);
}

/// The scalar `dst` is `a` of lane `c`, or of the first active one where that is not active.
struct Broadcast;

impl Handler for Broadcast {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let lane = if ctx.mask >> op.c & 1 != 0 {
            op.c
        } else {
            ctx.mask.trailing_zeros() & 31
        };
        let value = ctx.cells::<u32>(op.a)[lane as usize];
        ctx.set_scalar(op.dst, u64::from(value));
        ctx.put_mask(op.b, !0);
    }
}

fn broadcast(l: &mut Lowerer, inst: &Inst, lane: u32) -> Result<(), Error> {
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let src = l.src(operand(l, inst, 1)?, 32)?;
    let dst = l.dst(dst)?;
    let b = pred_slot(l, pred)?;
    let a = l.splat::<u32>(src).slot;
    let to = l.scalar_for(dst);
    l.emit(MicroOp {
        dst: to,
        a,
        b,
        c: lane & 31,
        ..l.op::<Broadcast>()
    });
    l.spread::<u32>(dst, to);
    Ok(())
}

/// The mode of a shuffle.
pub(crate) fn mode_of(inst: &Inst) -> u32 {
    let has = |qual| inst.quals.has(qual);
    if has(Qual::Up) {
        mode::UP
    } else if has(Qual::Down) {
        mode::DOWN
    } else if has(Qual::Bfly) {
        mode::BFLY
    } else {
        mode::IDX
    }
}

fn shuffle(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    if let (true, Some(&Operand::Imm(lane))) = (broadcasts(inst), inst.operands.get(2)) {
        return broadcast(l, inst, immediate(lane, 32) as u32);
    }
    let mode = mode_of(inst);
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let a = l.src32(operand(l, inst, 1)?)?;
    let fixed = |operand: &Operand| match operand {
        Operand::Imm(imm) => Some(immediate(*imm, 32) as u32),
        _ => None,
    };
    let (b, c) = (operand(l, inst, 2)?, operand(l, inst, 3)?);
    let op = match (fixed(b), fixed(c)) {
        (Some(x @ (1 | 2 | 4 | 8 | 16)), Some(31)) if mode == mode::BFLY => match x {
            1 => l.op::<Butterfly<1>>(),
            2 => l.op::<Butterfly<2>>(),
            4 => l.op::<Butterfly<4>>(),
            8 => l.op::<Butterfly<8>>(),
            _ => l.op::<Butterfly<16>>(),
        },
        (Some(b), Some(c)) => {
            let from: [u32; 32] = lanes(|i| source(mode, i as u32, b, c).0);
            let aux = l.extra(&from);
            let fine = mask_of(|i| source(mode, i as u32, b, c).1);
            MicroOp {
                aux,
                c: fine,
                ..l.op::<Table>()
            }
        }
        _ => {
            let more = [l.src32(b)?, l.src32(c)?, 0, 0];
            MicroOp {
                aux: mode,
                more,
                ..l.op::<Shuffle>()
            }
        }
    };
    let dst = l.dst(dst)?.slot;
    let b = pred_slot(l, pred)?;
    l.emit(MicroOp { dst, a, b, ..op });
    Ok(())
}

/// Calls `f` with the lanes of each group and those that take part: masks in the scalar `slot` if `uniform` is
/// 1, else in its lanes.
#[inline(always)]
fn groups(ctx: &Ctx, slot: u32, uniform: u32, mut f: impl FnMut(u32, u32)) {
    if uniform == 1 {
        return f(ctx.mask, ctx.scalar(slot) as u32 & ctx.mask);
    }
    let masks = ctx.cells::<u32>(slot);
    let mut left = ctx.mask;
    while left != 0 {
        let mask = masks[left.trailing_zeros() as usize];
        let group = left & mask_of(|i| masks[i] == mask);
        f(group, mask & ctx.mask);
        left &= !group;
    }
}

/// A member mask: its slot, and 1 if it is a scalar.
fn members(l: &mut Lowerer, inst: &Inst) -> Result<(u32, u32), Error> {
    let last = inst.operands.len().saturating_sub(1);
    let src = l.src(operand(l, inst, last)?, 32)?;
    Ok((src.slot, u32::from(src.uniform)))
}

/// Emits an op that finds a value for each group: to the scalar `dst` where `imm` is 1, else to lanes.
/// The mask is in `c`, and `more[0]` says whether that is a scalar.
fn emit_grouped(l: &mut Lowerer, inst: &Inst, dst: Dst, op: MicroOp) -> Result<(), Error> {
    let (c, uniform) = members(l, inst)?;
    let mut more = op.more;
    more[0] = uniform;
    l.emit(MicroOp {
        dst: dst.slot,
        c,
        more,
        imm: u64::from(dst.uniform),
        ..op
    });
    Ok(())
}

/// Writes the values of groups.
#[inline(always)]
fn put_grouped(ctx: &mut Ctx, op: &MicroOp, mut value: impl FnMut(&Ctx, u32) -> u32) {
    let mut out = [0; 32];
    let mut last = 0;
    groups(ctx, op.c, op.more[0], |group, part| {
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
    if op.imm == 1 {
        ctx.set_scalar(op.dst, u64::from(last));
    } else {
        ctx.put_cells(op.dst, out);
    }
}

/// The active lanes in the same calls, for each lane.
struct ActiveLanes;

impl Handler for ActiveLanes {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let active = ctx.mask;
        let out = std::array::from_fn(|lane| ctx.companions(active, lane));
        ctx.put_cells::<u32>(op.dst, out);
    }
}

/// The lanes that run it.
struct Active;

impl Handler for Active {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        ctx.set_scalar(op.dst, u64::from(ctx.mask));
    }
}

/// The lanes of predicate `a ^ b`.
struct Ballot;

impl Handler for Ballot {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let votes = ctx.pred(op.a) ^ op.b;
        put_grouped(ctx, op, |_, part| votes & part);
    }
}

/// Whether all, any, or all or none of the lanes of `a ^ b` are set.
struct Vote<const KIND: u32>;

mod kind {
    pub(super) const ALL: u32 = 0;
    pub(super) const ANY: u32 = 1;
    pub(super) const UNI: u32 = 2;
}

impl<const KIND: u32> Handler for Vote<KIND> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let votes = ctx.pred(op.a) ^ op.b;
        let mut out = 0;
        groups(ctx, op.c, op.more[0], |group, part| {
            let set = votes & part;
            let holds = match KIND {
                kind::ALL => set == part,
                kind::ANY => set != 0,
                _ => set == part || set == 0,
            };
            out |= if holds { group } else { 0 };
        });
        ctx.put_mask(op.dst, out);
    }
}

fn vote(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    if !has(Qual::Sync) {
        return Err(l.unsupported(inst));
    }
    let (a, b) = l.pred(operand(l, inst, 1)?)?;
    if has(Qual::Ballot) {
        let dst = l.dst(operand(l, inst, 0)?)?;
        let op = l.op::<Ballot>();
        return emit_grouped(l, inst, dst, MicroOp { a, b, ..op });
    }
    let op = if has(Qual::All) {
        l.op::<Vote<{ kind::ALL }>>()
    } else if has(Qual::Any) {
        l.op::<Vote<{ kind::ANY }>>()
    } else {
        l.op::<Vote<{ kind::UNI }>>()
    };
    let slot = pred_slot(l, Some(operand(l, inst, 0)?))?;
    emit_grouped(
        l,
        inst,
        Dst {
            slot,
            uniform: false,
        },
        MicroOp { a, b, ..op },
    )
}

/// For each lane those of its group with the same `a`.
struct MatchAny<C>(PhantomData<C>);

impl<C: Cell> Handler for MatchAny<C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let a = ctx.cells::<C>(op.a);
        let mut out = [0; 32];
        groups(ctx, op.c, op.more[0], |group, part| {
            for (i, out) in out.iter_mut().enumerate() {
                if group >> i & 1 != 0 {
                    *out = part & mask_of(|j| a[j] == a[i]);
                }
            }
        });
        ctx.put_cells(op.dst, out);
    }
}

/// The members if all have the same `a`, else 0; whether they have goes to predicate `b`.
struct MatchAll<C>(PhantomData<C>);

impl<C: Cell> Handler for MatchAll<C> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let a = ctx.cells::<C>(op.a);
        let (mut out, mut same) = ([0; 32], 0);
        groups(ctx, op.c, op.more[0], |group, part| {
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
        ctx.put_mask(op.b, same);
    }
}

fn matches(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let dst = Dst {
        slot: l.dst(dst)?.slot,
        uniform: false,
    };
    let wide = inst.quals.types().any(|ty| ty.bits() == 64);
    let value = operand(l, inst, 1)?;
    let a = if wide {
        l.src64(value)?
    } else {
        l.src32(value)?
    };
    let op = match (inst.quals.has(Qual::Any), wide) {
        (true, false) => l.op::<MatchAny<u32>>(),
        (true, true) => l.op::<MatchAny<u64>>(),
        (false, false) => l.op::<MatchAll<u32>>(),
        (false, true) => l.op::<MatchAll<u64>>(),
    };
    let b = pred_slot(l, pred)?;
    emit_grouped(l, inst, dst, MicroOp { a, b, ..op })
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
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        put_grouped(ctx, op, |ctx, part| {
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

fn redux(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    let op = match inst.quals.types().next() {
        Some(Type::U32 | Type::S32) if has(Qual::Add) => l.op::<Reduce<Add>>(),
        Some(Type::U32) if has(Qual::Min) => l.op::<Reduce<MinU>>(),
        Some(Type::U32) if has(Qual::Max) => l.op::<Reduce<MaxU>>(),
        Some(Type::S32) if has(Qual::Min) => l.op::<Reduce<MinS>>(),
        Some(Type::S32) if has(Qual::Max) => l.op::<Reduce<MaxS>>(),
        Some(Type::B32) if has(Qual::And) => l.op::<Reduce<And>>(),
        Some(Type::B32) if has(Qual::Or) => l.op::<Reduce<Or>>(),
        Some(Type::B32) if has(Qual::Xor) => l.op::<Reduce<Xor>>(),
        _ => return Err(l.unsupported(inst)),
    };
    let a = l.src32(operand(l, inst, 1)?)?;
    let dst = l.dst(operand(l, inst, 0)?)?;
    emit_grouped(l, inst, dst, MicroOp { a, ..op })
}

/// The lowest member of each group; predicate `b` holds for it alone.
struct Elect;

impl Handler for Elect {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mut leaders = 0;
        put_grouped(ctx, op, |_, part| {
            let leader = part.trailing_zeros() & 31;
            leaders |= part & 1 << leader;
            leader
        });
        ctx.put_mask(op.b, leaders);
    }
}

fn elect(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let dst = l.dst(dst)?;
    let b = pred_slot(l, pred)?;
    let op = l.op::<Elect>();
    emit_grouped(l, inst, dst, MicroOp { b, ..op })
}
