//! `f16` and `bf16`, alone and in pairs: conversion by integer steps, arithmetic rounded once.

use super::{
    float,
    lane::Lane,
    shape::{self, Bin, Tern, Un},
};
use crate::{build::Lowerer, error::Error};
use std::marker::PhantomData;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// An IEEE half.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct F16(pub(super) u16);
/// A bfloat16.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Bf16(pub(super) u16);

/// A 16-bit float.
pub(super) trait Small: Lane<Cell = u32> + Default {
    fn as_f32(self) -> f32;
    /// Rounded to nearest even; NaN is 0x7FFF.
    fn of_f32(x: f32) -> Self;
    fn bits(self) -> u16;
    fn of_bits(bits: u16) -> Self;
}

impl F16 {
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        let magnitude = u32::from(self.0 & 0x7FFF) << 13;
        let exponent = magnitude & 0x0F80_0000;
        let normal = magnitude.wrapping_add(112 << 23);
        let special = normal.wrapping_add(112 << 23);
        let subnormal = f32::from_bits(normal.wrapping_add(1 << 23)) - f32::from_bits(113 << 23);
        let bits = if exponent == 0x0F80_0000 {
            special
        } else if exponent == 0 {
            subnormal.to_bits()
        } else {
            normal
        };
        f32::from_bits(bits | u32::from(self.0 & 0x8000) << 16)
    }

    #[inline(always)]
    pub(super) fn from_f32(x: f32) -> F16 {
        let bits = x.to_bits();
        let magnitude = bits & 0x7FFF_FFFF;
        let odd = magnitude >> 13 & 1;
        let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xFFF + odd) >> 13;
        let subnormal = (f32::from_bits(magnitude) + 0.5)
            .to_bits()
            .wrapping_sub(0x3F00_0000);
        let half = if magnitude > 0x7F80_0000 {
            return F16(0x7FFF);
        } else if magnitude >= 0x4780_0000 {
            0x7C00
        } else if magnitude < 0x3880_0000 {
            subnormal
        } else {
            normal
        };
        F16(half as u16 | (bits >> 16) as u16 & 0x8000)
    }
}

impl Bf16 {
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    #[inline(always)]
    pub(super) fn from_f32(x: f32) -> Bf16 {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
        Bf16(if x.is_nan() { 0x7FFF } else { rounded as u16 })
    }
}

macro_rules! small {
    ($($ty:ident)*) => {$(
        impl Lane for $ty {
            type Cell = u32;
            #[inline(always)]
            fn from_cell(cell: u32) -> $ty { $ty(cell as u16) }
            #[inline(always)]
            fn to_cell(self) -> u32 { u32::from(self.0) }
        }
        impl Small for $ty {
            #[inline(always)]
            fn as_f32(self) -> f32 { self.to_f32() }
            #[inline(always)]
            fn of_f32(x: f32) -> Self { $ty::from_f32(x) }
            #[inline(always)]
            fn bits(self) -> u16 { self.0 }
            #[inline(always)]
            fn of_bits(bits: u16) -> Self { $ty(bits) }
        }
    )*};
}
small! { F16 Bf16 }

/// `x` in `f32`, rounded to odd: rounding that again to fewer bits rounds once.
#[inline(always)]
pub(super) fn odd32(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    let up = back.abs() > x.abs();
    let other = if up {
        bits.wrapping_sub(1)
    } else {
        bits.wrapping_add(1)
    };
    f32::from_bits(if back != x && x == x && bits & 1 == 0 {
        other
    } else {
        bits
    })
}

/// `a * b + c` in `f64`, rounded to odd; `a * b` is exact.
#[inline(always)]
fn odd_fma(a: f64, b: f64, c: f64) -> f64 {
    let p = a * b;
    let s = p + c;
    let t = s - p;
    let error = (p - (s - t)) + (c - t);
    let bits = s.to_bits();
    let toward = (error > 0.0) == (s > 0.0);
    let other = if toward {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    let inexact = error != 0.0 && error == error && s.abs() < f64::INFINITY;
    f64::from_bits(if inexact && bits & 1 == 0 {
        other
    } else {
        bits
    })
}

#[inline(always)]
fn fma<S: Small>(a: S, b: S, c: S) -> f32 {
    let wide = |x: S| f64::from(x.as_f32());
    odd32(odd_fma(wide(a), wide(b), wide(c)))
}

/// An operation on 16-bit floats by way of `f32`.
trait Op2: 'static {
    fn f(a: f32, b: f32) -> f32;
}
struct Add;
struct Sub;
struct Mul;
struct Min<const NAN: bool>;
struct Max<const NAN: bool>;
impl Op2 for Add {
    #[inline(always)]
    fn f(a: f32, b: f32) -> f32 {
        odd32(f64::from(a) + f64::from(b))
    }
}
impl Op2 for Sub {
    #[inline(always)]
    fn f(a: f32, b: f32) -> f32 {
        odd32(f64::from(a) - f64::from(b))
    }
}
impl Op2 for Mul {
    #[inline(always)]
    fn f(a: f32, b: f32) -> f32 {
        odd32(f64::from(a) * f64::from(b))
    }
}
impl<const NAN: bool> Op2 for Min<NAN> {
    #[inline(always)]
    fn f(a: f32, b: f32) -> f32 {
        float::min::<f32, NAN>(a, b)
    }
}
impl<const NAN: bool> Op2 for Max<NAN> {
    #[inline(always)]
    fn f(a: f32, b: f32) -> f32 {
        float::max::<f32, NAN>(a, b)
    }
}

#[inline(always)]
fn saturate<S: Small, const SAT: bool>(x: f32) -> S {
    S::of_f32(if SAT { float::Float::clamp01(x) } else { x })
}

#[inline(always)]
fn split<S: Small>(x: u32) -> (S, S) {
    (S::of_bits(x as u16), S::of_bits((x >> 16) as u16))
}

#[inline(always)]
fn join<S: Small>(low: S, high: S) -> u32 {
    u32::from(low.bits()) | u32::from(high.bits()) << 16
}

struct One<S, O, const SAT: bool>(PhantomData<(S, O)>);
struct Two<S, O, const SAT: bool>(PhantomData<(S, O)>);
impl<S: Small, O: Op2, const SAT: bool> Bin for One<S, O, SAT> {
    type A = S;
    type B = S;
    type D = S;
    #[inline(always)]
    fn f(a: S, b: S) -> S {
        saturate::<S, SAT>(O::f(a.as_f32(), b.as_f32()))
    }
}
impl<S: Small, O: Op2, const SAT: bool> Bin for Two<S, O, SAT> {
    type A = u32;
    type B = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32) -> u32 {
        let ((al, ah), (bl, bh)) = (split::<S>(a), split::<S>(b));
        join(One::<S, O, SAT>::f(al, bl), One::<S, O, SAT>::f(ah, bh))
    }
}

struct Fma1<S, const SAT: bool, const RELU: bool>(PhantomData<S>);
struct Fma2<S, const SAT: bool, const RELU: bool>(PhantomData<S>);
impl<S: Small, const SAT: bool, const RELU: bool> Tern for Fma1<S, SAT, RELU> {
    type A = S;
    type B = S;
    type C = S;
    type D = S;
    #[inline(always)]
    fn f(a: S, b: S, c: S) -> S {
        let x = fma(a, b, c);
        let x = if RELU && x < 0.0 { 0.0 } else { x };
        saturate::<S, SAT>(x)
    }
}
impl<S: Small, const SAT: bool, const RELU: bool> Tern for Fma2<S, SAT, RELU> {
    type A = u32;
    type B = u32;
    type C = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32, b: u32, c: u32) -> u32 {
        let ((al, ah), (bl, bh), (cl, ch)) = (split::<S>(a), split::<S>(b), split::<S>(c));
        join(
            Fma1::<S, SAT, RELU>::f(al, bl, cl),
            Fma1::<S, SAT, RELU>::f(ah, bh, ch),
        )
    }
}

/// Flips or clears sign bits: `imm` of them.
struct Signs<const AND: u32, const XOR: u32>;
impl<const AND: u32, const XOR: u32> Un for Signs<AND, XOR> {
    type A = u32;
    type D = u32;
    #[inline(always)]
    fn f(a: u32) -> u32 {
        (a & AND) ^ XOR
    }
}

/// Whether this family knows the type.
pub(super) fn takes(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2)
}

macro_rules! by_small {
    ($ty:expr, $l:expr, $inst:expr, $op:ty, $sat:literal) => {
        match $ty {
            Type::F16 => shape::bin_cold::<One<F16, $op, $sat>>($l, $inst),
            Type::BF16 => shape::bin_cold::<One<Bf16, $op, $sat>>($l, $inst),
            Type::F16x2 => shape::bin_cold::<Two<F16, $op, $sat>>($l, $inst),
            _ => shape::bin_cold::<Two<Bf16, $op, $sat>>($l, $inst),
        }
    };
}

macro_rules! by_small_fma {
    ($ty:expr, $l:expr, $inst:expr, $sat:literal, $relu:literal) => {
        match $ty {
            Type::F16 => shape::tern_cold::<Fma1<F16, $sat, $relu>>($l, $inst),
            Type::BF16 => shape::tern_cold::<Fma1<Bf16, $sat, $relu>>($l, $inst),
            Type::F16x2 => shape::tern_cold::<Fma2<F16, $sat, $relu>>($l, $inst),
            _ => shape::tern_cold::<Fma2<Bf16, $sat, $relu>>($l, $inst),
        }
    };
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let Some(ty) = q.types().next() else {
        return Err(l.unsupported(inst));
    };
    if q.has(Qual::Ftz) || q.has(Qual::Xorsign) {
        return Err(l.unsupported(inst));
    }
    let pair = ty.bits() == 32;
    match (inst.op, q.has(Qual::Sat), q.has(Qual::Relu)) {
        (Op::Add, true, false) => by_small!(ty, l, inst, Add, true),
        (Op::Add, false, false) => by_small!(ty, l, inst, Add, false),
        (Op::Sub, true, false) => by_small!(ty, l, inst, Sub, true),
        (Op::Sub, false, false) => by_small!(ty, l, inst, Sub, false),
        (Op::Mul, true, false) => by_small!(ty, l, inst, Mul, true),
        (Op::Mul, false, false) => by_small!(ty, l, inst, Mul, false),
        (Op::Fma, true, false) => by_small_fma!(ty, l, inst, true, false),
        (Op::Fma, false, true) => by_small_fma!(ty, l, inst, false, true),
        (Op::Fma, false, false) => by_small_fma!(ty, l, inst, false, false),
        (Op::Min, false, false) if q.has(Qual::NaN) => by_small!(ty, l, inst, Min<true>, false),
        (Op::Min, false, false) => by_small!(ty, l, inst, Min<false>, false),
        (Op::Max, false, false) if q.has(Qual::NaN) => by_small!(ty, l, inst, Max<true>, false),
        (Op::Max, false, false) => by_small!(ty, l, inst, Max<false>, false),
        (Op::Neg, _, _) if pair => shape::un_cold::<Signs<0xFFFF_FFFF, 0x8000_8000>>(l, inst),
        (Op::Neg, _, _) => shape::un_cold::<Signs<0xFFFF, 0x8000>>(l, inst),
        (Op::Abs, _, _) if pair => shape::un_cold::<Signs<0x7FFF_7FFF, 0>>(l, inst),
        (Op::Abs, _, _) => shape::un_cold::<Signs<0x7FFF, 0>>(l, inst),
        _ => Err(l.unsupported(inst)),
    }
}
