//! `mma.sync` on f64.

use super::super::{Ctx, Handler, Micro, Slot, Words, args, lane::one_nan};
use crate::build::Lowerer;

args! {
    struct Doubles {
        /// The slots of a, b, c and d.
        slots: Words,
    }
}

/// 8 rows for each of `HALVES`, k in `BLOCKS` blocks of 4. Registers: a of block j and half h at
/// `HALVES * j + h`, b of block j, c and d of half h at `2 * h`.
struct Product<const HALVES: usize, const BLOCKS: usize>;

impl<const HALVES: usize, const BLOCKS: usize> Handler for Product<HALVES, BLOCKS> {
    type Args = Doubles;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Doubles>) {
        let (a_len, b_len, c_len) = (HALVES * BLOCKS, BLOCKS, 2 * HALVES);
        let mut slots = [0; 20];
        let len = a_len + b_len + 2 * c_len;
        slots[..len].copy_from_slice(ctx.extra(op.slots, len));
        let slots = slots.map(Slot);
        let mut d = [[0u64; 32]; 4];
        for lane in 0..32 {
            let row = lane / 4;
            for (i, d) in d.iter_mut().enumerate().take(c_len) {
                let (half, n) = (i / 2, lane % 4 * 2 + i % 2);
                let mut sum = f64::from_bits(ctx.cells::<u64>(slots[a_len + b_len + i])[lane]);
                for k in 0..4 * BLOCKS {
                    let a = ctx.cells::<u64>(slots[k / 4 * HALVES + half])[row * 4 + k % 4];
                    let b = ctx.cells::<u64>(slots[a_len + k / 4])[n * 4 + k % 4];
                    sum = f64::from_bits(a).mul_add(f64::from_bits(b), sum);
                }
                d[lane] = one_nan(sum);
            }
        }
        for (i, d) in d.iter().enumerate().take(c_len) {
            ctx.put_cells(slots[a_len + b_len + c_len + i], *d);
        }
    }
}

/// Emits a product of `halves` times 8 rows and `blocks` times 4 k; `false` if there is no such.
pub(super) fn emit(l: &mut Lowerer, halves: usize, blocks: usize, slots: &[Slot]) -> bool {
    if !matches!((halves, blocks), (1, 1) | (2, 1 | 2 | 4)) {
        return false;
    }
    let words: Vec<u32> = slots.iter().map(|slot| slot.0).collect();
    let args = Doubles {
        slots: l.extra(&words),
    };
    let op = match (halves, blocks) {
        (1, _) => l.op::<Product<1, 1>>(args),
        (_, 1) => l.op::<Product<2, 1>>(args),
        (_, 2) => l.op::<Product<2, 2>>(args),
        _ => l.op::<Product<2, 4>>(args),
    };
    l.emit(op);
    true
}
