//! How PTX values sit in the cells of a frame.

use std::fmt::Debug;

/// A register's cell: `u32` for widths up to 32 bits, `u64` for 64.
pub(crate) trait Cell: Copy + Default + Debug + PartialEq + 'static {
    /// As a scalar slot holds it.
    fn widen(self) -> u64;
    /// From a scalar slot.
    fn narrow(value: u64) -> Self;
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
    let mut bits = 0;
    for i in 0..32 {
        bits |= u32::from(f(i)) << i;
    }
    bits
}
