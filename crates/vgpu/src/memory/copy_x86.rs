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

/// Copies the bytes of an `X`.
///
/// # Safety
/// Both are valid for the size of `X`, which is a multiple of 16.
#[inline(always)]
pub(in super::super) unsafe fn move_block<X>(from: *const u8, to: *mut u8) {
    const { assert!(size_of::<X>().is_multiple_of(16)) };
    let mut at = 0;
    // SAFETY: `at` stays below the size, for which both are valid by the caller.
    unsafe {
        while at + 128 <= size_of::<X>() {
            let (from, to) = (from.add(at), to.add(at));
            asm!(
                "movups {a}, [{f}]", "movups {b}, [{f} + 16]", "movups {c}, [{f} + 32]", "movups {d}, [{f} + 48]",
                "movups {e}, [{f} + 64]", "movups {g}, [{f} + 80]", "movups {h}, [{f} + 96]", "movups {i}, [{f} + 112]",
                "movups [{t}], {a}", "movups [{t} + 16], {b}", "movups [{t} + 32], {c}", "movups [{t} + 48], {d}",
                "movups [{t} + 64], {e}", "movups [{t} + 80], {g}", "movups [{t} + 96], {h}", "movups [{t} + 112], {i}",
                f = in(reg) from, t = in(reg) to,
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                e = out(xmm_reg) _, g = out(xmm_reg) _, h = out(xmm_reg) _, i = out(xmm_reg) _,
                options(nostack, preserves_flags)
            );
            at += 128;
        }
        while at + 16 <= size_of::<X>() {
            let (from, to) = (from.add(at), to.add(at));
            asm!("movups {a}, [{f}]", "movups [{t}], {a}", f = in(reg) from, t = in(reg) to,
                a = out(xmm_reg) _, options(nostack, preserves_flags));
            at += 16;
        }
    }
}
