//! Integer arithmetic of 16, 32 and 64 bits.

use super::{
    dot::byte,
    lane::Lane,
    shape::{self, Bin, Tern, Un},
};
use crate::{build::Lowerer, error::Error};
use std::marker::PhantomData;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// The arithmetic of one integer type.
pub(super) trait Int: Lane + Ord {
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn mul_hi(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn rem(self, b: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn add_sat(self, b: Self) -> Self;
    fn sub_sat(self, b: Self) -> Self;
    fn abs_diff(self, b: Self) -> Self;
}

macro_rules! ints {
    ($($ty:ty, $wide:ty, $abs:expr;)*) => {$(
        impl Int for $ty {
            #[inline(always)]
            fn add(self, b: Self) -> Self { self.wrapping_add(b) }
            #[inline(always)]
            fn sub(self, b: Self) -> Self { self.wrapping_sub(b) }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self.wrapping_mul(b) }
            #[inline(always)]
            fn mul_hi(self, b: Self) -> Self {
                ((self as $wide).wrapping_mul(b as $wide) >> <$ty>::BITS) as $ty
            }
            #[inline(always)]
            fn div(self, b: Self) -> Self { if b == 0 { !0 } else { self.wrapping_div(b) } }
            #[inline(always)]
            fn rem(self, b: Self) -> Self { if b == 0 { !0 } else { self.wrapping_rem(b) } }
            #[inline(always)]
            fn neg(self) -> Self { (0 as $ty).wrapping_sub(self) }
            #[inline(always)]
            fn abs(self) -> Self { let abs: fn($ty) -> $ty = $abs; abs(self) }
            #[inline(always)]
            fn add_sat(self, b: Self) -> Self { self.saturating_add(b) }
            #[inline(always)]
            fn sub_sat(self, b: Self) -> Self { self.saturating_sub(b) }
            #[inline(always)]
            fn abs_diff(self, b: Self) -> Self {
                if self < b { b.wrapping_sub(self) } else { self.wrapping_sub(b) }
            }
        }
    )*};
}
ints! {
    u16, u32, |x| x; i16, i32, i16::wrapping_abs; u32, u64, |x| x; i32, i64, i32::wrapping_abs;
    u64, u128, |x| x; i64, i128, i64::wrapping_abs;
}

macro_rules! bins {
    ($($name:ident $commutes:literal |$a:ident, $b:ident| $body:expr;)*) => {$(
        struct $name<T>(PhantomData<T>);
        impl<T: Int> Bin for $name<T> {
            type A = T;
            type B = T;
            type D = T;
            const COMMUTES: bool = $commutes;
            #[inline(always)]
            fn f($a: T, $b: T) -> T { $body }
        }
    )*};
}
bins! {
    Add true |a, b| a.add(b);
    Sub false |a, b| a.sub(b);
    Mul true |a, b| a.mul(b);
    MulHi true |a, b| a.mul_hi(b);
    Div false |a, b| a.div(b);
    Rem false |a, b| a.rem(b);
    Min true |a, b| a.min(b);
    Max true |a, b| a.max(b);
    AddSat true |a, b| a.add_sat(b);
    SubSat false |a, b| a.sub_sat(b);
}

struct Neg<T>(PhantomData<T>);
impl<T: Int> Un for Neg<T> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn f(a: T) -> T {
        a.neg()
    }
}

struct Abs<T>(PhantomData<T>);
impl<T: Int> Un for Abs<T> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn f(a: T) -> T {
        a.abs()
    }
}

macro_rules! terns {
    ($($name:ident |$a:ident, $b:ident, $c:ident| $body:expr;)*) => {$(
        struct $name<T>(PhantomData<T>);
        impl<T: Int> Tern for $name<T> {
            type A = T;
            type B = T;
            type C = T;
            type D = T;
            #[inline(always)]
            fn f($a: T, $b: T, $c: T) -> T { $body }
        }
    )*};
}
terns! {
    Mad |a, b, c| a.mul(b).add(c);
    MadHi |a, b, c| a.mul_hi(b).add(c);
    MadHiSat |a, b, c| a.mul_hi(b).add_sat(c);
    Sad |a, b, c| c.add(a.abs_diff(b));
}

/// The full product.
struct MulWide<S, D>(PhantomData<(S, D)>);
/// The full product plus a wide number.
struct MadWide<S, D>(PhantomData<(S, D)>);
macro_rules! wide {
    ($($from:ty => $to:ty;)*) => {$(
        impl Bin for MulWide<$from, $to> {
            type A = $from;
            type B = $from;
            type D = $to;
            const COMMUTES: bool = true;
            #[inline(always)]
            fn f(a: $from, b: $from) -> $to { (a as $to).wrapping_mul(b as $to) }
        }
        impl Tern for MadWide<$from, $to> {
            type A = $from;
            type B = $from;
            type C = $to;
            type D = $to;
            #[inline(always)]
            fn f(a: $from, b: $from, c: $to) -> $to {
                (a as $to).wrapping_mul(b as $to).wrapping_add(c)
            }
        }
    )*};
}
wide! { u16 => u32; i16 => i32; u32 => u64; i32 => i64; }

/// 24-bit products: low and high halves of the 48 bits, with an addend.
struct Mad24<T, const HIGH: bool>(PhantomData<T>);
impl<const HIGH: bool> Tern for Mad24<u32, HIGH> {
    type A = u32;
    type B = u32;
    type C = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let product = u64::from(a & 0xFF_FFFF) * u64::from(b & 0xFF_FFFF);
        ((product >> if HIGH { 16 } else { 0 }) as u32).wrapping_add(c)
    }
}
impl<const HIGH: bool> Tern for Mad24<i32, HIGH> {
    type A = i32;
    type B = i32;
    type C = i32;
    type D = i32;
    #[inline(always)]
    fn f(a: i32, b: i32, c: i32) -> i32 {
        let product = i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8);
        ((product >> if HIGH { 16 } else { 0 }) as i32).wrapping_add(c)
    }
}

/// Two products of 16-bit by 8-bit numbers plus a number; the bytes are the low or the high two of `b`.
struct Dp2a<const SA: bool, const SB: bool, const HIGH: bool>;
impl<const SA: bool, const SB: bool, const HIGH: bool> Tern for Dp2a<SA, SB, HIGH> {
    type A = u32;
    type B = u32;
    type C = i32;
    type D = i32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: i32) -> i32 {
        let word = |i: u32| {
            let x = (a >> (16 * i)) as u16;
            if SA {
                i32::from(x as i16)
            } else {
                i32::from(x)
            }
        };
        let at = if HIGH { 2 } else { 0 };
        c.wrapping_add(word(0) * byte::<SB>(b, at) + word(1) * byte::<SB>(b, at + 1))
    }
}

macro_rules! by_int {
    ($ty:expr, $l:expr, $inst:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::U16 | Type::B16 => {
                type $t = u16;
                $body
            }
            Type::S16 => {
                type $t = i16;
                $body
            }
            Type::U32 | Type::B32 => {
                type $t = u32;
                $body
            }
            Type::S32 => {
                type $t = i32;
                $body
            }
            Type::U64 | Type::B64 => {
                type $t = u64;
                $body
            }
            Type::S64 => {
                type $t = i64;
                $body
            }
            _ => Err($l.unsupported($inst)),
        }
    };
}

/// Hot for 32 and 64 bits, compiled once for 16.
macro_rules! by_int_hot {
    ($ty:expr, $l:expr, $inst:expr, $hot:ident, $cold:ident, $op:ident) => {
        match $ty {
            Type::U16 | Type::B16 => shape::$cold::<$op<u16>>($l, $inst),
            Type::S16 => shape::$cold::<$op<i16>>($l, $inst),
            Type::U32 | Type::B32 => shape::$hot::<$op<u32>>($l, $inst),
            Type::S32 => shape::$hot::<$op<i32>>($l, $inst),
            Type::U64 | Type::B64 => shape::$hot::<$op<u64>>($l, $inst),
            Type::S64 => shape::$hot::<$op<i64>>($l, $inst),
            _ => Err($l.unsupported($inst)),
        }
    };
}

/// Where signs do not matter, one instance serves both.
macro_rules! by_size_hot {
    ($ty:expr, $l:expr, $inst:expr, $hot:ident, $cold:ident, $op:ident) => {
        match $ty {
            Type::U16 | Type::S16 | Type::B16 => shape::$cold::<$op<u16>>($l, $inst),
            Type::U32 | Type::S32 | Type::B32 => shape::$hot::<$op<u32>>($l, $inst),
            Type::U64 | Type::S64 | Type::B64 => shape::$hot::<$op<u64>>($l, $inst),
            _ => Err($l.unsupported($inst)),
        }
    };
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let Some(ty) = q.types().next() else {
        return Err(l.unsupported(inst));
    };
    if q.has(Qual::Cc) || q.has(Qual::Relu) {
        return Err(l.unsupported(inst));
    }
    let (hi, wide, sat) = (q.has(Qual::Hi), q.has(Qual::Wide), q.has(Qual::Sat));
    match inst.op {
        Op::Add if sat => by_int!(ty, l, inst, T => shape::bin_cold::<AddSat<T>>(l, inst)),
        Op::Sub if sat => by_int!(ty, l, inst, T => shape::bin_cold::<SubSat<T>>(l, inst)),
        Op::Add => by_size_hot!(ty, l, inst, bin, bin_cold, Add),
        Op::Sub => by_size_hot!(ty, l, inst, bin, bin_cold, Sub),
        Op::Mul if wide => match ty {
            Type::U16 => shape::bin_cold::<MulWide<u16, u32>>(l, inst),
            Type::S16 => shape::bin_cold::<MulWide<i16, i32>>(l, inst),
            Type::U32 => shape::bin::<MulWide<u32, u64>>(l, inst),
            Type::S32 => shape::bin::<MulWide<i32, i64>>(l, inst),
            _ => Err(l.unsupported(inst)),
        },
        Op::Mad if wide => match ty {
            Type::U16 => shape::tern_cold::<MadWide<u16, u32>>(l, inst),
            Type::S16 => shape::tern_cold::<MadWide<i16, i32>>(l, inst),
            Type::U32 => shape::tern::<MadWide<u32, u64>>(l, inst),
            Type::S32 => shape::tern::<MadWide<i32, i64>>(l, inst),
            _ => Err(l.unsupported(inst)),
        },
        Op::Mul if hi && ty == Type::U32 => shape::bin::<MulHi<u32>>(l, inst),
        Op::Mul if hi => by_int!(ty, l, inst, T => shape::bin_cold::<MulHi<T>>(l, inst)),
        Op::Mul => by_size_hot!(ty, l, inst, bin, bin_cold, Mul),
        Op::Mad if hi && sat => by_int!(ty, l, inst, T => shape::tern_cold::<MadHiSat<T>>(l, inst)),
        Op::Mad if hi => by_int!(ty, l, inst, T => shape::tern_cold::<MadHi<T>>(l, inst)),
        Op::Mad => by_size_hot!(ty, l, inst, tern, tern_cold, Mad),
        Op::Div => by_int!(ty, l, inst, T => shape::bin_cold::<Div<T>>(l, inst)),
        Op::Rem => by_int!(ty, l, inst, T => shape::bin_cold::<Rem<T>>(l, inst)),
        Op::Min => by_int_hot!(ty, l, inst, bin, bin_cold, Min),
        Op::Max => by_int_hot!(ty, l, inst, bin, bin_cold, Max),
        Op::Neg => by_int!(ty, l, inst, T => shape::un_cold::<Neg<T>>(l, inst)),
        Op::Abs => by_int!(ty, l, inst, T => shape::un_cold::<Abs<T>>(l, inst)),
        Op::Sad => by_int!(ty, l, inst, T => shape::tern_cold::<Sad<T>>(l, inst)),
        Op::Mad24 if !sat => match (ty, hi) {
            (Type::U32, false) => shape::tern_cold::<Mad24<u32, false>>(l, inst),
            (Type::U32, true) => shape::tern_cold::<Mad24<u32, true>>(l, inst),
            (Type::S32, false) => shape::tern_cold::<Mad24<i32, false>>(l, inst),
            (Type::S32, true) => shape::tern_cold::<Mad24<i32, true>>(l, inst),
            _ => Err(l.unsupported(inst)),
        },
        Op::Mul24 => {
            let mut inst = inst.clone();
            inst.operands.push(warpsmith_ptx::ir::Operand::Imm(
                warpsmith_ptx::ir::Imm::Int(0),
            ));
            match (ty, hi) {
                (Type::U32, false) => shape::tern_cold::<Mad24<u32, false>>(l, &inst),
                (Type::U32, true) => shape::tern_cold::<Mad24<u32, true>>(l, &inst),
                (Type::S32, false) => shape::tern_cold::<Mad24<i32, false>>(l, &inst),
                (Type::S32, true) => shape::tern_cold::<Mad24<i32, true>>(l, &inst),
                _ => Err(l.unsupported(&inst)),
            }
        }
        Op::Dp2a => match (signs(inst), hi) {
            ((false, false), false) => shape::tern_cold::<Dp2a<false, false, false>>(l, inst),
            ((false, true), false) => shape::tern_cold::<Dp2a<false, true, false>>(l, inst),
            ((true, false), false) => shape::tern_cold::<Dp2a<true, false, false>>(l, inst),
            ((true, true), false) => shape::tern_cold::<Dp2a<true, true, false>>(l, inst),
            ((false, false), true) => shape::tern_cold::<Dp2a<false, false, true>>(l, inst),
            ((false, true), true) => shape::tern_cold::<Dp2a<false, true, true>>(l, inst),
            ((true, false), true) => shape::tern_cold::<Dp2a<true, false, true>>(l, inst),
            ((true, true), true) => shape::tern_cold::<Dp2a<true, true, true>>(l, inst),
        },
        _ => Err(l.unsupported(inst)),
    }
}

/// Whether the two types of `dp2a.atype.btype` are signed.
fn signs(inst: &Inst) -> (bool, bool) {
    let mut types = inst.quals.types().map(|ty| ty == Type::S32);
    (types.next().unwrap_or(false), types.next().unwrap_or(false))
}
