//! The same in portable code.

use super::Engine;
use crate::exec::{half::F16, lane::lanes};

/// Lane by lane.
pub(super) struct Avx2;
/// The same: there is no such tier.
pub(super) type Avx512 = Avx2;

impl Engine for Avx2 {
    #[inline(always)]
    fn widen(a: &[u32; 32]) -> [u32; 32] {
        lanes(|i| {
            let x = F16(a[i] as u16).to_f32();
            if x.is_nan() { 0x7FFF_FFFF } else { x.to_bits() }
        })
    }

    #[inline(always)]
    fn widen_pair(a: &[u32; 32]) -> [[u32; 32]; 2] {
        [Self::widen(a), Self::widen(&lanes(|i| a[i] >> 16))]
    }

    #[inline(always)]
    fn pack(high: &[u32; 32], low: &[u32; 32]) -> [u32; 32] {
        let half = |bits: u32| u32::from(F16::from_f32(f32::from_bits(bits)).0);
        lanes(|i| half(high[i]) << 16 | half(low[i]))
    }
}
