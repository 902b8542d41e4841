//! Products of f16 and bf16 tiles with AVX-512, bit for bit those of the portable code: the same chains of
//! multiply-adds, for four rows of four columns at a time.
//!
//! An accumulator register lies in memory as 8 rows of 4 columns: half of it is a vector as it is. Of A each
//! element is needed four times side by side; that is arranged once when a fragment is widened, and used for each
//! fragment of B. The four columns of B are repeated by the load.
#![allow(unsafe_code)]

use super::{
    float::Tiles,
    native::{Bf16, F16, Widen, widen_b},
    tile::{Engine, Lanes, NAN, Pairs, Spread, Sums, TileB},
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
    fn multiply(depth: usize, pairs: Pairs<'_, Spread>, c: [&Lanes; 4], d: &mut Sums) {
        // SAFETY: as above.
        unsafe {
            if depth == 16 {
                rows::<16>(pairs, c, d);
            } else {
                rows::<8>(pairs, c, d);
            }
        }
    }
}

/// Rows `4 * quad` to `4 * quad + 3` of a register: 8 elements each, as f32: elements 0 to 3, then 4 to 7.
#[target_feature(enable = "avx512f,avx2,f16c")]
#[inline]
unsafe fn widen_rows<E: Widen>(reg: &Lanes, quad: usize) -> [__m512; 2] {
    // SAFETY: a register has 8 rows of 16 bytes; the caller's CPU features.
    unsafe {
        let at = reg.as_ptr().cast::<__m128i>().add(4 * quad);
        let row = |r: usize| E::widen(_mm_loadu_si128(at.add(r)));
        let two = |r: usize| {
            let low = _mm512_castps256_ps512(row(r));
            _mm512_insertf32x8::<1>(low, row(r + 1))
        };
        let (first, second) = (two(0), two(2));
        [
            _mm512_shuffle_f32x4::<0b10_00_10_00>(first, second),
            _mm512_shuffle_f32x4::<0b11_01_11_01>(first, second),
        ]
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx2,f16c")]
#[inline]
unsafe fn spread<E: Widen, const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut Spread) {
    for (i, reg) in regs.iter().enumerate().take(2 * BLOCKS) {
        for quad in 0..2 {
            // SAFETY: the caller's CPU features.
            let fours = unsafe { widen_rows::<E>(reg, quad) };
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

/// Where accumulator `i` is: four rows of the even or of the odd columns.
#[inline(always)]
fn place(i: usize) -> (usize, usize) {
    let (quad, odd) = (i / 2, i % 2);
    (quad / 2 * 2 + odd, 16 * (quad % 2))
}

#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn rows<const DEPTH: usize>(pairs: Pairs<'_, Spread>, c: [&Lanes; 4], d: &mut Sums) {
    let mut acc = [_mm512_setzero_ps(); 8];
    for (i, acc) in acc.iter_mut().enumerate() {
        let (reg, at) = place(i);
        // SAFETY: `at + 16 <= 32`.
        *acc = unsafe { _mm512_loadu_ps(c[reg][at..at + 16].as_ptr().cast()) };
    }
    for (a, b) in pairs.each() {
        for k in 0..DEPTH {
            // SAFETY: a row of the tile has 8 values.
            let y = unsafe {
                let row = b.0[k].as_ptr();
                let half = |at: usize| _mm512_broadcast_f32x4(_mm_loadu_ps(row.add(at)));
                [half(0), half(4)]
            };
            for (quad, x) in a.0[k].iter().enumerate() {
                // SAFETY: 16 values.
                let x = unsafe { _mm512_loadu_ps(x.as_ptr()) };
                for (odd, y) in y.into_iter().enumerate() {
                    let acc = &mut acc[2 * quad + odd];
                    *acc = _mm512_fmadd_ps(x, y, *acc);
                }
            }
        }
    }
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
