//! Lanes' flags as bits, by packing them to bytes.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Bit i is set if cell i is all ones; the others are zero.
#[inline(always)]
pub(super) fn of(flags: &[u32; 32]) -> u32 {
    // SAFETY: SSE2 is part of x86-64; a register has 8 pieces of 16 bytes.
    unsafe {
        let piece = |i: usize| _mm_loadu_si128(flags.as_ptr().cast::<__m128i>().add(i));
        let words = |i: usize| _mm_packs_epi32(piece(i), piece(i + 1));
        let bytes = |i: usize| _mm_packs_epi16(words(i), words(i + 2));
        let half = |i: usize| _mm_movemask_epi8(bytes(i)) as u32;
        half(0) | half(4) << 16
    }
}
