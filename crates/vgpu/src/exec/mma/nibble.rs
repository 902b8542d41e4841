//! `mma.sync` on 4-bit integers: fragments as those of 8-bit ones, with two elements in each byte, the lower first.

use super::{
    super::{Ctx, Handler, MicroOp, lane::lanes},
    Frags,
    int::{self, Bytes, Loops, flags},
    tile::{Lanes, Sums},
};
use crate::lower::Lowerer;

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

/// Slots as in [`Frags`] at `aux`, [`flags`] in `imm`.
struct Product<const HALVES: usize, const BLOCKS: usize>;

impl<const HALVES: usize, const BLOCKS: usize> Handler for Product<HALVES, BLOCKS> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let frags = Frags::read(ctx, op.aux);
        let signed = [flags::SIGNED_A, flags::SIGNED_B].map(|flag| op.imm & flag != 0);
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
        int::finish(ctx, op, &frags, d, 2 * HALVES);
    }
}

/// Emits a product of `halves` times 8 rows and `blocks` times 32 k.
pub(super) fn emit(l: &mut Lowerer, halves: usize, blocks: usize, flags: u64, frags: &Frags) {
    let op = match (halves, blocks) {
        (1, _) => l.cold::<Product<1, 1>>(),
        (_, 1) => l.cold::<Product<2, 1>>(),
        (_, _) => l.cold::<Product<2, 2>>(),
    };
    let aux = l.extra(&frags.words());
    l.emit(MicroOp {
        aux,
        imm: flags,
        ..op
    });
}
