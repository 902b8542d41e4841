//! Byte products with AVX2, and with the dot product instruction of AVX-512 VNNI. All are exact.
#![allow(unsafe_code)]

use super::Engine;
use std::arch::x86_64::*;

/// Bytes in pairs of i16, by AVX2.
pub(super) struct Words;
/// `vpdpbusd`.
pub(super) struct Bytes;

/// One step for eight lanes: the even and the odd bytes as i16, whose products are at most 2^15 each.
#[target_feature(enable = "avx2")]
#[inline]
fn eight<const SA: bool>(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    let even = |x: __m256i| _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(x));
    let odd = |x: __m256i| _mm256_srai_epi16::<8>(x);
    let (even_a, odd_a) = if SA {
        (even(a), odd(a))
    } else {
        let low = _mm256_set1_epi16(0xFF);
        (_mm256_and_si256(a, low), _mm256_srli_epi16::<8>(a))
    };
    let products = _mm256_add_epi32(
        _mm256_madd_epi16(even_a, even(b)),
        _mm256_madd_epi16(odd_a, odd(b)),
    );
    _mm256_add_epi32(sum, products)
}

#[target_feature(enable = "avx2")]
#[inline]
fn words<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: impl Fn(usize) -> __m256i) {
    for i in 0..4 {
        // SAFETY: a register has four pieces of 32 bytes.
        unsafe {
            let at = sum.as_mut_ptr().cast::<__m256i>().add(i);
            let a = _mm256_loadu_si256(a.as_ptr().cast::<__m256i>().add(i));
            _mm256_storeu_si256(at, eight::<SA>(_mm256_loadu_si256(at), a, b(i)));
        }
    }
}

impl Engine for Words {
    #[inline(always)]
    fn lanes<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: &[u32; 32]) {
        // SAFETY: only handlers of the AVX2 tier use this engine; as in `words` for the pieces of b.
        unsafe {
            words::<SA>(sum, a, |i| {
                _mm256_loadu_si256(b.as_ptr().cast::<__m256i>().add(i))
            });
        }
    }

    #[inline(always)]
    fn scalar<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: u32) {
        // SAFETY: as above.
        unsafe {
            let b = _mm256_set1_epi32(b as i32);
            words::<SA>(sum, a, |_| b);
        }
    }
}

/// One step for sixteen lanes. The instruction takes unsigned bytes of a: of signed ones, 128 more than they are,
/// and 128 times the bytes of b are taken off again.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn sixteen<const SA: bool>(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    if !SA {
        return _mm512_dpbusd_epi32(sum, a, b);
    }
    let bias = _mm512_set1_epi8(-128);
    let extra = _mm512_dpbusd_epi32(_mm512_setzero_si512(), bias, b);
    let sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(a, bias), b);
    _mm512_sub_epi32(sum, extra)
}

#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn bytes<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: impl Fn(usize) -> __m512i) {
    for i in 0..2 {
        // SAFETY: a register has two pieces of 64 bytes.
        unsafe {
            let at = sum.as_mut_ptr().cast::<__m512i>().add(i);
            let a = _mm512_loadu_si512(a.as_ptr().cast::<__m512i>().add(i));
            _mm512_storeu_si512(at, sixteen::<SA>(_mm512_loadu_si512(at), a, b(i)));
        }
    }
}

impl Engine for Bytes {
    #[inline(always)]
    fn lanes<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: &[u32; 32]) {
        // SAFETY: only handlers of the AVX-512 tier use this engine; as in `bytes` for the pieces of b.
        unsafe {
            bytes::<SA>(sum, a, |i| {
                _mm512_loadu_si512(b.as_ptr().cast::<__m512i>().add(i))
            });
        }
    }

    #[inline(always)]
    fn scalar<const SA: bool>(sum: &mut [u32; 32], a: &[u32; 32], b: u32) {
        // SAFETY: as above.
        unsafe {
            let b = _mm512_set1_epi32(b as i32);
            bytes::<SA>(sum, a, |_| b);
        }
    }
}
