//! Four by four words at a time, by two rounds of interleaving.
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
