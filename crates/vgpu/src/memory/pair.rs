//! 16 bytes as one access, and many of them whose bounds and alignment are checked together.
#![allow(unsafe_code)]

use super::{
    copy,
    raw::{Window, Word},
};

impl Word for [u64; 2] {
    #[inline(always)]
    unsafe fn load(at: *const u8) -> Self {
        // SAFETY: the caller's: 16 valid bytes, 16-byte aligned.
        unsafe { [u64::load(at), u64::load(at.add(8))] }
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u8) {
        // SAFETY: as in `load`.
        unsafe {
            self[0].store(at);
            self[1].store(at.add(8));
        }
    }
}

impl Window {
    /// 16 bytes from each address; `false` if one is refused.
    #[inline(always)]
    pub(crate) fn read_rows(&self, at: &[u64; 8], to: &mut [u32; 32]) -> bool {
        if !self.all_inside(at, 16, 16) {
            return false;
        }
        let rows = at.iter().zip(to.as_chunks_mut::<4>().0);
        let rows = rows.map(|(at, to)| (self.host_of(*at).cast_const(), to.as_mut_ptr().cast()));
        // SAFETY: `all_inside` checked 16 aligned bytes for each.
        unsafe { copy::move_rows(rows) };
        true
    }

    /// 16 bytes to each address; `false` if one is refused.
    #[inline(always)]
    pub(crate) fn write_rows(&self, at: &[u64; 8], from: &[u32; 32]) -> bool {
        if !self.all_inside(at, 16, 16) {
            return false;
        }
        let rows = at.iter().zip(from.as_chunks::<4>().0);
        let rows = rows.map(|(at, from)| (from.as_ptr().cast(), self.host_of(*at)));
        // SAFETY: as in `read_rows`.
        unsafe { copy::move_rows(rows) };
        true
    }

    /// 16 bytes from each address of another window to one here, in order, or zeros for the lanes of `zero`;
    /// `false` if one is refused.
    #[inline(always)]
    pub(crate) fn copy_rows(
        &self,
        to: &[u64; 32],
        source: &Window,
        from: &[u64; 32],
        zero: u32,
    ) -> bool {
        if !self.all_inside(to, 16, 16) || !source.all_inside(from, 16, 16) {
            return false;
        }
        let zeros = [0u32; 4];
        let rows = to.iter().zip(from).enumerate().map(|(i, (to, from))| {
            let from = if zero >> i & 1 != 0 {
                zeros.as_ptr().cast::<u8>()
            } else {
                source.host_of(*from).cast_const()
            };
            (from, self.host_of(*to))
        });
        // SAFETY: as in `read_rows`; the zeros are 16 bytes.
        unsafe { copy::move_rows(rows) };
        true
    }
}
