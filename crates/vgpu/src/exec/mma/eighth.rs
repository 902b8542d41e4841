//! `mma.sync` on 8-bit floats.

use super::{
    super::{Ctx, Handler, Micro, Slot, Words, args},
    Frags,
    small::{e4m3, e5m2},
    tile::NAN,
};
use crate::build::Lowerer;

args! {
    struct Eighths {
        /// As [`Frags`] has them.
        frags: Words,
        /// Which operands are `.e5m2`; the others are `.e4m3`.
        a_is_e5m2: bool,
        b_is_e5m2: bool,
    }
}

/// 16 rows and 32 k.
struct Product;

impl Handler for Product {
    type Args = Eighths;
    fn run(ctx: &mut Ctx, op: &Micro<Eighths>) {
        let frags = Frags::read(ctx, op.frags);
        let value = |is_e5m2| if is_e5m2 { e5m2 } else { e4m3 };
        let (a_value, b_value) = (value(op.a_is_e5m2), value(op.b_is_e5m2));
        // Row or column `i` of block `k / 16` begins at lane `4 * i`.
        let byte = |slot: Slot, i: usize, k: usize| {
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

/// Emits a product; whether A and B are `.e5m2`.
pub(super) fn emit(l: &mut Lowerer, [a_is_e5m2, b_is_e5m2]: [bool; 2], frags: &Frags) {
    let args = Eighths {
        frags: l.extra(&frags.words()),
        a_is_e5m2,
        b_is_e5m2,
    };
    l.emit(l.cold::<Product>(args));
}
