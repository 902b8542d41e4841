//! Fragments of float matrices as tiles of f32, and their product in portable code.

use super::super::half;
pub(super) use crate::op::{Spread, TileA, TileB, Tiles};

/// A register of a fragment across the warp.
pub(super) type Lanes = [u32; 32];
/// The four registers of an accumulator: columns 2t and 2t+1 of rows 0 to 7, then of rows 8 to 15.
pub(super) type Sums = [Lanes; 4];

/// The columns of a [`TileB`] row.
pub(super) const COLUMNS: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];
/// The bits of every NaN that comes out.
pub(in crate::exec) const NAN: u32 = 0x7FFF_FFFF;

/// How the elements of A and B become f32 and are multiplied.
pub(super) trait Engine: 'static {
    /// Elements in 16 bytes of a row.
    const PER_BLOCK: usize;
    /// A fragment of A, widened.
    type A;
    /// Four accumulator registers while they are summed up.
    type Acc;
    /// The context's fragments of A, and of B.
    fn tiles(tiles: &mut Tiles) -> (&mut [Self::A], &mut [TileB]);
    /// Widens `BLOCKS` pairs of registers: rows 0 to 7, then 8 to 15 of each block.
    fn widen_a<const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut Self::A);
    /// Widens `BLOCKS` registers.
    fn widen_b<const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB);
    /// Takes up C.
    fn load(c: [&Lanes; 4]) -> Self::Acc;
    /// `acc += a * b` over `depth` k of one pair of fragments after the other, for `N` sums with the same fragments
    /// of A.
    fn multiply<const N: usize>(
        depth: usize,
        pairs: [Pairs<'_, Self::A>; N],
        acc: &mut [Self::Acc; N],
    );
    /// Lays down D, its NaN as [`NAN`].
    fn store(acc: &Self::Acc, d: [&mut Lanes; 4]);
}

/// The numbers of up to four pairs of fragments: in one word, which a processor keeps in a register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    word: u64,
    len: u32,
}

impl Numbers {
    /// One more pair, of numbers below 256.
    #[inline(always)]
    pub(super) fn push(&mut self, a: usize, b: usize) {
        let pair = (a | b << 8) as u64;
        self.word |= pair << (16 * self.len);
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn len(self) -> usize {
        self.len as usize
    }

    #[inline(always)]
    pub(super) fn at(self, i: usize) -> (usize, usize) {
        let pair = (self.word >> (16 * i)) as usize;
        (pair & 0xFF, pair >> 8 & 0xFF)
    }
}

/// Pairs of fragments whose products have one sum, by their numbers among all.
#[derive(Debug)]
pub(super) struct Pairs<'a, A> {
    pub(super) a: &'a [A],
    pub(super) b: &'a [TileB],
    pub(super) numbers: Numbers,
}

impl<A> Clone for Pairs<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Pairs<'_, A> {}

impl<'a, A> Pairs<'a, A> {
    /// Pair `i`.
    #[inline(always)]
    pub(super) fn pair(self, i: usize) -> (&'a A, &'a TileB) {
        let (a, b) = self.numbers.at(i);
        (&self.a[a], &self.b[b])
    }

    /// Them.
    #[inline(always)]
    pub(super) fn each(self) -> impl Iterator<Item = (&'a A, &'a TileB)> {
        (0..self.numbers.len()).map(move |i| self.pair(i))
    }
}

/// An element type of A and B.
pub(super) trait Element: 'static {
    /// Elements in 16 bytes.
    const PER_BLOCK: usize;
    /// Element `i` of 16 bytes.
    fn widen(block: &[u32; 4], i: usize) -> f32;
}

/// One step of an accumulation: `x * y + sum` with one rounding.
pub(super) trait Step: 'static {
    /// The step.
    fn step(x: f32, y: f32, sum: f32) -> f32;
}

/// Rows of f16.
pub(super) struct F16;
/// Rows of bf16.
pub(super) struct Bf16;
/// Rows of tf32: f32 of which the low 13 bits are not read.
pub(super) struct Tf32;

#[inline(always)]
fn half_of(block: &[u32; 4], i: usize) -> u16 {
    (block[i / 2] >> (16 * (i % 2))) as u16
}

impl Element for F16 {
    const PER_BLOCK: usize = 8;
    #[inline(always)]
    fn widen(block: &[u32; 4], i: usize) -> f32 {
        half::F16(half_of(block, i)).to_f32()
    }
}

impl Element for Bf16 {
    const PER_BLOCK: usize = 8;
    #[inline(always)]
    fn widen(block: &[u32; 4], i: usize) -> f32 {
        half::Bf16(half_of(block, i)).to_f32()
    }
}

impl Element for Tf32 {
    const PER_BLOCK: usize = 4;
    #[inline(always)]
    fn widen(block: &[u32; 4], i: usize) -> f32 {
        f32::from_bits(block[i] & 0xFFFF_E000)
    }
}

/// The CPU's own fused multiply-add.
pub(super) struct Fused;
/// A product and a sum. The bits of a fused step where the product is exact, as it is for f16.
pub(super) struct Apart;
/// In f64, where the product of two numbers of 11 bits is exact. The sum has two terms of at most 24 bits,
/// so that rounding it to 53 bits first changes nothing (53 >= 2 * 24 + 2).
pub(super) struct Double;

impl Step for Fused {
    #[inline(always)]
    fn step(x: f32, y: f32, sum: f32) -> f32 {
        x.mul_add(y, sum)
    }
}

impl Step for Apart {
    #[inline(always)]
    fn step(x: f32, y: f32, sum: f32) -> f32 {
        x * y + sum
    }
}

impl Step for Double {
    #[inline(always)]
    fn step(x: f32, y: f32, sum: f32) -> f32 {
        (f64::from(x) * f64::from(y) + f64::from(sum)) as f32
    }
}

/// Plain loops.
pub(super) struct Portable<E, S>(std::marker::PhantomData<(E, S)>);

impl<E: Element, S: Step> Engine for Portable<E, S> {
    const PER_BLOCK: usize = E::PER_BLOCK;
    type A = TileA;
    type Acc = Sums;

    #[inline(always)]
    fn tiles(tiles: &mut Tiles) -> (&mut [TileA], &mut [TileB]) {
        (&mut tiles.a, &mut tiles.b)
    }

    #[inline(always)]
    fn widen_a<const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut TileA) {
        for (i, reg) in regs.iter().enumerate().take(2 * BLOCKS) {
            let (rows, at) = (8 * (i % 2), i / 2 * E::PER_BLOCK);
            for (r, block) in reg.as_chunks::<4>().0.iter().enumerate() {
                for e in 0..E::PER_BLOCK {
                    tile.0[rows + r][at + e] = E::widen(block, e);
                }
            }
        }
    }

    #[inline(always)]
    fn widen_b<const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB) {
        for (i, reg) in regs.iter().enumerate().take(BLOCKS) {
            let rows = reg.as_chunks::<4>().0;
            for e in 0..E::PER_BLOCK {
                for (j, column) in COLUMNS.iter().enumerate() {
                    tile.0[i * E::PER_BLOCK + e][j] = E::widen(&rows[*column], e);
                }
            }
        }
    }

    #[inline(always)]
    fn load(c: [&Lanes; 4]) -> Sums {
        c.map(|c| *c)
    }

    #[inline(always)]
    fn multiply<const N: usize>(depth: usize, pairs: [Pairs<'_, TileA>; N], acc: &mut [Sums; N]) {
        for (pairs, sums) in pairs.into_iter().zip(acc) {
            for rows in 0..4 {
                let at = rows % 2 * 16;
                let pair = rows / 2 * 2;
                let mut acc = [[0f32; 8]; 4];
                for (r, acc) in acc.iter_mut().enumerate() {
                    for j in 0..4 {
                        acc[j] = f32::from_bits(sums[pair][at + 4 * r + j]);
                        acc[4 + j] = f32::from_bits(sums[pair + 1][at + 4 * r + j]);
                    }
                }
                for (a, b) in pairs.each() {
                    for k in 0..depth {
                        let y = &b.0[k];
                        for (r, acc) in acc.iter_mut().enumerate() {
                            let x = a.0[4 * rows + r][k];
                            for j in 0..8 {
                                acc[j] = S::step(x, y[j], acc[j]);
                            }
                        }
                    }
                }
                for (r, acc) in acc.iter().enumerate() {
                    for j in 0..4 {
                        sums[pair][at + 4 * r + j] = bits(acc[j]);
                        sums[pair + 1][at + 4 * r + j] = bits(acc[4 + j]);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn store(acc: &Sums, d: [&mut Lanes; 4]) {
        for (d, acc) in d.into_iter().zip(acc) {
            *d = *acc;
        }
    }
}

/// The bits of a result.
#[inline(always)]
pub(super) fn bits(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}
