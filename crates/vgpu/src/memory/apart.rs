//! One access for each lane, anywhere in a window, with bounds and alignment checked for all of them at once.
#![allow(unsafe_code)]

use super::{
    copy,
    raw::{Window, Word},
};

impl Window {
    /// Whether `bytes` at each address are inside, and each is a multiple of `align`.
    #[inline(always)]
    pub(super) fn all_inside<const N: usize>(&self, at: &[u64; N], bytes: u64, align: u64) -> bool {
        let Some(last) = self.size.checked_sub(bytes) else {
            return false;
        };
        // Sizes are below 2^63: the top bit of a difference says which is larger, without a branch for each lane.
        let (mut low, mut out) = (0, 0);
        for at in at {
            let offset = at.wrapping_sub(self.base);
            low |= *at;
            out |= offset | last.wrapping_sub(offset);
        }
        out >> 63 == 0 && low.is_multiple_of(align)
    }

    #[inline(always)]
    pub(super) fn host_of(&self, at: u64) -> *mut u8 {
        self.host.wrapping_add(at.wrapping_sub(self.base) as usize)
    }

    /// `N` neighbouring values from each address; `None` if one is refused.
    #[inline(always)]
    pub(crate) fn gather<T: Word, const N: usize>(&self, at: &[u64; 32]) -> Option<[[T; N]; 32]> {
        let bytes = (N * size_of::<T>()) as u64;
        if !self.all_inside(at, bytes, bytes) {
            return None;
        }
        let mut block = [[T::default(); N]; 32];
        if bytes == 16 {
            let rows = block.iter_mut().zip(at);
            let rows =
                rows.map(|(row, at)| (self.host_of(*at).cast_const(), row.as_mut_ptr().cast()));
            // SAFETY: `all_inside` checked range and alignment of each row.
            unsafe { copy::move_rows(rows) };
            return Some(block);
        }
        if bytes == 8 {
            for (row, at) in block.iter_mut().zip(at) {
                // SAFETY: as above; a row is 8 bytes of plain numbers.
                unsafe {
                    let word = u64::load(self.host_of(*at));
                    row.as_mut_ptr().cast::<u64>().write_unaligned(word);
                }
            }
            return Some(block);
        }
        for (row, at) in block.iter_mut().zip(at) {
            for (k, value) in row.iter_mut().enumerate() {
                // SAFETY: as above.
                *value = unsafe { T::load(self.host_of(*at).add(k * size_of::<T>())) };
            }
        }
        Some(block)
    }

    /// `N` neighbouring values to each address of the lanes in `mask`, in order; `false` if an address is refused,
    /// those of other lanes included.
    #[inline(always)]
    pub(crate) fn scatter<T: Word, const N: usize>(
        &self,
        at: &[u64; 32],
        block: &[[T; N]; 32],
        mask: u32,
    ) -> bool {
        let bytes = (N * size_of::<T>()) as u64;
        if !self.all_inside(at, bytes, bytes) {
            return false;
        }
        let active = (0..32).filter(|lane| mask >> lane & 1 != 0);
        if bytes == 16 {
            let rows = active.map(|lane| (block[lane].as_ptr().cast(), self.host_of(at[lane])));
            // SAFETY: as in `gather`.
            unsafe { copy::move_rows(rows) };
            return true;
        }
        if bytes == 8 {
            for lane in active {
                // SAFETY: as in `gather`.
                unsafe {
                    let word = block[lane].as_ptr().cast::<u64>().read_unaligned();
                    word.store(self.host_of(at[lane]));
                }
            }
            return true;
        }
        for lane in active {
            for (k, value) in block[lane].iter().enumerate() {
                // SAFETY: as in `gather`.
                unsafe { value.store(self.host_of(at[lane]).add(k * size_of::<T>())) };
            }
        }
        true
    }
}
