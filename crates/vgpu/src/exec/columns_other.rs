//! The same in portable code.

/// Element k of each lane's four as register k.
#[inline(always)]
pub(in super::super) fn four(block: &[u32; 128]) -> [[u32; 32]; 4] {
    std::array::from_fn(|k| std::array::from_fn(|lane| block[4 * lane + k]))
}

/// The inverse of [`four`].
#[inline(always)]
pub(in super::super) fn rows(columns: [&[u32; 32]; 4]) -> [u32; 128] {
    std::array::from_fn(|i| columns[i % 4][i / 4])
}

/// [`four`] for the AVX-512 tier, which there is not.
pub(in super::super) use four as four_wide;
/// [`rows`] for the AVX-512 tier, which there is not.
pub(in super::super) use rows as rows_wide;
