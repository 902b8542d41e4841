//! Block moves as inline assembly: a race is then the machine's, with its defined result.

use std::arch::asm;

/// Copies `len` bytes; the ranges may overlap nowhere.
///
/// # Safety
/// Both are valid for `len` bytes.
pub(in super::super) unsafe fn copy_large(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep movsb", inout("rcx") len => _, inout("rsi") from => _, inout("rdi") to => _,
            options(nostack, preserves_flags));
    }
}

/// Copies 16 bytes from each first place to the second, in order.
///
/// # Safety
/// All are valid for 16 bytes.
#[inline(always)]
pub(in super::super) unsafe fn move_rows(rows: impl Iterator<Item = (*const u8, *mut u8)>) {
    // As in `move_block`; asked once for all rows.
    if is_x86_feature_detected!("avx") {
        for (from, to) in rows {
            // SAFETY: the caller's.
            unsafe {
                asm!("vmovups {x}, [{f}]", "vmovups [{t}], {x}",
                    f = in(reg) from, t = in(reg) to, x = out(xmm_reg) _,
                    options(nostack, preserves_flags));
            }
        }
    } else {
        for (from, to) in rows {
            // SAFETY: the caller's.
            unsafe { move_with_sse::<[u8; 16]>(from, to) };
        }
    }
}

/// Copies the bytes of an `X`.
///
/// # Safety
/// Both are valid for the size of `X`, which is a multiple of 16.
#[inline(always)]
pub(in super::super) unsafe fn move_block<X>(from: *const u8, to: *mut u8) {
    const { assert!(size_of::<X>().is_multiple_of(16)) };
    // `movups` in code that uses 256 bits waits for the upper halves of its registers: 12 times slower.
    // `vmovups` of 128 bits does not, and leaves nothing behind that code without AVX would wait for.
    // Whole lines are read again as whole lines: what is written in smaller parts would have to be in the cache first.
    // SAFETY: the caller's; the CPU has AVX or AVX-512 where that is asked for.
    unsafe {
        if size_of::<X>().is_multiple_of(LINE) && is_x86_feature_detected!("avx512f") {
            move_with_avx512::<X>(from, to);
        } else if is_x86_feature_detected!("avx") {
            move_with_avx::<X>(from, to);
        } else {
            move_with_sse::<X>(from, to);
        }
    }
}

/// Bytes of a cache line, and of the widest register.
const LINE: usize = 64;

/// Asks for the cache lines of the bytes of an `X` at `from`, which may be any address: nothing is read.
#[inline(always)]
pub(in super::super) fn prefetch<X>(from: *const u8) {
    let mut at = 0;
    while at < size_of::<X>() {
        // SAFETY: a prefetch never faults and changes nothing that a program can see.
        unsafe {
            asm!("prefetcht0 [{f}]", f = in(reg) from.wrapping_add(at),
                options(nostack, preserves_flags, readonly));
        }
        at += LINE;
    }
}

/// # Safety
/// As for [`move_block`]; the size is a multiple of [`LINE`]; the CPU has AVX-512.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn move_with_avx512<X>(from: *const u8, to: *mut u8) {
    let mut at = 0;
    while at + 2 * LINE <= size_of::<X>() {
        // SAFETY: `at` stays below the size, for which both are valid by the caller. Code without AVX does not wait for
        // the upper halves of these registers.
        unsafe {
            asm!("vmovups zmm16, [{f}]", "vmovups zmm17, [{f} + 64]",
                "vmovups [{t}], zmm16", "vmovups [{t} + 64], zmm17",
                f = in(reg) from.add(at), t = in(reg) to.add(at), out("zmm16") _, out("zmm17") _,
                options(nostack, preserves_flags));
        }
        at += 2 * LINE;
    }
    while at < size_of::<X>() {
        // SAFETY: as above.
        unsafe {
            asm!("vmovups zmm16, [{f}]", "vmovups [{t}], zmm16",
                f = in(reg) from.add(at), t = in(reg) to.add(at), out("zmm16") _,
                options(nostack, preserves_flags));
        }
        at += LINE;
    }
}

macro_rules! moves {
    ($(#[$doc:meta])* $name:ident, $mov:literal) => {
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name<X>(from: *const u8, to: *mut u8) {
            let mut at = 0;
            // SAFETY: `at` stays below the size, for which both are valid by the caller.
            unsafe {
                while at + 128 <= size_of::<X>() {
                    let (from, to) = (from.add(at), to.add(at));
                    asm!(
                        concat!($mov, " {a}, [{f}]"), concat!($mov, " {b}, [{f} + 16]"),
                        concat!($mov, " {c}, [{f} + 32]"), concat!($mov, " {d}, [{f} + 48]"),
                        concat!($mov, " {e}, [{f} + 64]"), concat!($mov, " {g}, [{f} + 80]"),
                        concat!($mov, " {h}, [{f} + 96]"), concat!($mov, " {i}, [{f} + 112]"),
                        concat!($mov, " [{t}], {a}"), concat!($mov, " [{t} + 16], {b}"),
                        concat!($mov, " [{t} + 32], {c}"), concat!($mov, " [{t} + 48], {d}"),
                        concat!($mov, " [{t} + 64], {e}"), concat!($mov, " [{t} + 80], {g}"),
                        concat!($mov, " [{t} + 96], {h}"), concat!($mov, " [{t} + 112], {i}"),
                        f = in(reg) from, t = in(reg) to,
                        a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                        e = out(xmm_reg) _, g = out(xmm_reg) _, h = out(xmm_reg) _, i = out(xmm_reg) _,
                        options(nostack, preserves_flags)
                    );
                    at += 128;
                }
                while at + 16 <= size_of::<X>() {
                    let (from, to) = (from.add(at), to.add(at));
                    asm!(concat!($mov, " {a}, [{f}]"), concat!($mov, " [{t}], {a}"),
                        f = in(reg) from, t = in(reg) to, a = out(xmm_reg) _,
                        options(nostack, preserves_flags));
                    at += 16;
                }
            }
        }
    };
}

moves! {
    /// # Safety
    /// As for [`move_block`], and the CPU has AVX.
    move_with_avx, "vmovups"
}
moves! {
    /// # Safety
    /// As for [`move_block`].
    move_with_sse, "movups"
}
