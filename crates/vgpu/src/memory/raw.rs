//! Guest memory: every access checks its range against a window of host memory.
//!
//! Guests race. So nothing here makes a Rust reference to plain guest bytes: single values move as
//! relaxed atomics, blocks as opaque moves (`copy.rs`).
#![allow(unsafe_code)]

use super::{copy, lent};
use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    ptr::NonNull,
    sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed},
};

/// Why an access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// Not inside the window.
    Bounds,
    /// Not a multiple of the access size.
    Align,
}

/// A range of guest addresses and the host memory behind it. Whoever makes one keeps that memory alive
/// and 16-byte aligned at `base` for as long as copies of the window are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(super) host: *mut u8,
    pub(super) base: u64,
    pub(super) size: u64,
}

// SAFETY: a window is an address; all access through it is atomic or opaque to the compiler.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

/// A value that one access moves.
pub(crate) trait Word: Copy + Default {
    /// # Safety
    /// `at` is valid and aligned for `Self`.
    unsafe fn load(at: *const u8) -> Self;
    /// # Safety
    /// `at` is valid and aligned for `Self`.
    unsafe fn store(self, at: *mut u8);
}

macro_rules! words {
    ($($int:ty, $atomic:ty;)*) => {$(
        impl Word for $int {
            #[inline(always)]
            unsafe fn load(at: *const u8) -> Self {
                // SAFETY: the caller's.
                unsafe { &*at.cast::<$atomic>() }.load(Relaxed)
            }
            #[inline(always)]
            unsafe fn store(self, at: *mut u8) {
                // SAFETY: the caller's.
                unsafe { &*at.cast::<$atomic>() }.store(self, Relaxed)
            }
        }
    )*};
}
words! { u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; }

/// A type without padding for which any bits are a value.
///
/// # Safety
/// It is so, and its size is a multiple of 16.
pub(crate) unsafe trait Plain {}
// SAFETY: arrays of integers, 32 or more bytes.
unsafe impl<T: Word, const N: usize> Plain for [[T; N]; 32] {}

impl Window {
    /// Where its fields are, for compiled code: the pointer to its first byte, that byte's address, and its bytes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const HOST_AT: usize = std::mem::offset_of!(Window, host);
    #[cfg(target_arch = "x86_64")]
    pub(crate) const BASE_AT: usize = std::mem::offset_of!(Window, base);
    #[cfg(target_arch = "x86_64")]
    pub(crate) const SIZE_AT: usize = std::mem::offset_of!(Window, size);

    /// A window over nothing; it is at no address of its own.
    pub(crate) const EMPTY: Window = Window {
        host: std::ptr::null_mut(),
        base: 1,
        size: 0,
    };

    /// # Safety
    /// `host` is valid for `size` bytes and 16-byte aligned while the window or a copy is used.
    pub(super) unsafe fn new(host: *mut u8, base: u64, size: u64) -> Window {
        Window { host, base, size }
    }

    /// The host pointer of `len` bytes at `address`, if all of them are inside.
    #[inline(always)]
    fn at(&self, address: u64, len: u64) -> Option<*mut u8> {
        let offset = address.wrapping_sub(self.base);
        if len <= self.size && offset <= self.size - len {
            return Some(self.host.wrapping_add(offset as usize));
        }
        // Only device memory at its own addresses has memory of the host beside it.
        (self.host as u64 == self.base && lent::holds(address, len))
            .then(|| self.host.wrapping_add(offset as usize))
    }

    /// The host pointer of a byte, if it is inside.
    pub(crate) fn pointer(&self, address: u64) -> Option<*mut u8> {
        self.at(address, 1)
    }

    /// Whether `len` bytes at `address` are inside.
    #[inline(always)]
    pub(crate) fn holds(&self, address: u64, len: u64) -> bool {
        self.at(address, len).is_some()
    }

    /// This window at another guest address.
    pub(crate) fn based(self, base: u64) -> Window {
        Window { base, ..self }
    }

    #[inline(always)]
    fn word_at<T: Word>(&self, address: u64) -> Result<*mut u8, Bad> {
        let size = size_of::<T>() as u64;
        if !address.is_multiple_of(size) {
            return Err(Bad::Align);
        }
        self.at(address, size).ok_or(Bad::Bounds)
    }

    /// One value.
    #[inline(always)]
    pub(crate) fn load<T: Word>(&self, address: u64) -> Result<T, Bad> {
        // SAFETY: `word_at` checked range and alignment; bases are aligned.
        self.word_at::<T>(address).map(|at| unsafe { T::load(at) })
    }

    /// One value.
    #[inline(always)]
    pub(crate) fn store<T: Word>(&self, address: u64, value: T) -> Result<(), Bad> {
        // SAFETY: as in `load`.
        self.word_at::<T>(address)
            .map(|at| unsafe { value.store(at) })
    }

    /// An atomic of 32 bits, for `atom` and `red`.
    #[allow(dead_code)]
    #[inline(always)]
    pub(crate) fn atomic32(&self, address: u64) -> Result<&AtomicU32, Bad> {
        // SAFETY: as in `load`; the reference lives no longer than the window.
        self.word_at::<u32>(address)
            .map(|at| unsafe { &*at.cast::<AtomicU32>() })
    }

    /// An atomic of 64 bits, for `atom` and `red`.
    #[allow(dead_code)]
    #[inline(always)]
    pub(crate) fn atomic64(&self, address: u64) -> Result<&AtomicU64, Bad> {
        // SAFETY: as in `atomic32`.
        self.word_at::<u64>(address)
            .map(|at| unsafe { &*at.cast::<AtomicU64>() })
    }

    /// A whole block to `to`; `false` if it is not all inside.
    #[inline(always)]
    pub(crate) fn read_block<X: Plain>(&self, address: u64, to: &mut X) -> bool {
        match self.at(address, size_of::<X>() as u64) {
            Some(from) => {
                // SAFETY: `at` checked the size; any bits are an `X`.
                unsafe { copy::move_block::<X>(from, std::ptr::from_mut(to).cast()) };
                true
            }
            None => false,
        }
    }

    /// As [`Window::read_block`], with the block behind it on its way to the cache.
    #[inline(always)]
    pub(crate) fn read_block_of_run<X: Plain>(&self, address: u64, to: &mut X) -> bool {
        if let Some(next) = self.at(address, 0) {
            copy::prefetch::<X>(next.wrapping_add(size_of::<X>()));
        }
        self.read_block(address, to)
    }

    /// A whole block from `from`; `false` if the place is not all inside.
    #[inline(always)]
    pub(crate) fn write_block<X: Plain>(&self, address: u64, from: &X) -> bool {
        match self.at(address, size_of::<X>() as u64) {
            Some(to) => {
                // SAFETY: `at` checked the size; an `X` has no padding.
                unsafe { copy::move_block::<X>(std::ptr::from_ref(from).cast(), to) };
                true
            }
            None => false,
        }
    }

    /// Any number of bytes to `to`; `false` if they are not all inside.
    pub(crate) fn read(&self, address: u64, to: &mut [u8]) -> bool {
        match self.at(address, to.len() as u64) {
            Some(from) => {
                // SAFETY: `at` checked the length.
                unsafe { copy::copy_large(from, to.as_mut_ptr(), to.len()) };
                true
            }
            None => false,
        }
    }

    /// Any number of bytes from `from`; `false` if the place is not all inside.
    pub(crate) fn write(&self, address: u64, from: &[u8]) -> bool {
        match self.at(address, from.len() as u64) {
            Some(to) => {
                // SAFETY: `at` checked the length.
                unsafe { copy::copy_large(from.as_ptr(), to, from.len()) };
                true
            }
            None => false,
        }
    }

    /// A copy inside of the window that may overlap itself; `false` if a range is not inside.
    pub(crate) fn copy(&self, to: u64, from: u64, len: u64) -> bool {
        let (Some(target), Some(source)) = (self.at(to, len), self.at(from, len)) else {
            return false;
        };
        if to.abs_diff(from) >= len {
            // SAFETY: both checked, and apart.
            unsafe { copy::copy_large(source, target, len as usize) };
            return true;
        }
        let mut buffer = vec![0; len as usize];
        self.read(from, &mut buffer) && self.write(to, &buffer)
    }

    /// Sets `len` bytes; `false` if they are not all inside.
    pub(crate) fn fill(&self, address: u64, byte: u8, len: u64) -> bool {
        if !self.holds(address, len) {
            return false;
        }
        let block = [byte; 4096];
        let mut at = 0;
        while at < len {
            let part = (len - at).min(4096);
            self.write(address + at, &block[..part as usize]);
            at += part;
        }
        true
    }
}

/// Zeroed host memory of 64-byte alignment that only grows: frames, shared and local memory.
#[derive(Debug)]
pub(crate) struct Buffer {
    host: NonNull<u8>,
    size: usize,
}

// SAFETY: a `Buffer` owns its memory.
unsafe impl Send for Buffer {}

impl Buffer {
    pub(crate) fn new() -> Buffer {
        Buffer {
            host: NonNull::dangling(),
            size: 0,
        }
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 64).expect("sizes come from checked launch limits")
    }

    /// At least `size` bytes; what was there before is lost when it grows.
    pub(crate) fn reserve(&mut self, size: usize) {
        if size <= self.size {
            return;
        }
        let size = size.next_multiple_of(4096);
        let layout = Buffer::layout(size);
        // SAFETY: `size` is not zero.
        let host = unsafe { alloc_zeroed(layout) };
        self.release();
        self.host = NonNull::new(host).unwrap_or_else(|| handle_alloc_error(layout));
        self.size = size;
    }

    fn release(&mut self) {
        if self.size != 0 {
            // SAFETY: allocated by `reserve` with this layout.
            unsafe { dealloc(self.host.as_ptr(), Buffer::layout(self.size)) };
            self.size = 0;
        }
    }

    /// Its start; valid for the reserved size until the next `reserve` or drop.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.host.as_ptr()
    }

    /// The first `size` bytes as guest memory at `base`. The user drops it before the next `reserve`.
    pub(crate) fn window(&self, base: u64, size: u64) -> Window {
        let size = size.min(self.size as u64);
        // SAFETY: the buffer has `size` bytes; the scheduler makes a new window after each `reserve`.
        unsafe { Window::new(self.host.as_ptr(), base, size) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.release();
    }
}
