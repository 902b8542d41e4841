//! Instructions that are seldom run, computed lane by lane: one small function each, compiled once.

use super::super::{Ctx, Handler, Micro, Pred, Slot, args, choices, operand};
use crate::{build::Lowerer, error::Error};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    types::Type,
};

/// What one lane's result is. Sources hold junk above their type's bits.
pub(super) trait Rule: 'static {
    fn f(x: [u64; 3], imm: u64) -> u64;
}

choices! {
    /// How a slot holds a value.
    pub(super) enum Cells {
        Narrow,
        Wide,
        Scalar,
        /// A predicate.
        Mask,
        /// The negation of one.
        Not,
    }
}

/// A slot and how to read or write it.
#[derive(Clone, Copy)]
pub(super) struct CellsAt {
    pub(super) slot: Slot,
    pub(super) cells: Cells,
}

impl CellsAt {
    /// A source of `bits`, or a predicate.
    pub(super) fn source(l: &mut Lowerer, operand: &Operand, bits: u32) -> Result<CellsAt, Error> {
        if let Operand::Reg(reg) | Operand::NotReg(reg) = operand
            && l.type_of(*reg) == Type::Pred
        {
            let Pred { mask, flip } = l.pred(operand)?;
            return Ok(CellsAt {
                slot: mask,
                cells: if flip == 0 { Cells::Mask } else { Cells::Not },
            });
        }
        let src = l.src(operand, bits)?;
        let cells = match (src.uniform, bits > 32) {
            (true, _) => Cells::Scalar,
            (false, true) => Cells::Wide,
            (false, false) => Cells::Narrow,
        };
        Ok(CellsAt {
            slot: src.slot,
            cells,
        })
    }

    /// A destination.
    pub(super) fn target(l: &mut Lowerer, operand: &Operand) -> Result<CellsAt, Error> {
        let dst = l.dst(operand)?;
        let cells = match (operand, l.reg_bits(operand)) {
            (_, Some(1)) => Cells::Mask,
            _ if dst.uniform => Cells::Scalar,
            (_, Some(33..)) => Cells::Wide,
            _ => Cells::Narrow,
        };
        Ok(CellsAt {
            slot: dst.slot,
            cells,
        })
    }
}

args! {
    struct Ruled {
        dst: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        /// How they hold their values, the destination first.
        cells: [Cells; 4],
        imm: u64,
    }
}

struct ByLane<R>(PhantomData<R>);

impl<R: Rule> Handler for ByLane<R> {
    type Args = Ruled;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Ruled>) {
        by_lane(ctx, op, R::f);
    }
}

#[inline(never)]
fn by_lane(ctx: &mut Ctx, op: &Micro<Ruled>, f: fn([u64; 3], u64) -> u64) {
    let [to, a, b, c] = op.cells;
    let sources = [(op.a, a), (op.b, b), (op.c, c)];
    let at = |ctx: &Ctx, lane: usize| {
        let x = sources.map(|(slot, cells)| read(ctx, slot, cells, lane));
        f(x, op.imm)
    };
    if to == Cells::Scalar {
        let lane = ctx.mask.trailing_zeros() as usize & 31;
        let value = at(ctx, lane);
        ctx.set_scalar(op.dst, value);
        return;
    }
    let mut out = [0u64; 32];
    for (lane, out) in out.iter_mut().enumerate() {
        if ctx.mask >> lane & 1 != 0 {
            *out = at(ctx, lane);
        }
    }
    match to {
        Cells::Narrow => ctx.put_cells(op.dst, out.map(|x| x as u32)),
        Cells::Wide => ctx.put_cells(op.dst, out),
        Cells::Scalar | Cells::Mask | Cells::Not => {
            let bits = (0..32).fold(0, |bits, i| bits | (out[i] as u32 & 1) << i);
            ctx.put_mask(op.dst, bits);
        }
    }
}

/// The value of a lane.
fn read(ctx: &Ctx, slot: Slot, cells: Cells, lane: usize) -> u64 {
    match cells {
        Cells::Narrow => u64::from(ctx.cells::<u32>(slot)[lane]),
        Cells::Wide => ctx.cells::<u64>(slot)[lane],
        Cells::Scalar => ctx.scalar(slot),
        Cells::Mask => u64::from(ctx.mask_at(slot) >> lane & 1),
        Cells::Not => u64::from(!ctx.mask_at(slot) >> lane & 1),
    }
}

/// Emits `dst = R(sources, imm)`.
pub(super) fn emit<R: Rule>(l: &mut Lowerer, dst: CellsAt, sources: &[CellsAt], imm: u64) {
    let none = CellsAt {
        slot: l.constant(0).slot,
        cells: Cells::Scalar,
    };
    let source = |at: usize| sources.get(at).copied().unwrap_or(none);
    let [a, b, c] = [source(0), source(1), source(2)];
    let args = Ruled {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        c: c.slot,
        cells: [dst, a, b, c].map(|place| place.cells),
        imm,
    };
    l.emit(l.cold::<ByLane<R>>(args));
}

/// Lowers `d, a, b...` with sources of these widths.
pub(super) fn apply<R: Rule>(
    l: &mut Lowerer,
    inst: &Inst,
    widths: &[u32],
    imm: u64,
) -> Result<(), Error> {
    let mut sources = Vec::with_capacity(widths.len());
    for (at, bits) in widths.iter().enumerate() {
        sources.push(CellsAt::source(l, operand(l, inst, at + 1)?, *bits)?);
    }
    let dst = CellsAt::target(l, operand(l, inst, 0)?)?;
    emit::<R>(l, dst, &sources, imm);
    Ok(())
}
