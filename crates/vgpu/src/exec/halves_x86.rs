//! `vcvtph2ps` and `vcvtps2ph`: exact, and rounded once to nearest even. NaN becomes the one of PTX.
#![allow(unsafe_code)]

use super::Engine;
use std::arch::x86_64::*;

/// Eight numbers at a time.
pub(super) struct Avx2;
/// Sixteen at a time: what reads the result next reads as many, and is handed what was stored as a whole.
pub(super) struct Avx512;

impl Engine for Avx2 {
    #[inline(always)]
    fn widen(a: &[u32; 32]) -> [u32; 32] {
        // SAFETY: only handlers of the AVX2 tier use this engine.
        unsafe { widen_all(a) }
    }

    #[inline(always)]
    fn widen_pair(a: &[u32; 32]) -> [[u32; 32]; 2] {
        // SAFETY: as above.
        unsafe { widen_both(a) }
    }

    #[inline(always)]
    fn pack(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32] {
        // SAFETY: as above.
        unsafe { pack_all(high, low) }
    }
}

impl Engine for Avx512 {
    #[inline(always)]
    fn widen(a: &[u32; 32]) -> [u32; 32] {
        let mut out = [0; 32];
        for half in 0..2 {
            // SAFETY: only handlers of the AVX-512 tier use this engine; a register has two pieces of 64 bytes.
            unsafe { put(&mut out, half, wide(piece(a, half))) };
        }
        out
    }

    #[inline(always)]
    fn widen_pair(a: &[u32; 32]) -> [[u32; 32]; 2] {
        let mut out = [[0; 32]; 2];
        for half in 0..2 {
            // SAFETY: as above.
            unsafe {
                let cells = piece(a, half);
                put(&mut out[0], half, wide(cells));
                put(&mut out[1], half, wide(shifted(cells)));
            }
        }
        out
    }

    #[inline(always)]
    fn pack(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32] {
        let mut out = [0; 32];
        for half in 0..2 {
            // SAFETY: as above.
            unsafe { put(&mut out, half, packed(piece(high, half), piece(low, half))) };
        }
        out
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn piece(a: &[u32; 32], half: usize) -> __m512i {
    // SAFETY: a register has two pieces of 64 bytes.
    unsafe { _mm512_loadu_si512(a.as_ptr().cast::<__m512i>().add(half & 1)) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn put(out: &mut [u32; 32], half: usize, value: __m512i) {
    // SAFETY: as in `piece`.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast::<__m512i>().add(half & 1), value) };
}

#[target_feature(enable = "avx512f")]
#[inline]
fn shifted(cells: __m512i) -> __m512i {
    _mm512_srli_epi32::<16>(cells)
}

/// The low halves of sixteen cells as f32.
#[target_feature(enable = "avx512f")]
#[inline]
fn wide(cells: __m512i) -> __m512i {
    let wide = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(cells));
    let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(wide, wide);
    _mm512_mask_set1_epi32(_mm512_castps_si512(wide), nan, 0x7FFF_FFFF)
}

/// Pairs of f16 of sixteen numbers each.
#[target_feature(enable = "avx512f")]
#[inline]
fn packed(high: __m512i, low: __m512i) -> __m512i {
    let narrow = |bits: __m512i| {
        let x = _mm512_castsi512_ps(bits);
        let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
        let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
        _mm512_mask_set1_epi32(_mm512_cvtepu16_epi32(halves), nan, 0x7FFF)
    };
    _mm512_or_si512(_mm512_slli_epi32::<16>(narrow(high)), narrow(low))
}

#[target_feature(enable = "avx2,f16c")]
#[inline]
fn widen_all(a: &[u32; 32]) -> [u32; 32] {
    let mut out = [0; 32];
    let low = _mm256_set1_epi32(0xFFFF);
    let nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFF_FFFF));
    for i in 0..4 {
        // SAFETY: a register has four pieces of 32 bytes.
        unsafe {
            let cells = _mm256_loadu_si256(a.as_ptr().cast::<__m256i>().add(i));
            let cells = _mm256_and_si256(cells, low);
            let halves = _mm_packus_epi32(
                _mm256_castsi256_si128(cells),
                _mm256_extracti128_si256::<1>(cells),
            );
            let wide = _mm256_cvtph_ps(halves);
            let wide = _mm256_blendv_ps(wide, nan, _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide));
            _mm256_storeu_ps(out.as_mut_ptr().cast::<f32>().add(8 * i), wide);
        }
    }
    out
}

#[target_feature(enable = "avx2,f16c")]
#[inline]
fn widen_both(a: &[u32; 32]) -> [[u32; 32]; 2] {
    let mut out = [[0; 32]; 2];
    let low = _mm256_set1_epi32(0xFFFF);
    let mut unordered = _mm256_setzero_ps();
    for i in 0..4 {
        // SAFETY: a register has four pieces of 32 bytes.
        unsafe {
            let cells = _mm256_loadu_si256(a.as_ptr().cast::<__m256i>().add(i));
            // Of each 128 bits the low halves, then the high ones: the quarters 0 and 2 are the low ones.
            let pairs =
                _mm256_packus_epi32(_mm256_and_si256(cells, low), _mm256_srli_epi32::<16>(cells));
            let pairs = _mm256_permute4x64_epi64::<0b11_01_10_00>(pairs);
            let halves = [
                _mm256_castsi256_si128(pairs),
                _mm256_extracti128_si256::<1>(pairs),
            ];
            for (out, halves) in out.iter_mut().zip(halves) {
                let wide = _mm256_cvtph_ps(halves);
                unordered = _mm256_or_ps(unordered, _mm256_cmp_ps::<_CMP_UNORD_Q>(wide, wide));
                _mm256_storeu_ps(out.as_mut_ptr().cast::<f32>().add(8 * i), wide);
            }
        }
    }
    if _mm256_movemask_ps(unordered) != 0 {
        for cell in out.as_flattened_mut() {
            *cell = if f32::from_bits(*cell).is_nan() {
                0x7FFF_FFFF
            } else {
                *cell
            };
        }
    }
    out
}

/// Eight numbers as f16 in the low halves of cells.
#[target_feature(enable = "avx2,f16c")]
#[inline]
fn narrow(x: __m256) -> __m256i {
    let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x);
    let cells = _mm256_cvtepu16_epi32(halves);
    let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(x, x));
    _mm256_blendv_epi8(cells, _mm256_set1_epi32(0x7FFF), nan)
}

#[target_feature(enable = "avx2,f16c")]
#[inline]
fn pack_all(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32] {
    let mut out = [0; 32];
    for i in 0..4 {
        // SAFETY: as in `widen_all`.
        unsafe {
            let high = _mm256_loadu_ps(high.as_ptr().cast::<f32>().add(8 * i));
            let low = _mm256_loadu_ps(low.as_ptr().cast::<f32>().add(8 * i));
            let both = _mm256_or_si256(_mm256_slli_epi32::<16>(narrow(high)), narrow(low));
            _mm256_storeu_si256(out.as_mut_ptr().cast::<__m256i>().add(i), both);
        }
    }
    out
}
