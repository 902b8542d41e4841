//! `mma.sync` on 8-bit floats.

use super::{
    super::{Ctx, Handler, MicroOp, half::F16},
    Frags,
    tile::NAN,
};
use crate::lower::Lowerer;

/// Bits of an op's `imm`: which operands are `.e5m2`; the others are `.e4m3`.
pub(super) const A_IS_E5M2: u64 = 1;
pub(super) const B_IS_E5M2: u64 = 2;

/// 4 bits of exponent, 3 of fraction; no infinity.
fn e4m3(byte: u8) -> f32 {
    let (exponent, fraction) = (u32::from(byte >> 3 & 15), u32::from(byte & 7));
    let size = match (exponent, fraction) {
        (15, 7) => f32::NAN,
        (0, _) => fraction as f32 / 512.0,
        _ => f32::from_bits((exponent + 120) << 23 | fraction << 20),
    };
    if byte & 0x80 != 0 { -size } else { size }
}

/// The upper byte of an f16.
fn e5m2(byte: u8) -> f32 {
    F16(u16::from(byte) << 8).to_f32()
}

/// 16 rows and 32 k. Slots as in [`Frags`] at `aux`, the formats in `imm`.
struct Product;

impl Handler for Product {
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let frags = Frags::read(ctx, op.aux);
        let value = |flag| {
            if op.imm & flag != 0 { e5m2 } else { e4m3 }
        };
        let (a_value, b_value) = (value(A_IS_E5M2), value(B_IS_E5M2));
        // Row or column `i` of block `k / 16` begins at lane `4 * i`.
        let byte = |slot: u32, i: usize, k: usize| {
            ctx.cells::<u32>(slot)[4 * i + k % 16 / 4].to_le_bytes()[k % 4]
        };
        let mut d = [[0; 32]; 4];
        for (i, d) in d.iter_mut().enumerate() {
            let c = ctx.cells::<u32>(frags.c[i]);
            for (lane, d) in d.iter_mut().enumerate() {
                let (row, column) = (lane / 4, lane % 4 * 2 + i % 2);
                let mut sum = f32::from_bits(c[lane]);
                for k in 0..32 {
                    let a = a_value(byte(frags.a[k / 16 * 2 + i / 2], row, k));
                    let b = b_value(byte(frags.b[k / 16], column, k));
                    // The product of so few bits is exact: this is a fused multiply-add.
                    sum += a * b;
                }
                *d = if sum.is_nan() { NAN } else { sum.to_bits() };
            }
        }
        for (slot, d) in frags.d.into_iter().zip(d) {
            ctx.put_cells(slot, d);
        }
    }
}

/// Emits a product.
pub(super) fn emit(l: &mut Lowerer, formats: u64, frags: &Frags) {
    let aux = l.extra(&frags.words());
    l.emit(MicroOp {
        aux,
        imm: formats,
        ..l.cold::<Product>()
    });
}
