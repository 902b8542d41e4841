//! 16 bytes as one access, and many of them whose bounds and alignment are checked together.
#![allow(unsafe_code)]

use super::raw::{Window, Word};

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
    /// The host pointers of 16 bytes at each address, if all of them are aligned and inside.
    #[inline(always)]
    fn rows<const N: usize>(&self, at: &[u64; N]) -> Option<[*mut u8; N]> {
        let last = self.size.checked_sub(16)?;
        let (mut low, mut fits) = (0, true);
        for at in at {
            low |= *at;
            fits &= at.wrapping_sub(self.base) <= last;
        }
        let host = |at: u64| self.host.wrapping_add(at.wrapping_sub(self.base) as usize);
        (fits && low % 16 == 0).then(|| at.map(host))
    }

    /// 16 bytes from each address; `false` if one is refused.
    #[inline(always)]
    pub(crate) fn read_rows(&self, at: &[u64; 8], to: &mut [u32; 32]) -> bool {
        let Some(rows) = self.rows(at) else {
            return false;
        };
        for (row, to) in rows.into_iter().zip(to.as_chunks_mut::<4>().0) {
            // SAFETY: `rows` checked 16 aligned bytes.
            let [a, b] = unsafe { <[u64; 2]>::load(row) };
            *to = [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
        }
        true
    }

    /// 16 bytes to each address; `false` if one is refused.
    #[inline(always)]
    pub(crate) fn write_rows(&self, at: &[u64; 8], from: &[u32; 32]) -> bool {
        let Some(rows) = self.rows(at) else {
            return false;
        };
        for (row, from) in rows.into_iter().zip(from.as_chunks::<4>().0) {
            let word = |i: usize| u64::from(from[i]) | u64::from(from[i + 1]) << 32;
            // SAFETY: as in `read_rows`.
            unsafe { [word(0), word(2)].store(row) };
        }
        true
    }

    /// 16 bytes from each address of another window to one here, in order; `false` if one is refused.
    #[inline(always)]
    pub(crate) fn copy_rows(&self, to: &[u64; 32], source: &Window, from: &[u64; 32]) -> bool {
        let (Some(to), Some(from)) = (self.rows(to), source.rows(from)) else {
            return false;
        };
        for (to, from) in to.into_iter().zip(from) {
            // SAFETY: as in `read_rows`.
            unsafe { <[u64; 2]>::load(from).store(to) };
        }
        true
    }
}
