//! `vcvtph2ps` and `vcvtps2ph`: exact, and rounded once to nearest even. NaN becomes the one of PTX.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// f16 in the low half of each cell as f32.
#[inline(always)]
pub(super) fn widen(a: &[u32; 32]) -> [u32; 32] {
    // SAFETY: only handlers of the tiers with AVX2 and F16C are run.
    unsafe { widen_all(a) }
}

/// The low halves of cells as f32, and the high ones.
#[inline(always)]
pub(super) fn widen_pair(a: &[u32; 32]) -> [[u32; 32]; 2] {
    // SAFETY: as above.
    unsafe { widen_both(a) }
}

/// Pairs of f16.
#[inline(always)]
pub(super) fn pack(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32] {
    // SAFETY: as above.
    unsafe { pack_all(high, low) }
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
