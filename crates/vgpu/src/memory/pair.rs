//! 16 bytes as one access: its bounds and alignment are checked once.
#![allow(unsafe_code)]

use super::raw::Word;

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
