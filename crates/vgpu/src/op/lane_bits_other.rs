//! Lanes' flags as bits, in portable code.

/// Bit i is set if cell i is all ones; the others are zero.
#[inline(always)]
pub(super) fn of(flags: &[u32; 32]) -> u32 {
    let mut bits = 0;
    for (i, flag) in flags.iter().enumerate() {
        bits |= flag & 1 << i;
    }
    bits
}
