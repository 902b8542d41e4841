//! Products of numbers of 8, 6 and 4 bits, with scales for blocks of k (PTX ISA 9.7.14.3).
//!
//! Fragments lie as those of bytes do, numbers of 6 and 4 bits in a byte each; with a depth of 64 two of 4 bits are in a byte,
//! the lower first. Of a scaled product row `8 * h + g` of A has its scales in lane `4 * g + 2 * thread + h`, column `n` of B
//! in lane `4 * n + thread`, one byte for each block from the byte that is named on.
//!
//! Each sum is a chain in ascending k that starts with C, rounded to f32 at each step; products and scales are exact.

use super::{
    super::{Ctx, Handler, Micro, Slot, Words, args, ldst::items, operand},
    slots,
    small::{Format, e2m1, scale},
    tile::NAN,
};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, qual::Qual, types::Type};

args! {
    struct Scaled {
        /// Slots: those of A, B, four of C and of D; with scales those of A, its byte and thread, and the same of B.
        slots: Words,
        /// Blocks of 16 bytes of k.
        blocks: u32,
        a: Format,
        b: Format,
        /// Two numbers in a byte.
        packed: bool,
        /// Scales along k; none if 0.
        scales: u32,
        /// Scales are powers of two.
        powers: bool,
    }
}

/// The numbers of a row of A or of a column of B.
fn line(ctx: &Ctx, slots: &[Slot], at: usize, format: Format, packed: bool) -> Vec<f32> {
    let words = slots.iter().flat_map(|slot| {
        let cells = ctx.cells::<u32>(*slot);
        [0, 1, 2, 3].map(|t| cells[4 * at + t])
    });
    let bytes = words.flat_map(u32::to_le_bytes);
    if packed {
        return bytes
            .flat_map(|byte| [e2m1(byte), e2m1(byte >> 4)])
            .collect();
    }
    bytes.map(|byte| format.of_byte(byte)).collect()
}

/// The scales of a row or column: the slots say where the bytes, the first byte and the thread are.
fn scales(
    ctx: &Ctx,
    op: &Micro<Scaled>,
    slots: &[Slot],
    lane: impl Fn(usize) -> usize,
) -> Vec<f64> {
    let first =
        |slot: Slot| ctx.cells::<u32>(slot)[ctx.mask.trailing_zeros() as usize & 31] as usize;
    let (byte, thread) = (first(slots[1]), first(slots[2]));
    let bytes = ctx.cells::<u32>(slots[0])[lane(thread) & 31].to_le_bytes();
    let all = (0..op.scales as usize).map(|at| scale(bytes[(byte + at) & 3], op.powers));
    all.collect()
}

struct Product;
impl Handler for Product {
    type Args = Scaled;
    fn run(ctx: &mut Ctx, op: &Micro<Scaled>) {
        let blocks = op.blocks as usize;
        let extra = if op.scales > 0 { 6 } else { 0 };
        let all = ctx.extra(op.slots, 3 * blocks + 8 + extra);
        let all: Vec<Slot> = all.iter().map(|slot| Slot(*slot)).collect();
        let (a, rest) = all.split_at(2 * blocks);
        let (b, rest) = rest.split_at(blocks);
        let (c, rest) = rest.split_at(4);
        let (d, by) = rest.split_at(4);
        let rows: Vec<(Vec<f32>, Vec<f64>)> = (0..16)
            .map(|row| {
                let slots: Vec<Slot> = a.iter().skip(row / 8).step_by(2).copied().collect();
                let numbers = line(ctx, &slots, row % 8, op.a, op.packed);
                let lane = |thread: usize| 4 * (row % 8) + 2 * (thread & 1) + row / 8;
                let by = by.get(..3).map(|by| scales(ctx, op, by, lane));
                (numbers, by.unwrap_or_default())
            })
            .collect();
        let columns: Vec<(Vec<f32>, Vec<f64>)> = (0..8)
            .map(|n| {
                let numbers = line(ctx, b, n, op.b, op.packed);
                let lane = |thread: usize| 4 * n + (thread & 3);
                let by = by.get(3..).filter(|by| !by.is_empty());
                let by = by.map(|by| scales(ctx, op, by, lane));
                (numbers, by.unwrap_or_default())
            })
            .collect();
        let mut out = [[0u32; 32]; 4];
        for (at, out) in out.iter_mut().enumerate() {
            let from = ctx.cells::<u32>(c[at]);
            for (lane, out) in out.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + at / 2 * 8, lane % 4 * 2 + at % 2);
                let sum = element(f32::from_bits(from[lane]), &rows[row], &columns[column]);
                *out = if sum.is_nan() { NAN } else { sum.to_bits() };
            }
        }
        for (slot, out) in d.iter().zip(out) {
            ctx.put_cells(*slot, out);
        }
    }
}

/// One element of D.
fn element(c: f32, row: &(Vec<f32>, Vec<f64>), column: &(Vec<f32>, Vec<f64>)) -> f32 {
    let each = row.0.len() / row.1.len().max(1);
    let mut sum = c;
    for (k, (a, b)) in row.0.iter().zip(&column.0).enumerate() {
        let by = match (row.1.get(k / each), column.1.get(k / each)) {
            (Some(a), Some(b)) => a * b,
            _ => 1.0,
        };
        // Both factors have a few bits: their product is exact.
        sum = (f64::from(sum) + f64::from(a * b) * by) as f32;
    }
    sum
}

fn format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::E4M3 => Format::E4m3,
        Type::E5M2 => Format::E5m2,
        Type::E3M2 => Format::E3m2,
        Type::E2M3 => Format::E2m3,
        Type::E2M1 => Format::E2m1,
        _ => return None,
    })
}

/// Lowers a product of such numbers.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    let types: Vec<Type> = inst.quals.types().collect();
    let (Some(a), Some(b)) = (format(types[1]), format(types[2])) else {
        return Err(l.unsupported(inst));
    };
    let packed = has(Qual::M16n8k64);
    let blocks = if has(Qual::M16n8k16) { 1 } else { 2 };
    let scales = match () {
        () if !has(Qual::BlockScale) => 0,
        () if has(Qual::ScaleVec4x) => 4,
        () if has(Qual::KindMxf8f6f4) => 1,
        () => 2,
    };
    let mut all = slots(l, inst, 1)?;
    all.extend(slots(l, inst, 2)?);
    all.extend(slots(l, inst, 3)?);
    all.extend(slots(l, inst, 0)?);
    if all.len() != 3 * blocks + 8 {
        return Err(l.unsupported(inst));
    }
    if scales > 0 {
        for at in [4, 6] {
            all.push(l.src32(operand(l, inst, at)?)?);
            for item in items(operand(l, inst, at + 1)?) {
                all.push(l.src32(item)?);
            }
        }
    }
    let words: Vec<u32> = all.iter().map(|slot| slot.0).collect();
    let args = Scaled {
        slots: l.extra(&words),
        blocks: blocks as u32,
        a,
        b,
        packed,
        scales,
        powers: types.last() == Some(&Type::UE8M0),
    };
    l.emit(l.cold::<Product>(args));
    Ok(())
}
