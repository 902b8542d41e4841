//! Block moves as relaxed atomics of 8 bytes or 1 byte.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Copies 16 bytes from each first place to the second, in order.
///
/// # Safety
/// All are valid for 16 bytes.
#[inline(always)]
pub(in super::super) unsafe fn move_rows(rows: impl Iterator<Item = (*const u8, *mut u8)>) {
    for (from, to) in rows {
        // SAFETY: the caller's.
        unsafe { copy_large(from, to, 16) };
    }
}

/// Copies the bytes of an `X`.
///
/// # Safety
/// Both are valid for the size of `X`.
#[inline(always)]
pub(in super::super) unsafe fn move_block<X>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's.
    unsafe { copy_large(from, to, size_of::<X>()) }
}

/// Asks for bytes that are likely to be read next; there is nothing to ask here.
#[inline(always)]
pub(in super::super) fn prefetch<X>(_from: *const u8) {}

/// Copies `len` bytes.
///
/// # Safety
/// Both are valid for `len` bytes.
pub(in super::super) unsafe fn copy_large(from: *const u8, to: *mut u8, len: usize) {
    let words = if from.addr() % 8 == 0 && to.addr() % 8 == 0 {
        len / 8
    } else {
        0
    };
    for i in 0..words {
        // SAFETY: aligned, and `8 * i + 8 <= len`.
        unsafe {
            let word = (*from.add(8 * i).cast::<AtomicU64>()).load(Relaxed);
            (*to.add(8 * i).cast::<AtomicU64>()).store(word, Relaxed);
        }
    }
    for i in 8 * words..len {
        // SAFETY: `i < len`.
        unsafe {
            let byte = (*from.add(i).cast::<AtomicU8>()).load(Relaxed);
            (*to.add(i).cast::<AtomicU8>()).store(byte, Relaxed);
        }
    }
}
