//! Exchanges between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
//!
//! The gate before a `.sync` op brings its members together; those that take part are the members among the
//! active lanes. Lanes may name different masks in one op, as two halves of a warp do: then each group of
//! lanes with the same mask is an exchange of its own.

mod groups;

use super::{
    Ctx, Handler, Micro, Slot, Words, args, choices,
    lane::{lanes, mask_of},
    operand,
};
use crate::{analysis::immediate, build::Lowerer, error::Error};
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
        Op::Vote => groups::vote(l, inst),
        Op::Match => groups::matches(l, inst),
        Op::Redux => groups::redux(l, inst),
        Op::Activemask => groups::active(l, inst),
        Op::Elect => groups::elect(l, inst),
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
fn pred_slot(l: &mut Lowerer, operand: Option<&Operand>) -> Result<Slot, Error> {
    match operand {
        Some(Operand::Reg(reg)) if l.type_of(*reg) == Type::Pred => Ok(l.slot_of(*reg)),
        Some(Operand::Sink) | None => Ok(l.temp()),
        Some(_) => Err(l.refuse("this predicate destination".to_owned())),
    }
}

/// The lane that `lane` reads, and whether it is in range.
#[inline(always)]
pub(crate) fn source(mode: Mode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segments) = (b & 31, c & 31, c >> 8 & 31);
    let low = lane & segments;
    let high = low | clamp & !segments;
    let (from, fine) = match mode {
        Mode::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= high as i32),
        Mode::Down => (lane + b, lane + b <= high),
        Mode::Bfly => (lane ^ b, lane ^ b <= high),
        Mode::Idx => {
            let from = low | b & !segments;
            (from, from <= high)
        }
    };
    (if fine { from & 31 } else { lane }, fine)
}

choices! {
    /// Of a shuffle.
    pub(crate) enum Mode {
        Up,
        Down,
        Bfly,
        Idx,
    }
}

args! {
    struct Fixed {
        dst: Slot,
        /// Where the mask of the lanes in range goes.
        pred: Slot,
        a: Slot,
        /// The lane that each reads.
        from: Words,
        in_range: u32,
    }

    struct Crossing {
        dst: Slot,
        pred: Slot,
        a: Slot,
    }

    struct Exchange {
        dst: Slot,
        pred: Slot,
        mode: Mode,
        a: Slot,
        b: Slot,
        c: Slot,
    }

    struct OneLane {
        dst: Slot,
        pred: Slot,
        a: Slot,
        lane: u32,
    }
}

/// `dst` is `a` of the lanes that a table names.
/// A lane that is not active gives nothing: who reads it keeps its own value.
struct Table;

impl Handler for Table {
    type Args = Fixed;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Fixed>) {
        let mut from = [0; 32];
        from.copy_from_slice(ctx.extra(op.from, 32));
        exchange(ctx, [op.dst, op.pred, op.a], &from, op.in_range);
    }
}

/// The same with lane `i ^ X` for lane `i`.
struct Butterfly<const X: usize>;

impl<const X: usize> Handler for Butterfly<X> {
    type Args = Crossing;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Crossing>) {
        if ctx.mask != !0 {
            let from = lanes(|i| (i ^ X) as u32);
            return exchange(ctx, [op.dst, op.pred, op.a], &from, !0);
        }
        let a = ctx.cells::<u32>(op.a);
        let out = lanes(|i| a[i ^ X]);
        ctx.put_cells(op.dst, out);
        ctx.put_mask(op.pred, !0);
    }
}

/// The same by the lanes of `b` and `c`.
struct Shuffle;

impl Handler for Shuffle {
    type Args = Exchange;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Exchange>) {
        let (b, c) = (ctx.cells::<u32>(op.b), ctx.cells::<u32>(op.c));
        let from = lanes(|i| source(op.mode, i as u32, b[i], c[i]).0);
        let fine = mask_of(|i| source(op.mode, i as u32, b[i], c[i]).1);
        exchange(ctx, [op.dst, op.pred, op.a], &from, fine);
    }
}

#[inline(always)]
fn exchange(ctx: &mut Ctx, [dst, pred, a]: [Slot; 3], from: &[u32; 32], fine: u32) {
    let a = ctx.cells::<u32>(a);
    let mask = ctx.mask;
    let out = if mask == !0 {
        lanes(|i| a[from[i] as usize & 31])
    } else {
        lanes(|i| {
            let j = from[i] as usize & 31;
            if mask >> j & 1 != 0 { a[j] } else { a[i] }
        })
    };
    ctx.put_cells(dst, out);
    ctx.put_mask(pred, fine);
}

/// The scalar `dst` is `a` of one lane, or of the first active one where that is not active.
struct Broadcast;

impl Handler for Broadcast {
    type Args = OneLane;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<OneLane>) {
        let lane = if ctx.mask >> op.lane & 1 != 0 {
            op.lane
        } else {
            ctx.mask.trailing_zeros() & 31
        };
        let value = ctx.cells::<u32>(op.a)[lane as usize];
        ctx.set_scalar(op.dst, u64::from(value));
        ctx.put_mask(op.pred, !0);
    }
}

fn broadcast(l: &mut Lowerer, inst: &Inst, lane: u32) -> Result<(), Error> {
    let (dst, pred) = pair(operand(l, inst, 0)?);
    let src = l.src(operand(l, inst, 1)?, 32)?;
    let dst = l.dst(dst)?;
    let pred = pred_slot(l, pred)?;
    let a = l.splat::<u32>(src).slot;
    let to = l.scalar_for(dst);
    l.emit(l.op::<Broadcast>(OneLane {
        dst: to,
        pred,
        a,
        lane: lane & 31,
    }));
    l.spread::<u32>(dst, to);
    Ok(())
}

/// The mode of a shuffle.
pub(crate) fn mode_of(inst: &Inst) -> Mode {
    let has = |qual| inst.quals.has(qual);
    if has(Qual::Up) {
        Mode::Up
    } else if has(Qual::Down) {
        Mode::Down
    } else if has(Qual::Bfly) {
        Mode::Bfly
    } else {
        Mode::Idx
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
    let known = (fixed(b), fixed(c));
    // Sources come first: a destination that is a sink takes a temporary slot as they do.
    let lanes_of = match known {
        (Some(_), Some(_)) => None,
        _ => Some((l.src32(b)?, l.src32(c)?)),
    };
    let dst = l.dst(dst)?.slot;
    let pred = pred_slot(l, pred)?;
    let crossing = Crossing { dst, pred, a };
    let op = match (known, lanes_of) {
        ((Some(x @ (1 | 2 | 4 | 8 | 16)), Some(31)), _) if mode == Mode::Bfly => match x {
            1 => l.op::<Butterfly<1>>(crossing),
            2 => l.op::<Butterfly<2>>(crossing),
            4 => l.op::<Butterfly<4>>(crossing),
            8 => l.op::<Butterfly<8>>(crossing),
            _ => l.op::<Butterfly<16>>(crossing),
        },
        (_, Some((b, c))) => l.op::<Shuffle>(Exchange {
            dst,
            pred,
            mode,
            a,
            b,
            c,
        }),
        ((b, c), None) => {
            let (b, c) = (b.unwrap_or(0), c.unwrap_or(0));
            let from: [u32; 32] = lanes(|i| source(mode, i as u32, b, c).0);
            let args = Fixed {
                dst,
                pred,
                a,
                from: l.extra(&from),
                in_range: mask_of(|i| source(mode, i as u32, b, c).1),
            };
            l.op::<Table>(args)
        }
    };
    l.emit(op);
    Ok(())
}
