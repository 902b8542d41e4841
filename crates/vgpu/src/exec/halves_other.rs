//! The same in portable code.

use crate::exec::{half::F16, lane::lanes};

/// f16 in the low half of each cell as f32.
#[inline(always)]
pub(super) fn widen(a: &[u32; 32]) -> [u32; 32] {
    lanes(|i| {
        let x = F16(a[i] as u16).to_f32();
        if x.is_nan() { 0x7FFF_FFFF } else { x.to_bits() }
    })
}

/// The low halves of cells as f32, and the high ones.
#[inline(always)]
pub(super) fn widen_pair(a: &[u32; 32]) -> [[u32; 32]; 2] {
    [widen(a), widen(&lanes(|i| a[i] >> 16))]
}

/// Pairs of f16.
#[inline(always)]
pub(super) fn pack(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32] {
    let half = |bits: u32| u32::from(F16::from_f32(f32::from_bits(bits)).0);
    lanes(|i| half(high[i]) << 16 | half(low[i]))
}
