//! Products of f16 and bf16 tiles with AVX2, FMA and F16C, bit for bit those of the portable code.
//!
//! - `vcvtph2ps` and a shift by 16 are exact, so widening has one possible result but for the bits of a NaN,
//!   and every NaN that comes out of a product is made [`NAN`];
//! - a product is `vfmadd231ps` over ascending k for each element on its own, as in the portable loop.
#![allow(unsafe_code)]

use super::tile::{Engine, Lanes, NAN, Sums, TileA, TileB};
use std::arch::x86_64::*;

/// Rows of f16.
pub(super) struct F16;
/// Rows of bf16.
pub(super) struct Bf16;

/// Eight elements of 16 bits as f32.
trait Widen: 'static {
    /// # Safety
    /// The CPU has AVX2 and F16C.
    unsafe fn widen(x: __m128i) -> __m256;
}

impl Widen for F16 {
    #[inline(always)]
    unsafe fn widen(x: __m128i) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_cvtph_ps(x) }
    }
}

impl Widen for Bf16 {
    #[inline(always)]
    unsafe fn widen(x: __m128i) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x))) }
    }
}

impl<E: Widen> Engine for E {
    const PER_BLOCK: usize = 8;

    #[inline(always)]
    fn widen_a<const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut TileA) {
        // SAFETY: only handlers of the AVX2 and AVX-512 tiers use this engine.
        unsafe { widen_a::<E, BLOCKS>(regs, tile) }
    }

    #[inline(always)]
    fn widen_b<const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB) {
        // SAFETY: as above.
        unsafe { widen_b::<E, BLOCKS>(regs, tile) }
    }

    #[inline(always)]
    fn multiply(depth: usize, a: &TileA, b: &TileB, c: [&Lanes; 4], d: &mut Sums) {
        // SAFETY: as above.
        unsafe {
            if depth == 16 {
                rows::<16, 0>(a, b, c, d);
                rows::<16, 8>(a, b, c, d);
            } else {
                rows::<8, 0>(a, b, c, d);
                rows::<8, 8>(a, b, c, d);
            }
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn widen_a<E: Widen, const BLOCKS: usize>(regs: [&Lanes; 4], tile: &mut TileA) {
    for (i, reg) in regs.iter().enumerate().take(2 * BLOCKS) {
        let (rows, at) = (8 * (i % 2), i / 2 * 8);
        for (r, block) in reg.as_chunks::<4>().0.iter().enumerate() {
            // SAFETY: `block` has 16 bytes and `at + 8 <= 16`.
            unsafe {
                let wide = E::widen(_mm_loadu_si128(block.as_ptr().cast()));
                _mm256_storeu_ps(tile.0[rows + r][at..at + 8].as_mut_ptr(), wide);
            }
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn widen_b<E: Widen, const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB) {
    let blocks = regs.map(|reg| reg.as_chunks::<4>().0);
    // Row n of both registers, one in each half.
    let row = |n: usize| {
        // SAFETY: a chunk has 16 bytes.
        unsafe {
            let low = _mm256_castsi128_si256(_mm_loadu_si128(blocks[0][n].as_ptr().cast()));
            if BLOCKS == 1 {
                return low;
            }
            _mm256_inserti128_si256::<1>(low, _mm_loadu_si128(blocks[1][n].as_ptr().cast()))
        }
    };
    let low = |a, b| _mm256_unpacklo_epi16(a, b);
    let high = |a, b| _mm256_unpackhi_epi16(a, b);
    // Positions 0 1 2 3 4 5 6 7 of a tile's row are columns 0 2 4 6 1 3 5 7: positions p and p + 4 first.
    let merged = [0, 4, 2, 6].map(|n| {
        let (p, q) = (row(n), row(n + 1));
        [low(p, q), high(p, q)]
    });
    for half in 0..2 {
        let even = [
            low(merged[0][half], merged[1][half]),
            high(merged[0][half], merged[1][half]),
        ];
        let odd = [
            low(merged[2][half], merged[3][half]),
            high(merged[2][half], merged[3][half]),
        ];
        for pair in 0..2 {
            let both = [low(even[pair], odd[pair]), high(even[pair], odd[pair])];
            for (i, k) in both.into_iter().enumerate() {
                let at = 4 * half + 2 * pair + i;
                // SAFETY: a row of the tile has 8 values.
                unsafe {
                    let wide = E::widen(_mm256_castsi256_si128(k));
                    _mm256_storeu_ps(tile.0[at].as_mut_ptr(), wide);
                    if BLOCKS == 2 {
                        let wide = E::widen(_mm256_extracti128_si256::<1>(k));
                        _mm256_storeu_ps(tile.0[8 + at].as_mut_ptr(), wide);
                    }
                }
            }
        }
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn load_sums(c: [&Lanes; 4], row: usize) -> __m256 {
    let (pair, at) = (row / 8 * 2, 4 * (row % 8));
    // SAFETY: `at + 4 <= 32`.
    unsafe {
        let even = _mm_loadu_ps(c[pair][at..at + 4].as_ptr().cast());
        let odd = _mm_loadu_ps(c[pair + 1][at..at + 4].as_ptr().cast());
        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(even), odd)
    }
}

#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn store_sums(d: &mut Sums, row: usize, acc: __m256) {
    let (pair, at) = (row / 8 * 2, 4 * (row % 8));
    let nan = _mm256_castsi256_ps(_mm256_set1_epi32(NAN as i32));
    let acc = _mm256_blendv_ps(acc, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(acc, acc));
    // SAFETY: `at + 4 <= 32`.
    unsafe {
        _mm_storeu_ps(
            d[pair][at..at + 4].as_mut_ptr().cast(),
            _mm256_castps256_ps128(acc),
        );
        let odd = _mm256_extractf128_ps::<1>(acc);
        _mm_storeu_ps(d[pair + 1][at..at + 4].as_mut_ptr().cast(), odd);
    }
}

/// Rows `FROM` to `FROM + 7` of a product. The eight accumulators stay in registers, which is as many as hide
/// the latency of a multiply-add.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn rows<const DEPTH: usize, const FROM: usize>(
    a: &TileA,
    b: &TileB,
    c: [&Lanes; 4],
    d: &mut Sums,
) {
    let mut acc = [_mm256_setzero_ps(); 8];
    for (r, acc) in acc.iter_mut().enumerate() {
        // SAFETY: the caller's CPU features.
        *acc = unsafe { load_sums(c, FROM + r) };
    }
    for k in 0..DEPTH {
        // SAFETY: a row of the tile has 8 values.
        let y = unsafe { _mm256_loadu_ps(b.0[k].as_ptr()) };
        for (r, acc) in acc.iter_mut().enumerate() {
            *acc = _mm256_fmadd_ps(_mm256_set1_ps(a.0[FROM + r][k]), y, *acc);
        }
    }
    for (r, acc) in acc.iter().enumerate() {
        // SAFETY: the caller's CPU features.
        unsafe { store_sums(d, FROM + r, *acc) };
    }
}
