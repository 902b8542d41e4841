//! `mma.sp`: products whose A has half of its elements, and says which (PTX ISA 9.7.14.6).
//!
//! A is stored as the dense matrix of half the depth is, B has twice as many registers. Of four units beside each other two
//! are stored, and two bits for each say which: units are elements of 16 bits, halves of tf32, bytes, or pairs of 4 bits. So
//! tf32 has one of two elements, 4-bit integers two pairs of four.
//!
//! # Where the bits are
//! Row `8 * h + g` has its bits in the four lanes from `4 * g` on, two for each unit. With units of 16 bits a word has 16 for
//! row `g`, then 16 for row `g + 8`; a lane, or two in the order of k, have all. With units of a byte a word is of one row:
//! lane `h` of a pair, and with 64 units the next pair has the others. The selector says which lane or pair of the four.

use super::{
    super::{Ctx, Handler, Micro, Slot, Words, args, choices, half::F16, operand},
    slots,
    small::{e4m3, e5m2},
    tile::NAN,
};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    qual::Qual,
    types::Type,
};

choices! {
    /// Elements of A and B.
    enum Number {
        F16,
        Bf16,
        Tf32,
        /// 8-bit floats.
        E4m3,
        E5m2,
        /// Integers.
        U8,
        S8,
        U4,
        S4,
    }
}

impl Number {
    fn of(ty: Type) -> Option<Number> {
        Some(match ty {
            Type::F16 => Number::F16,
            Type::BF16 => Number::Bf16,
            Type::TF32 => Number::Tf32,
            Type::E4M3 => Number::E4m3,
            Type::E5M2 => Number::E5m2,
            Type::U8 => Number::U8,
            Type::S8 => Number::S8,
            Type::U4 => Number::U4,
            Type::S4 => Number::S4,
            _ => return None,
        })
    }

    /// Bytes of what two bits say the place of.
    fn unit(self) -> usize {
        match self {
            Number::F16 | Number::Bf16 | Number::Tf32 => 2,
            Number::E4m3 | Number::E5m2 | Number::U8 | Number::S8 | Number::U4 | Number::S4 => 1,
        }
    }
}

args! {
    struct Sparse {
        /// Slots: those of A, B, C, D, and the one that says which.
        slots: Words,
        /// Registers of A.
        count: u32,
        a: Number,
        b: Number,
        selector: u32,
        /// `.satfinite`.
        saturates: bool,
        /// Sums of 16 bits, two in a register.
        halves: bool,
    }
}

/// The bytes of a row of A or of a column of B, over the registers that have it.
fn line(ctx: &Ctx, slots: impl Iterator<Item = Slot>, at: usize) -> Vec<u8> {
    let words = slots.flat_map(|slot| {
        let cells = ctx.cells::<u32>(slot);
        [0, 1, 2, 3].map(|t| cells[4 * at + t])
    });
    words.flat_map(u32::to_le_bytes).collect()
}

/// Where each stored unit of a row is among all of them.
fn places(which: &[u32; 32], row: usize, unit: usize, units: usize, selector: usize) -> Vec<usize> {
    let (g, h) = (4 * (row % 8), row / 8);
    let bits = |at: usize| {
        let (lane, shift) = match (unit, units) {
            (2, 8) => (selector, 16 * h + 2 * at),
            (2, _) => (2 * selector + at / 8, 16 * h + 2 * (at % 8)),
            (_, 16) => (2 * selector + h, 2 * at),
            _ => (2 * (at / 16) + h, 2 * (at % 16)),
        };
        which[(g + lane) % 32] >> shift & 3
    };
    (0..units)
        .map(|at| 4 * (at / 2) + bits(at) as usize)
        .collect()
}

/// A float of a line, at a unit.
fn float(number: Number, line: &[u8], unit: usize) -> f32 {
    let half = |at: usize| u16::from_le_bytes([line[2 * at], line[2 * at + 1]]);
    match number {
        Number::F16 => F16(half(unit)).to_f32(),
        Number::Bf16 => f32::from_bits(u32::from(half(unit)) << 16),
        Number::Tf32 => {
            let low = u32::from(half(unit)) & 0xE000;
            f32::from_bits(low | u32::from(half(unit + 1)) << 16)
        }
        Number::E4m3 => e4m3(line[unit]),
        _ => e5m2(line[unit]),
    }
}

/// The integers of a byte of a line: one, or two of 4 bits and the product of the other with 0.
fn integers(number: Number, byte: u8) -> [i32; 2] {
    let nibble = |at: u32| byte >> (4 * at) & 15;
    match number {
        Number::S8 => [i32::from(byte as i8), 0],
        Number::U4 => [0, 1].map(|at| i32::from(nibble(at))),
        Number::S4 => [0, 1].map(|at| i32::from((nibble(at) << 4) as i8 >> 4)),
        _ => [i32::from(byte), 0],
    }
}

/// One element of D.
fn element(op: &Micro<Sparse>, c: u32, a: &[u8], b: &[u8], places: &[usize]) -> u32 {
    if matches!(op.a, Number::U8 | Number::S8 | Number::U4 | Number::S4) {
        let mut sum = i64::from(c as i32);
        for (a, at) in a.iter().zip(places) {
            let (a, b) = (integers(op.a, *a), integers(op.b, b[*at]));
            sum += i64::from(a[0] * b[0] + a[1] * b[1]);
        }
        let clamped = sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        return if op.saturates {
            clamped as u32
        } else {
            sum as u32
        };
    }
    let step = if op.a == Number::Tf32 { 2 } else { 1 };
    let mut sum = f32::from_bits(c);
    for at in (0..places.len()).step_by(step) {
        // Of the halves of a tf32 the first is an even one.
        let to = places[at] / step * step;
        sum = float(op.a, a, at).mul_add(float(op.b, b, to), sum);
    }
    if sum.is_nan() { NAN } else { sum.to_bits() }
}

struct Product;
impl Handler for Product {
    type Args = Sparse;
    fn run(ctx: &mut Ctx, op: &Micro<Sparse>) {
        let count = op.count as usize;
        let sums = if op.halves { 2 } else { 4 };
        let all = ctx.extra(op.slots, 2 * count + 2 * sums + 1);
        let all: Vec<Slot> = all.iter().map(|slot| Slot(*slot)).collect();
        let (a, rest) = all.split_at(count);
        let (b, rest) = rest.split_at(count);
        let (c, rest) = rest.split_at(sums);
        let (d, which) = rest.split_at(sums);
        let which = *ctx.cells::<u32>(which[0]);
        let unit = op.a.unit();
        let units = 16 / unit * count / 2;
        let rows: Vec<(Vec<u8>, Vec<usize>)> = (0..16)
            .map(|row| {
                let slots = a.iter().skip(row / 8).step_by(2).copied();
                let places = places(&which, row, unit, units, op.selector as usize);
                (line(ctx, slots, row % 8), places)
            })
            .collect();
        let columns: Vec<Vec<u8>> = (0..8).map(|n| line(ctx, b.iter().copied(), n)).collect();
        let mut out = vec![[0u32; 32]; sums];
        for lane in 0..32 {
            for at in 0..4 {
                let (row, column) = (lane / 4 + at / 2 * 8, lane % 4 * 2 + at % 2);
                let (a, places) = &rows[row];
                if !op.halves {
                    let from = ctx.cells::<u32>(c[at])[lane];
                    out[at][lane] = element(op, from, a, &columns[column], places);
                    continue;
                }
                let shift = 16 * (at % 2);
                let from = (ctx.cells::<u32>(c[at / 2])[lane] >> shift) as u16;
                let from = F16(from).to_f32().to_bits();
                let sum = element(op, from, a, &columns[column], places);
                let half = F16::from_f32(f32::from_bits(sum)).0;
                out[at / 2][lane] |= u32::from(half) << shift;
            }
        }
        for (slot, out) in d.iter().zip(out) {
            ctx.put_cells(*slot, out);
        }
    }
}

/// Lowers `mma.sp`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let types: Vec<Type> = inst.quals.types().collect();
    let &[d, a, b, c] = types.as_slice() else {
        return Err(l.unsupported(inst));
    };
    let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) else {
        return Err(l.unsupported(inst));
    };
    let halves = d == Type::F16;
    let mut all = slots(l, inst, 1)?;
    let count = all.len();
    all.extend(slots(l, inst, 2)?);
    all.extend(slots(l, inst, 3)?);
    all.extend(slots(l, inst, 0)?);
    let sums = if halves { 2 } else { 4 };
    if !matches!(count, 2 | 4) || all.len() != 2 * count + 2 * sums || d != c {
        return Err(l.unsupported(inst));
    }
    all.push(l.src32(operand(l, inst, 4)?)?);
    let Operand::Imm(Imm::Int(selector)) = *operand(l, inst, 5)? else {
        return Err(l.unsupported(inst));
    };
    // What two lanes of four say is undefined where the selector names others.
    let pairs = a.unit() == 2 && count == 4;
    if !(0..=if pairs { 1 } else { 3 }).contains(&selector) {
        return Err(l.unsupported(inst));
    }
    let words: Vec<u32> = all.iter().map(|slot| slot.0).collect();
    let args = Sparse {
        slots: l.extra(&words),
        count: count as u32,
        a,
        b,
        selector: selector as u32,
        saturates: inst.quals.has(Qual::Satfinite),
        halves,
    };
    l.emit(l.cold::<Product>(args));
    Ok(())
}
