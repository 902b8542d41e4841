//! Products of f16, bf16 and 8-bit tiles with AVX2, FMA and F16C, bit for bit those of the portable code.
//!
//! - `vcvtph2ps` and a shift by 16 are exact, so widening has one possible result but for the bits of a NaN,
//!   and every NaN that comes out of a product is made [`NAN`];
//! - a product is `vfmadd231ps` over ascending k for each element on its own, as in the portable loop;
//! - a product of bytes is exact: `vpmaddwd` adds two products of i16 that are at most 2^16 each.
#![allow(unsafe_code)]

use super::{
    int::Bytes,
    tile::{COLUMNS, Engine, Lanes, NAN, Pairs, Sums, TileA, TileB, Tiles},
};
use std::arch::x86_64::*;

/// Rows of f16.
pub(super) struct F16;
/// Rows of bf16.
pub(super) struct Bf16;

/// Eight elements of 16 bits as f32.
pub(super) trait Widen: 'static {
    /// # Safety
    /// The CPU has AVX2 and F16C.
    unsafe fn widen(x: __m128i) -> __m256;
    /// Sixteen.
    ///
    /// # Safety
    /// The CPU has AVX-512.
    unsafe fn widen_16(x: __m256i) -> __m512;
}

impl Widen for F16 {
    #[inline(always)]
    unsafe fn widen(x: __m128i) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_cvtph_ps(x) }
    }

    #[inline(always)]
    unsafe fn widen_16(x: __m256i) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_cvtph_ps(x) }
    }
}

impl Widen for Bf16 {
    #[inline(always)]
    unsafe fn widen(x: __m128i) -> __m256 {
        // SAFETY: the caller's.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(x))) }
    }

    #[inline(always)]
    unsafe fn widen_16(x: __m256i) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(x))) }
    }
}

impl<E: Widen> Engine for E {
    const PER_BLOCK: usize = 8;
    type A = TileA;
    type Acc = Sums;

    #[inline(always)]
    fn tiles(tiles: &mut Tiles) -> (&mut [TileA], &mut [TileB]) {
        (&mut tiles.a, &mut tiles.b)
    }

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
    fn load(c: [&Lanes; 4]) -> Sums {
        c.map(|c| *c)
    }

    #[inline(always)]
    fn multiply<const N: usize>(depth: usize, pairs: [Pairs<'_, TileA>; N], acc: &mut [Sums; N]) {
        for (pairs, sums) in pairs.into_iter().zip(acc) {
            // SAFETY: as above.
            unsafe {
                if depth == 16 {
                    rows::<16, 0>(pairs, sums);
                    rows::<16, 8>(pairs, sums);
                } else {
                    rows::<8, 0>(pairs, sums);
                    rows::<8, 8>(pairs, sums);
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

/// Row `n` of both registers, one in each half.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn column<const BLOCKS: usize>(regs: [&Lanes; 2], n: usize) -> __m256i {
    // SAFETY: a row has 16 bytes.
    unsafe {
        let first = _mm_loadu_si128(regs[0][4 * n..4 * n + 4].as_ptr().cast());
        let low = _mm256_castsi128_si256(first);
        if BLOCKS == 1 {
            return low;
        }
        let second = _mm_loadu_si128(regs[1][4 * n..4 * n + 4].as_ptr().cast());
        _mm256_inserti128_si256::<1>(low, second)
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
#[inline]
unsafe fn widen_b<E: Widen, const BLOCKS: usize>(regs: [&Lanes; 2], tile: &mut TileB) {
    // Positions 0 1 2 3 4 5 6 7 of a tile's row are columns 0 2 4 6 1 3 5 7: positions p and p + 4 first, then
    // those with p + 2, then with p + 1.
    let zero = _mm256_setzero_si256();
    let mut pairs = [[zero; 2]; 4];
    for (pair, n) in pairs.iter_mut().zip([0, 4, 2, 6]) {
        // SAFETY: the caller's CPU features.
        let (p, q) = unsafe { (column::<BLOCKS>(regs, n), column::<BLOCKS>(regs, n + 1)) };
        *pair = [_mm256_unpacklo_epi16(p, q), _mm256_unpackhi_epi16(p, q)];
    }
    let mut fours = [[zero; 4]; 2];
    for (i, fours) in fours.iter_mut().enumerate() {
        for half in 0..2 {
            let (p, q) = (pairs[2 * i][half], pairs[2 * i + 1][half]);
            fours[2 * half] = _mm256_unpacklo_epi16(p, q);
            fours[2 * half + 1] = _mm256_unpackhi_epi16(p, q);
        }
    }
    for i in 0..4 {
        let (p, q) = (fours[0][i], fours[1][i]);
        let both = [_mm256_unpacklo_epi16(p, q), _mm256_unpackhi_epi16(p, q)];
        for (j, k) in both.into_iter().enumerate() {
            let at = 2 * i + j;
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

#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn load_sums(c: &Sums, row: usize) -> __m256 {
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
    let nan = _mm256_castsi256_ps(_mm256_set1_epi32(NAN as i32));
    let acc = _mm256_blendv_ps(acc, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(acc, acc));
    let (pair, at) = (row / 8 * 2, 4 * (row % 8));
    // SAFETY: `at + 4 <= 32`.
    unsafe {
        let even = d[pair][at..at + 4].as_mut_ptr().cast();
        _mm_storeu_ps(even, _mm256_castps256_ps128(acc));
        let odd = d[pair + 1][at..at + 4].as_mut_ptr().cast();
        _mm_storeu_ps(odd, _mm256_extractf128_ps::<1>(acc));
    }
}

/// Rows `FROM` to `FROM + 7` of a product. The eight accumulators stay in registers, which is as many as hide
/// the latency of a multiply-add.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn rows<const DEPTH: usize, const FROM: usize>(pairs: Pairs<'_, TileA>, sums: &mut Sums) {
    let mut acc = [_mm256_setzero_ps(); 8];
    for (r, acc) in acc.iter_mut().enumerate() {
        // SAFETY: the caller's CPU features.
        *acc = unsafe { load_sums(sums, FROM + r) };
    }
    for (a, b) in pairs.each() {
        for k in 0..DEPTH {
            // SAFETY: a row of the tile has 8 values.
            let y = unsafe { _mm256_loadu_ps(b.0[k].as_ptr()) };
            for (r, acc) in acc.iter_mut().enumerate() {
                *acc = _mm256_fmadd_ps(_mm256_set1_ps(a.0[FROM + r][k]), y, *acc);
            }
        }
    }
    for (r, acc) in acc.iter().enumerate() {
        // SAFETY: the caller's CPU features.
        unsafe { store_sums(sums, FROM + r, *acc) };
    }
}

/// Bytes in pairs of i16.
pub(super) struct Words;

impl Bytes for Words {
    #[inline(always)]
    fn dots<const HALVES: usize, const BLOCKS: usize>(
        a: [&Lanes; 4],
        b: [&Lanes; 2],
        signs: [u16; 2],
        d: &mut Sums,
    ) {
        // SAFETY: only handlers of the AVX2 and AVX-512 tiers use this.
        unsafe { dots::<HALVES, BLOCKS>(a, b, signs, d) }
    }
}

/// 16 bytes as i16, whose sign bit has the weight `sign`.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn widen_bytes(row: &[u32; 4], sign: __m256i) -> __m256i {
    // SAFETY: a row has 16 bytes.
    let wide = _mm256_cvtepu8_epi16(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
    _mm256_sub_epi16(_mm256_xor_si256(wide, sign), sign)
}

/// The rows of a register as pairs of i16. Not inlined, so that they are in memory to be broadcast from.
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn widen_rows(reg: &Lanes, sign: __m256i, to: &mut [[i32; 8]; 8]) {
    for (to, row) in to.iter_mut().zip(reg.as_chunks::<4>().0) {
        // SAFETY: `to` has 32 bytes.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), widen_bytes(row, sign)) };
    }
}

#[target_feature(enable = "avx2")]
#[inline]
unsafe fn dots<const HALVES: usize, const BLOCKS: usize>(
    a: [&Lanes; 4],
    b: [&Lanes; 2],
    signs: [u16; 2],
    d: &mut Sums,
) {
    let sign_a = _mm256_set1_epi16(signs[0] as i16);
    let sign_b = _mm256_set1_epi16(signs[1] as i16);
    // Pairs of k outside, columns inside.
    let mut y = [[_mm256_setzero_si256(); 8]; BLOCKS];
    for (y, b) in y.iter_mut().zip(b) {
        let rows = b.as_chunks::<4>().0;
        let mut wide = [_mm256_setzero_si256(); 8];
        for (wide, n) in wide.iter_mut().zip(COLUMNS) {
            // SAFETY: the caller's CPU features.
            *wide = unsafe { widen_bytes(&rows[n], sign_b) };
        }
        // SAFETY: the caller's CPU features.
        *y = unsafe { transpose(wide) };
    }
    for half in 0..HALVES {
        let mut acc = [_mm256_setzero_si256(); 8];
        for (block, y) in y.iter().enumerate() {
            let mut x = [[0i32; 8]; 8];
            // SAFETY: the caller's CPU features.
            unsafe { widen_rows(a[block * HALVES + half], sign_a, &mut x) };
            for (k, y) in y.iter().enumerate() {
                for (acc, x) in acc.iter_mut().zip(&x) {
                    let dot = _mm256_madd_epi16(_mm256_set1_epi32(x[k]), *y);
                    *acc = _mm256_add_epi32(*acc, dot);
                }
            }
        }
        for (r, acc) in acc.into_iter().enumerate() {
            let (even, odd) = d.split_at_mut(2 * half + 1);
            let at = 4 * r;
            // SAFETY: `at + 4 <= 32`.
            unsafe {
                let even = even[2 * half][at..at + 4].as_mut_ptr();
                _mm_storeu_si128(even.cast(), _mm256_castsi256_si128(acc));
                let odd = odd[0][at..at + 4].as_mut_ptr();
                _mm_storeu_si128(odd.cast(), _mm256_extracti128_si256::<1>(acc));
            }
        }
    }
}

/// 8 rows of 8 as 8 columns.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn transpose(r: [__m256i; 8]) -> [__m256i; 8] {
    let mut pairs = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    let mut fours = [_mm256_setzero_si256(); 8];
    for i in [0, 4] {
        for j in 0..2 {
            fours[i + 2 * j] = _mm256_unpacklo_epi64(pairs[i + j], pairs[i + 2 + j]);
            fours[i + 2 * j + 1] = _mm256_unpackhi_epi64(pairs[i + j], pairs[i + 2 + j]);
        }
    }
    let mut columns = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        columns[i] = _mm256_permute2x128_si256::<0x20>(fours[i], fours[i + 4]);
        columns[i + 4] = _mm256_permute2x128_si256::<0x31>(fours[i], fours[i + 4]);
    }
    columns
}
