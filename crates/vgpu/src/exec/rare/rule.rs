//! Instructions that are seldom run, computed lane by lane: one small function each, compiled once.

use super::super::{Ctx, Handler, MicroOp, operand};
use crate::{error::Error, lower::Lowerer};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    types::Type,
};

/// What one lane's result is. Sources hold junk above their type's bits.
pub(super) trait Rule: 'static {
    fn f(x: [u64; 3], imm: u64) -> u64;
}

/// How a slot holds a value.
#[derive(Clone, Copy)]
pub(super) enum Cells {
    Narrow,
    Wide,
    Scalar,
    /// A predicate, or its negation.
    Mask(u32),
}

impl Cells {
    fn code(self) -> u32 {
        match self {
            Cells::Narrow => 0,
            Cells::Wide => 1,
            Cells::Scalar => 2,
            Cells::Mask(0) => 3,
            Cells::Mask(_) => 4,
        }
    }
}

/// A slot and how to read or write it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) slot: u32,
    pub(super) cells: Cells,
}

impl Place {
    /// A source of `bits`, or a predicate.
    pub(super) fn source(l: &mut Lowerer, operand: &Operand, bits: u32) -> Result<Place, Error> {
        if let Operand::Reg(reg) | Operand::NotReg(reg) = operand
            && l.type_of(*reg) == Type::Pred
        {
            let (slot, negated) = l.pred(operand)?;
            return Ok(Place {
                slot,
                cells: Cells::Mask(negated),
            });
        }
        let src = l.src(operand, bits)?;
        let cells = match (src.uniform, bits > 32) {
            (true, _) => Cells::Scalar,
            (false, true) => Cells::Wide,
            (false, false) => Cells::Narrow,
        };
        Ok(Place {
            slot: src.slot,
            cells,
        })
    }

    /// A destination.
    pub(super) fn target(l: &mut Lowerer, operand: &Operand) -> Result<Place, Error> {
        let dst = l.dst(operand)?;
        let cells = match (operand, l.reg_bits(operand)) {
            (_, Some(1)) => Cells::Mask(0),
            _ if dst.uniform => Cells::Scalar,
            (_, Some(33..)) => Cells::Wide,
            _ => Cells::Narrow,
        };
        Ok(Place {
            slot: dst.slot,
            cells,
        })
    }
}

struct ByLane<R>(PhantomData<R>);

impl<R: Rule> Handler for ByLane<R> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        by_lane(ctx, op, R::f);
    }
}

/// `more[0]` packs the codes of `a`, `b`, `c` and `dst`.
#[inline(never)]
fn by_lane(ctx: &mut Ctx, op: &MicroOp, f: fn([u64; 3], u64) -> u64) {
    let code = |at: u32| op.more[0] >> (4 * at) & 15;
    let sources = [(op.a, code(0)), (op.b, code(1)), (op.c, code(2))];
    let at = |ctx: &Ctx, lane: usize| {
        let x = sources.map(|(slot, code)| read(ctx, slot, code, lane));
        f(x, op.imm)
    };
    if code(3) == 2 {
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
    match code(3) {
        0 => ctx.put_cells(op.dst, out.map(|x| x as u32)),
        1 => ctx.put_cells(op.dst, out),
        _ => {
            let bits = (0..32).fold(0, |bits, i| bits | (out[i] as u32 & 1) << i);
            ctx.put_mask(op.dst, bits);
        }
    }
}

/// The value of a lane.
fn read(ctx: &Ctx, slot: u32, code: u32, lane: usize) -> u64 {
    match code {
        0 => u64::from(ctx.cells::<u32>(slot)[lane]),
        1 => ctx.cells::<u64>(slot)[lane],
        2 => ctx.scalar(slot),
        3 => u64::from(ctx.pred(slot) >> lane & 1),
        _ => u64::from(!ctx.pred(slot) >> lane & 1),
    }
}

/// Emits `dst = R(sources, imm)`.
pub(super) fn emit<R: Rule>(l: &mut Lowerer, dst: Place, sources: &[Place], imm: u64) {
    let none = Place {
        slot: l.constant(0).slot,
        cells: Cells::Scalar,
    };
    let source = |at: usize| sources.get(at).copied().unwrap_or(none);
    let [a, b, c] = [source(0), source(1), source(2)];
    let codes = [a, b, c, dst].map(|place| place.cells.code());
    l.emit(MicroOp {
        dst: dst.slot,
        a: a.slot,
        b: b.slot,
        c: c.slot,
        imm,
        more: [
            codes[0] | codes[1] << 4 | codes[2] << 8 | codes[3] << 12,
            0,
            0,
            0,
        ],
        ..l.cold::<ByLane<R>>()
    });
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
        sources.push(Place::source(l, operand(l, inst, at + 1)?, *bits)?);
    }
    let dst = Place::target(l, operand(l, inst, 0)?)?;
    emit::<R>(l, dst, &sources, imm);
    Ok(())
}
