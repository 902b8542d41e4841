//! How PTX values sit in the cells of a frame.

#[cfg_attr(target_arch = "x86_64", path = "lane_bits_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "lane_bits_other.rs")]
mod bits;

use std::fmt::Debug;

/// A register's cell: `u32` for widths up to 32 bits, `u64` for 64.
pub(crate) trait Cell: Copy + Default + Debug + PartialEq + 'static {
    /// As a scalar slot holds it.
    fn widen(self) -> u64;
    /// From a scalar slot.
    fn narrow(value: u64) -> Self;
    /// `self - by`, wrapping.
    fn less(self, by: u32) -> Self;
    /// The bits in which two cells differ, and those of `so_far`.
    fn apart(self, other: Self, so_far: Self) -> Self;
}

impl Cell for u32 {
    #[inline(always)]
    fn widen(self) -> u64 {
        u64::from(self)
    }
    #[inline(always)]
    fn narrow(value: u64) -> u32 {
        value as u32
    }
    #[inline(always)]
    fn less(self, by: u32) -> u32 {
        self.wrapping_sub(by)
    }
    #[inline(always)]
    fn apart(self, other: u32, so_far: u32) -> u32 {
        so_far | (self ^ other)
    }
}

impl Cell for u64 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self
    }
    #[inline(always)]
    fn narrow(value: u64) -> u64 {
        value
    }
    #[inline(always)]
    fn less(self, by: u32) -> u64 {
        self.wrapping_sub(u64::from(by))
    }
    #[inline(always)]
    fn apart(self, other: u64, so_far: u64) -> u64 {
        so_far | (self ^ other)
    }
}

/// A value of one lane.
pub(crate) trait Lane: Copy + 'static {
    /// Its cell.
    type Cell: Cell;
    /// Reads a cell.
    fn from_cell(cell: Self::Cell) -> Self;
    /// Makes a cell.
    fn to_cell(self) -> Self::Cell;
}

macro_rules! lanes {
    ($($ty:ty, $cell:ty, $from:expr, $to:expr;)*) => {$(
        impl Lane for $ty {
            type Cell = $cell;
            #[inline(always)]
            fn from_cell(cell: $cell) -> $ty {
                let from: fn($cell) -> $ty = $from;
                from(cell)
            }
            #[inline(always)]
            fn to_cell(self) -> $cell {
                let to: fn($ty) -> $cell = $to;
                to(self)
            }
        }
    )*};
}

lanes! {
    u8, u32, |c| c as u8, |x| u32::from(x);
    i8, u32, |c| c as i8, |x| x as i32 as u32;
    u16, u32, |c| c as u16, |x| u32::from(x);
    i16, u32, |c| c as i16, |x| x as i32 as u32;
    u32, u32, |c| c, |x| x;
    i32, u32, |c| c as i32, |x| x as u32;
    f32, u32, f32::from_bits, f32::to_bits;
    u64, u64, |c| c, |x| x;
    i64, u64, |c| c as i64, |x| x as u64;
    f64, u64, f64::from_bits, f64::to_bits;
}

/// Builds 32 lanes; the loop the compiler makes vectors of.
#[inline(always)]
pub(crate) fn lanes<T: Copy + Default>(mut f: impl FnMut(usize) -> T) -> [T; 32] {
    let mut out = [T::default(); 32];
    for (i, slot) in out.iter_mut().enumerate() {
        *slot = f(i);
    }
    out
}

/// Lane bits of a condition.
#[inline(always)]
pub(crate) fn mask_of(mut f: impl FnMut(usize) -> bool) -> u32 {
    bits::of(&lanes(|i| if f(i) { !0 } else { 0 }))
}

/// Where lane 0's access of `step` bytes is if the lanes of `mask` have neighbouring ones in order, by their
/// addresses.
#[inline(always)]
pub(crate) fn first_of_run<C: Cell>(at: &[C; 32], step: u32, mask: u32) -> Option<C> {
    let mut starts = lanes(|i| at[i].less(i as u32 * step));
    // A lane known only at run time: with lane 0 the compiler leaves one comparison out, and reads the other 31
    // across the borders of the vectors that were written.
    let first = mask.trailing_zeros() as usize & 31;
    let lead = at[first].less(first as u32 * step);
    if mask != !0 {
        let own = starts;
        starts = lanes(|i| if mask >> i & 1 != 0 { own[i] } else { lead });
    }
    let mut off = C::default();
    for start in starts {
        off = start.apart(lead, off);
    }
    (off == C::default()).then_some(lead)
}

/// The bits of a result; there is one NaN. Looked at as an integer: of a computation that it sees, the compiler may take
/// any NaN for any other.
#[inline(always)]
pub(crate) fn one_nan(x: f64) -> u64 {
    const INFINITE: u64 = f64::INFINITY.to_bits();
    let bits = x.to_bits();
    if bits & !(1 << 63) > INFINITE {
        0x7FF8_0000_0000_0000
    } else {
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::one_nan;

    #[test]
    fn there_is_one_nan() {
        let infinite = std::hint::black_box(f64::INFINITY);
        for nan in [f64::NAN, -f64::NAN, infinite - infinite, (-infinite).sqrt()] {
            assert_eq!(one_nan(nan), 0x7FF8_0000_0000_0000);
        }
        for x in [0.0, -0.0, infinite, -infinite, f64::MIN_POSITIVE, -1.5] {
            assert_eq!(one_nan(x), x.to_bits());
        }
    }
}
