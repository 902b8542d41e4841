//! `mma.sync` on 4-bit integers: fragments as those of 8-bit ones, with two elements in each byte, the lower first.

use super::{
    super::{Ctx, Handler, Micro, lane::lanes},
    Frags, Integers, Signs,
    int::{self, Bytes, Loops},
    tile::{Lanes, Sums},
};
use crate::build::Lowerer;

/// The four elements of each cell from bit `shift` of their bytes on, as bytes.
#[inline(always)]
fn widen(cells: &Lanes, shift: u32, signed: bool) -> Lanes {
    lanes(|i| {
        let low = cells[i] >> shift & 0x0F0F_0F0F;
        // A sign bit is copied to the four above it; no byte reaches into the next.
        let above = (low & 0x0808_0808) * 0x1E;
        if signed { low | above } else { low }
    })
}

/// `D = A B + C`.
struct Product<const HALVES: usize, const BLOCKS: usize>;

impl<const HALVES: usize, const BLOCKS: usize> Handler for Product<HALVES, BLOCKS> {
    type Args = Integers;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Integers>) {
        let frags = Frags::read(ctx, op.frags);
        let signed = [op.signed_a, op.signed_b];
        let signs = signed.map(|signed| if signed { 0x80 } else { 0 });
        let mut d: Sums = [[0; 32]; 4];
        for shift in [0, 4] {
            let a = frags.a.map(|slot| widen(ctx.cells(slot), shift, signed[0]));
            let b = frags.b.map(|slot| widen(ctx.cells(slot), shift, signed[1]));
            let mut part = [[0; 32]; 4];
            Loops::dots::<HALVES, BLOCKS>(a.each_ref(), b.each_ref(), signs, &mut part);
            for (d, part) in d.as_flattened_mut().iter_mut().zip(part.as_flattened()) {
                *d = d.wrapping_add(*part);
            }
        }
        int::finish(ctx, op.saturates, &frags, d, 2 * HALVES);
    }
}

/// Emits a product of `halves` times 8 rows and `blocks` times 32 k.
pub(super) fn emit(l: &mut Lowerer, halves: usize, blocks: usize, signs: Signs, frags: &Frags) {
    let args = signs.args(l.extra(&frags.words()));
    let op = match (halves, blocks) {
        (1, _) => l.cold::<Product<1, 1>>(args),
        (_, 1) => l.cold::<Product<2, 1>>(args),
        (_, _) => l.cold::<Product<2, 2>>(args),
    };
    l.emit(op);
}
