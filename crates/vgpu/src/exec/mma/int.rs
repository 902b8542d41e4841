//! `mma.sync` on 8-bit integers.

use super::{
    super::{Ctx, Handler, MicroOp},
    Frags,
    tile::{COLUMNS, Lanes},
};
use crate::lower::Lowerer;

/// Bits of an op's `imm`.
pub(super) mod flags {
    /// A is `.s8`.
    pub(in super::super) const SIGNED_A: u64 = 1;
    /// B is `.s8`.
    pub(in super::super) const SIGNED_B: u64 = 2;
    /// `.satfinite`: the sum is clamped once.
    pub(in super::super) const SATURATE: u64 = 4;
}

/// 8 rows for each of `HALVES`, k in `BLOCKS` blocks of 16. Slots as in [`Frags`] at `aux`, [`flags`] in `imm`.
struct Product<const HALVES: usize, const BLOCKS: usize>;

/// The 16 bytes of a row as i16; `sign` is the weight of a sign bit, or 0.
#[inline(always)]
fn widen(row: &[u32; 4], sign: u16) -> [i16; 16] {
    let mut out = [0; 16];
    for (i, word) in row.iter().enumerate() {
        for (j, byte) in word.to_le_bytes().into_iter().enumerate() {
            out[4 * i + j] = (u16::from(byte) ^ sign).wrapping_sub(sign) as i16;
        }
    }
    out
}

impl<const HALVES: usize, const BLOCKS: usize> Handler for Product<HALVES, BLOCKS> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let frags = Frags::read(ctx, op.aux);
        let sign = |flag| if op.imm & flag != 0 { 0x80 } else { 0 };
        let (sign_a, sign_b) = (sign(flags::SIGNED_A), sign(flags::SIGNED_B));
        // k in pairs outside, then the columns in the order of the accumulator registers.
        let mut y = [[[0i16; 2]; 8]; 16];
        for block in 0..BLOCKS {
            let rows = ctx.cells::<u32>(frags.b[block]).as_chunks::<4>().0;
            for (j, column) in COLUMNS.iter().enumerate() {
                let wide = widen(&rows[*column], sign_b);
                for (k, pair) in wide.as_chunks::<2>().0.iter().enumerate() {
                    y[8 * block + k][j] = *pair;
                }
            }
        }
        let mut d: [Lanes; 4] = [[0; 32]; 4];
        for half in 0..HALVES {
            let (even, odd) = (2 * half, 2 * half + 1);
            let c = [
                ctx.cells::<u32>(frags.c[even]),
                ctx.cells::<u32>(frags.c[odd]),
            ];
            let a: [&Lanes; BLOCKS] =
                std::array::from_fn(|block| ctx.cells(frags.a[block * HALVES + half]));
            for row in 0..8 {
                let mut acc = [0i32; 8];
                for (block, a) in a.iter().enumerate() {
                    let x = widen(&a.as_chunks::<4>().0[row], sign_a);
                    for (k, pair) in x.as_chunks::<2>().0.iter().enumerate() {
                        let y = &y[8 * block + k];
                        for j in 0..8 {
                            acc[j] += i32::from(pair[0]) * i32::from(y[j][0])
                                + i32::from(pair[1]) * i32::from(y[j][1]);
                        }
                    }
                }
                for j in 0..4 {
                    let at = 4 * row + j;
                    d[even][at] = acc[j] as u32;
                    d[odd][at] = acc[4 + j] as u32;
                }
            }
            for (d, c) in d[even..].iter_mut().zip(c) {
                for (d, c) in d.iter_mut().zip(c) {
                    let (dot, sum) = (*d as i32, *c as i32);
                    let clamped = dot.saturating_add(sum);
                    let wrapped = dot.wrapping_add(sum);
                    *d = if op.imm & flags::SATURATE != 0 {
                        clamped
                    } else {
                        wrapped
                    } as u32;
                }
            }
        }
        for (i, d) in d.iter().enumerate().take(2 * HALVES) {
            ctx.put_cells(frags.d[i], *d);
        }
    }
}

/// Emits a product of `halves` times 8 rows and `blocks` times 16 k.
pub(super) fn emit(l: &mut Lowerer, halves: usize, blocks: usize, flags: u64, frags: &Frags) {
    let op = match (halves, blocks) {
        (1, _) => l.op::<Product<1, 1>>(),
        (_, 1) => l.op::<Product<2, 1>>(),
        (_, _) => l.op::<Product<2, 2>>(),
    };
    let aux = l.extra(&frags.words());
    l.emit(MicroOp {
        aux,
        imm: flags,
        ..op
    });
}
