//! The transposition of a matrix of 8 by 8 halves by three rounds of interleaving.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Makes rows columns: two elements to a word, 4 words to a row.
#[inline(always)]
pub(super) fn transpose(rows: &mut [u32; 32]) {
    // SAFETY: SSE2 is part of x86-64; each access is one of the 8 chunks of 16 bytes.
    unsafe {
        let at = rows.as_mut_ptr().cast::<__m128i>();
        let mut now = [_mm_setzero_si128(); 8];
        for (i, row) in now.iter_mut().enumerate() {
            *row = _mm_loadu_si128(at.add(i));
        }
        for _ in 0..3 {
            let from = now;
            for i in 0..4 {
                now[2 * i] = _mm_unpacklo_epi16(from[i], from[i + 4]);
                now[2 * i + 1] = _mm_unpackhi_epi16(from[i], from[i + 4]);
            }
        }
        for (i, row) in now.into_iter().enumerate() {
            _mm_storeu_si128(at.add(i), row);
        }
    }
}
