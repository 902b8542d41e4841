//! Products of f16 and bf16 tiles with AVX-512, bit for bit those of the portable code: the same chains of
//! multiply-adds, for four rows of four columns at a time.
//!
//! An accumulator register lies in memory as 8 rows of 4 columns: half of it is a vector as it is. Of A each
//! element is needed four times side by side; that is arranged once when a fragment is widened, and used for each
//! fragment of B. The four columns of B are repeated by the load.
#![allow(unsafe_code)]

use super::{
    native::{Bf16, F16, Widen},
    tile::{COLUMNS, Engine, Lanes, NAN, Pairs, Spread, TileB, Tiles},
};
use std::{arch::x86_64::*, marker::PhantomData};

/// Rows of E.
pub(super) struct Wide<E>(PhantomData<E>);
/// Rows of f16.
pub(super) type WideF16 = Wide<F16>;
/// Rows of bf16.
pub(super) type WideBf16 = Wide<Bf16>;

impl<E: Widen> Engine for Wide<E> {
    const PER_BLOCK: usize = 8;
    type A = Spread;
    type Acc = [__m512; 8];

    #[inline(always)]
    fn tiles(tiles: &mut Tiles) -> (&mut [Spread], &mut [TileB]) {
        (&mut tiles.spread, &mut tiles.b)
    }

    #[inline(always)]
    fn widen_a<const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut Spread) {
        // SAFETY: only handlers of the AVX-512 tier use this engine.
        unsafe { spread::<E, BLOCKS>(regs, tile) }
    }

    #[inline(always)]
    fn widen_b<const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB) {
        // SAFETY: as above.
        unsafe { widen_b::<E, BLOCKS>(regs, tile) }
    }

    #[inline(always)]
    fn load(c: [&Lanes; 4]) -> [__m512; 8] {
        // SAFETY: as above.
        unsafe { load(c) }
    }

    #[inline(always)]
    fn multiply<const N: usize>(
        depth: usize,
        pairs: [Pairs<'_, Spread>; N],
        acc: &mut [[__m512; 8]; N],
    ) {
        // SAFETY: as above.
        unsafe {
            if depth == 16 {
                products::<16, N>(pairs, acc);
            } else {
                products::<8, N>(pairs, acc);
            }
        }
    }

    #[inline(always)]
    fn store(acc: &[__m512; 8], d: [&mut Lanes; 4]) {
        // SAFETY: as above.
        unsafe { store(acc, d) }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx2,f16c")]
#[inline]
unsafe fn spread<E: Widen, const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut Spread) {
    for (i, reg) in regs.iter().enumerate().take(2 * BLOCKS) {
        for quad in 0..2 {
            // Four rows of 8 elements: elements 0 to 3 of each row, then 4 to 7.
            let fours = {
                // SAFETY: a register has 8 rows of 16 bytes; the caller's CPU features.
                let [first, second] = [0, 1].map(|two| unsafe {
                    let at = reg.as_ptr().cast::<__m256i>().add(2 * quad + two);
                    E::widen_16(_mm256_loadu_si256(at))
                });
                [
                    _mm512_shuffle_f32x4::<0b10_00_10_00>(first, second),
                    _mm512_shuffle_f32x4::<0b11_01_11_01>(first, second),
                ]
            };
            let (k, quad) = (i / 2 * 8, i % 2 * 2 + quad);
            for (f, four) in fours.into_iter().enumerate() {
                let each = [
                    _mm512_permute_ps::<0x00>(four),
                    _mm512_permute_ps::<0x55>(four),
                    _mm512_permute_ps::<0xAA>(four),
                    _mm512_permute_ps::<0xFF>(four),
                ];
                for (e, each) in each.into_iter().enumerate() {
                    let to = &mut tile.0[k + 4 * f + e][quad];
                    // SAFETY: 16 values.
                    unsafe { _mm512_storeu_ps(to.as_mut_ptr(), each) };
                }
            }
        }
    }
}

/// For elements `4 * HALF` to `4 * HALF + 3` of a register's 8 columns, which words of it they are, with k outside.
const fn words_of(half: usize) -> [u16; 32] {
    let mut words = [0; 32];
    let mut i = 0;
    while i < 32 {
        words[i] = (COLUMNS[i % 8] * 8 + 4 * half + i / 8) as u16;
        i += 1;
    }
    words
}

const WORDS: [[u16; 32]; 2] = [words_of(0), words_of(1)];

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn widen_b<E: Widen, const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB) {
    for (block, reg) in regs.into_iter().enumerate().take(BLOCKS) {
        // SAFETY: a register has two pieces of 64 bytes, and a table of words one; the caller's CPU features.
        unsafe {
            let at = reg.as_ptr().cast::<__m512i>();
            let (low, high) = (_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1)));
            for (half, words) in WORDS.iter().enumerate() {
                let words = _mm512_loadu_si512(words.as_ptr().cast());
                let fours = _mm512_permutex2var_epi16(low, words, high);
                let rows = [
                    _mm512_castsi512_si256(fours),
                    _mm512_extracti64x4_epi64::<1>(fours),
                ];
                for (two, rows) in rows.into_iter().enumerate() {
                    let to = tile.0[8 * block + 4 * half + 2 * two..].as_mut_ptr();
                    _mm512_storeu_ps(to.cast(), E::widen_16(rows));
                }
            }
        }
    }
}

/// Where accumulator `i` is: four rows of the even or of the odd columns.
#[inline(always)]
fn place(i: usize) -> (usize, usize) {
    let (quad, odd) = (i / 2, i % 2);
    (quad / 2 * 2 + odd, 16 * (quad % 2))
}

#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load(c: [&Lanes; 4]) -> [__m512; 8] {
    let mut acc = [_mm512_setzero_ps(); 8];
    for (i, acc) in acc.iter_mut().enumerate() {
        let (reg, at) = place(i);
        // SAFETY: `at + 16 <= 32`.
        *acc = unsafe { _mm512_loadu_ps(c[reg][at..at + 16].as_ptr().cast()) };
    }
    acc
}

/// Each element of A is loaded once for all sums, each of B once for four rows: two sums have twice as many
/// multiply-adds as loads.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn products<const DEPTH: usize, const N: usize>(
    pairs: [Pairs<'_, Spread>; N],
    acc: &mut [[__m512; 8]; N],
) {
    let mut sums = *acc;
    for at in 0..pairs[0].numbers.len() {
        let (a, _) = pairs[0].pair(at);
        let b: [&TileB; N] = std::array::from_fn(|n| pairs[n].pair(at).1);
        for k in 0..DEPTH {
            let mut y = [[_mm512_setzero_ps(); 2]; N];
            for (y, b) in y.iter_mut().zip(b) {
                let row = b.0[k].as_ptr();
                // SAFETY: a row of the tile has 8 values.
                unsafe {
                    y[0] = _mm512_broadcast_f32x4(_mm_loadu_ps(row));
                    y[1] = _mm512_broadcast_f32x4(_mm_loadu_ps(row.add(4)));
                }
            }
            for (quad, x) in a.0[k].iter().enumerate() {
                // SAFETY: 16 values.
                let x = unsafe { _mm512_loadu_ps(x.as_ptr()) };
                for (sums, y) in sums.iter_mut().zip(&y) {
                    for (odd, y) in y.iter().enumerate() {
                        let sum = &mut sums[2 * quad + odd];
                        *sum = _mm512_fmadd_ps(x, *y, *sum);
                    }
                }
            }
        }
    }
    *acc = sums;
}

#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn store(acc: &[__m512; 8], d: [&mut Lanes; 4]) {
    let mut acc = *acc;
    let any_nan = acc.iter().fold(0, |any, acc| {
        any | _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(*acc, *acc)
    });
    if any_nan != 0 {
        let nan = _mm512_castsi512_ps(_mm512_set1_epi32(NAN as i32));
        for acc in &mut acc {
            let unordered = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(*acc, *acc);
            *acc = _mm512_mask_blend_ps(unordered, *acc, nan);
        }
    }
    for (i, acc) in acc.into_iter().enumerate() {
        let (reg, at) = place(i);
        // SAFETY: `at + 16 <= 32`.
        unsafe { _mm512_storeu_ps(d[reg][at..at + 16].as_mut_ptr().cast(), acc) };
    }
}
