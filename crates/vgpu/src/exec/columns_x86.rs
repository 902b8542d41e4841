//! Four by four words at a time, by two rounds of interleaving; with AVX-512 sixteen lanes at a time.
//!
//! What reads a register next reads it in its widest parts. Stores as wide are handed over to it; narrower ones would have to
//! reach the cache first.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// The transposition of four rows of four words.
#[inline(always)]
fn turn(rows: [__m128i; 4]) -> [__m128i; 4] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let low = [
            _mm_unpacklo_epi32(rows[0], rows[1]),
            _mm_unpacklo_epi32(rows[2], rows[3]),
        ];
        let high = [
            _mm_unpackhi_epi32(rows[0], rows[1]),
            _mm_unpackhi_epi32(rows[2], rows[3]),
        ];
        [
            _mm_unpacklo_epi64(low[0], low[1]),
            _mm_unpackhi_epi64(low[0], low[1]),
            _mm_unpacklo_epi64(high[0], high[1]),
            _mm_unpackhi_epi64(high[0], high[1]),
        ]
    }
}

/// Element k of each lane's four as register k.
#[inline(always)]
pub(in super::super) fn four(block: &[u32; 128]) -> [[u32; 32]; 4] {
    let mut out = [[0; 32]; 4];
    let from = block.as_ptr().cast::<__m128i>();
    for group in 0..8 {
        // SAFETY: the block has 32 rows of 16 bytes, a register 8 pieces of 16.
        unsafe {
            let row = |i: usize| _mm_loadu_si128(from.add(4 * group + i));
            let columns = turn([row(0), row(1), row(2), row(3)]);
            for (out, column) in out.iter_mut().zip(columns) {
                _mm_storeu_si128(out.as_mut_ptr().cast::<__m128i>().add(group), column);
            }
        }
    }
    out
}

/// The inverse of [`four`].
#[inline(always)]
pub(in super::super) fn rows(columns: [&[u32; 32]; 4]) -> [u32; 128] {
    let mut out = [0; 128];
    let to = out.as_mut_ptr().cast::<__m128i>();
    for group in 0..8 {
        // SAFETY: as in `four`.
        unsafe {
            let column =
                |k: usize| _mm_loadu_si128(columns[k].as_ptr().cast::<__m128i>().add(group));
            let rows = turn([column(0), column(1), column(2), column(3)]);
            for (i, row) in rows.into_iter().enumerate() {
                _mm_storeu_si128(to.add(4 * group + i), row);
            }
        }
    }
    out
}

/// As [`four`], for handlers of the AVX-512 tier.
#[inline(always)]
pub(in super::super) fn four_wide(block: &[u32; 128]) -> [[u32; 32]; 4] {
    // SAFETY: only handlers of the AVX-512 tier use it.
    unsafe { four_by_sixteen(block) }
}

/// As [`rows`], for handlers of the AVX-512 tier.
#[inline(always)]
pub(in super::super) fn rows_wide(columns: [&[u32; 32]; 4]) -> [u32; 128] {
    // SAFETY: as in `four_wide`.
    unsafe { rows_by_sixteen(columns) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn four_by_sixteen(block: &[u32; 128]) -> [[u32; 32]; 4] {
    let mut out = [[0; 32]; 4];
    let from = block.as_ptr().cast::<__m512i>();
    for half in 0..2 {
        // SAFETY: the block has eight pieces of 64 bytes, a register two.
        let rows: [__m512i; 4] =
            std::array::from_fn(|i| unsafe { _mm512_loadu_si512(from.add(4 * half + i)) });
        for (k, out) in out.iter_mut().enumerate() {
            // Word k of the eight lanes in two rows of 64 bytes.
            let first = _mm512_set1_epi32(k as i32);
            let words = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
            let words = _mm512_add_epi32(words, first);
            let low = _mm512_permutex2var_epi32(rows[0], words, rows[1]);
            let high = _mm512_permutex2var_epi32(rows[2], words, rows[3]);
            let column = _mm512_inserti64x4::<1>(low, _mm512_castsi512_si256(high));
            // SAFETY: as above.
            unsafe {
                _mm512_storeu_si512(out.as_mut_ptr().cast::<__m512i>().add(half), column);
            }
        }
    }
    out
}

#[target_feature(enable = "avx512f")]
#[inline]
fn rows_by_sixteen(columns: [&[u32; 32]; 4]) -> [u32; 128] {
    let mut out = [0; 128];
    let to = out.as_mut_ptr().cast::<__m512i>();
    for half in 0..2 {
        // SAFETY: as in `four_wide`.
        let column = |k: usize| unsafe {
            _mm512_loadu_si512(columns[k].as_ptr().cast::<__m512i>().add(half))
        };
        let [a, b, c, d] = std::array::from_fn(column);
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        let (more_ab, more_cd) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        // Piece g of 16 bytes is the row of lane `4 g`, `4 g + 1`, `4 g + 2`, `4 g + 3`.
        let first = _mm512_unpacklo_epi64(ab, cd);
        let second = _mm512_unpackhi_epi64(ab, cd);
        let third = _mm512_unpacklo_epi64(more_ab, more_cd);
        let fourth = _mm512_unpackhi_epi64(more_ab, more_cd);
        // Pieces 0 and 1, and 2 and 3, of two of them; then one of each pair from all four.
        let low = [
            _mm512_shuffle_i32x4::<0b01_00_01_00>(first, second),
            _mm512_shuffle_i32x4::<0b01_00_01_00>(third, fourth),
        ];
        let high = [
            _mm512_shuffle_i32x4::<0b11_10_11_10>(first, second),
            _mm512_shuffle_i32x4::<0b11_10_11_10>(third, fourth),
        ];
        let rows = [
            _mm512_shuffle_i32x4::<0b10_00_10_00>(low[0], low[1]),
            _mm512_shuffle_i32x4::<0b11_01_11_01>(low[0], low[1]),
            _mm512_shuffle_i32x4::<0b10_00_10_00>(high[0], high[1]),
            _mm512_shuffle_i32x4::<0b11_01_11_01>(high[0], high[1]),
        ];
        for (i, row) in rows.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(to.add(4 * half + i), row) };
        }
    }
    out
}
