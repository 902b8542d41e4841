//! `mma.sync` on 8-bit integers.

use super::{
    super::{Ctx, Handler, Micro},
    Frags, Integers, Signs,
    tile::{COLUMNS, Lanes, Sums},
};
use crate::build::Lowerer;
use std::marker::PhantomData;

/// How dot products of bytes are found.
pub(super) trait Bytes: 'static {
    /// The dot products of 8 rows for each of `HALVES` with k in `BLOCKS` blocks of 16, exact. `signs` are the
    /// weights of the sign bits of A and B, or 0.
    fn dots<const HALVES: usize, const BLOCKS: usize>(
        a: [&Lanes; 4],
        b: [&Lanes; 2],
        signs: [u16; 2],
        d: &mut Sums,
    );
}

/// Plain loops.
pub(super) struct Loops;

/// The 16 bytes of a row as i16.
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

impl Bytes for Loops {
    #[inline(always)]
    fn dots<const HALVES: usize, const BLOCKS: usize>(
        a: [&Lanes; 4],
        b: [&Lanes; 2],
        signs: [u16; 2],
        d: &mut Sums,
    ) {
        // k outside, then the columns in the order of the accumulator registers.
        let mut y = [[0i16; 8]; 32];
        for (block, b) in b.iter().enumerate().take(BLOCKS) {
            let rows = b.as_chunks::<4>().0;
            for (j, column) in COLUMNS.iter().enumerate() {
                for (k, value) in widen(&rows[*column], signs[1]).into_iter().enumerate() {
                    y[16 * block + k][j] = value;
                }
            }
        }
        for half in 0..HALVES {
            for row in 0..8 {
                let mut acc = [0i32; 8];
                for block in 0..BLOCKS {
                    let x = widen(&a[block * HALVES + half].as_chunks::<4>().0[row], signs[0]);
                    for (x, y) in x.iter().zip(&y[16 * block..]) {
                        for (acc, y) in acc.iter_mut().zip(y) {
                            *acc += i32::from(*x) * i32::from(*y);
                        }
                    }
                }
                for j in 0..4 {
                    d[2 * half][4 * row + j] = acc[j] as u32;
                    d[2 * half + 1][4 * row + j] = acc[4 + j] as u32;
                }
            }
        }
    }
}

/// `D = A B + C`.
struct Product<B, const HALVES: usize, const BLOCKS: usize>(PhantomData<B>);

impl<B: Bytes, const HALVES: usize, const BLOCKS: usize> Handler for Product<B, HALVES, BLOCKS> {
    type Args = Integers;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Integers>) {
        let frags = Frags::read(ctx, op.frags);
        let signs = [op.signed_a, op.signed_b].map(|signed| if signed { 0x80 } else { 0 });
        let mut d = [[0; 32]; 4];
        let (a, b) = (
            frags.a.map(|slot| ctx.cells(slot)),
            frags.b.map(|slot| ctx.cells(slot)),
        );
        B::dots::<HALVES, BLOCKS>(a, b, signs, &mut d);
        finish(ctx, op.saturates, &frags, d, 2 * HALVES);
    }
}

/// Adds C to `count` registers of dot products, clamped once if asked for, and lays down D.
#[inline(always)]
pub(super) fn finish(ctx: &mut Ctx, saturates: bool, frags: &Frags, mut dots: Sums, count: usize) {
    // All of C is read before D is written: they may share registers, in any order.
    for (i, d) in dots.iter_mut().enumerate().take(count) {
        let c = ctx.cells::<u32>(frags.c[i]);
        for (d, c) in d.iter_mut().zip(c) {
            let (dot, sum) = (*d as i32, *c as i32);
            let (clamped, wrapped) = (dot.saturating_add(sum), dot.wrapping_add(sum));
            *d = if saturates { clamped } else { wrapped } as u32;
        }
    }
    for (slot, d) in frags.d.into_iter().zip(dots).take(count) {
        ctx.put_cells(slot, d);
    }
}

/// Emits a product of `halves` times 8 rows and `blocks` times 16 k.
pub(super) fn emit<B: Bytes>(
    l: &mut Lowerer,
    halves: usize,
    blocks: usize,
    signs: Signs,
    frags: &Frags,
) {
    let args = signs.args(l.extra(&frags.words()));
    let op = match (halves, blocks) {
        (1, _) => l.op::<Product<B, 1, 1>>(args),
        (_, 1) => l.op::<Product<B, 2, 1>>(args),
        (_, _) => l.op::<Product<B, 2, 2>>(args),
    };
    l.emit(op);
}
