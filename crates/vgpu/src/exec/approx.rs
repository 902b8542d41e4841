//! Reciprocals, roots and transcendentals: polynomials and exact operations, the same bits everywhere.

use super::{
    float::{Float, Rcp, Rsqrt, Sqrt, by_float_hot, flushed, odd_rounding},
    half::{Bf16, F16, Small},
    shape::{self, Un},
};
use crate::{build::Lowerer, error::Error};
use std::marker::PhantomData;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// Adding and subtracting it rounds an `f32` below 2^22 to an integer, ties to even.
const ROUND: f32 = 12_582_912.0;

/// `2^x`, relative error below 2^-22.5; exact for integers.
#[inline(always)]
pub(super) fn exp2(x: f32) -> f32 {
    let low = if x < -152.0 { -152.0 } else { x };
    let clamped = if low > 130.0 { 130.0 } else { low };
    let shifted = clamped + ROUND;
    let n = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let f = clamped - (shifted - ROUND);
    // Taylor's series of e^(f ln 2) for |f| <= 1/2.
    let mut p = 1.525_273_4e-5f32;
    p = p.mul_add(f, 1.540_353e-4);
    p = p.mul_add(f, 1.333_355_8e-3);
    p = p.mul_add(f, 9.618_129e-3);
    p = p.mul_add(f, 5.550_411e-2);
    p = p.mul_add(f, 2.402_265_1e-1);
    p = p.mul_add(f, 6.931_472e-1);
    p = p.mul_add(f, 1.0);
    // Two factors, so that only the last product rounds a subnormal result.
    let half = n >> 1;
    let power = |e: i32| f32::from_bits((e.wrapping_add(127) as u32) << 23);
    (p * power(half) * power(n.wrapping_sub(half))).canonical()
}

/// `log2 x`, absolute error below 2^-22 near 1 and relative error below 2^-22 elsewhere.
#[inline(always)]
pub(super) fn log2(x: f32) -> f32 {
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 8_388_608.0 } else { x };
    let bits = scaled.to_bits();
    // The mantissa from sqrt(1/2) to sqrt(2), so that s below is small.
    let shifted = bits.wrapping_sub(0x3F35_04F3);
    let e = (shifted as i32) >> 23;
    let m = f32::from_bits((shifted & 0x7F_FFFF).wrapping_add(0x3F35_04F3));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 0.320_598_9f32;
    p = p.mul_add(z, 0.412_198_57);
    p = p.mul_add(z, 0.577_078);
    p = p.mul_add(z, 0.961_796_7);
    p = p.mul_add(z, 2.885_39);
    let e = e as f32 - if tiny { 23.0 } else { 0.0 };
    let y = s.mul_add(p, e);
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    (if x < 0.0 {
        f32::NAN
    } else if x.is_nan() {
        x
    } else {
        y
    })
    .canonical()
}

/// Sine of `x` plus `quarter` right angles, absolute error below 2^-23 up to |x| of about 1e9.
#[inline(always)]
fn sine(x: f32, quarter: u32) -> f32 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let y = f64::from(x);
    let inside = y.abs() < 1e15;
    let safe = if inside { y } else { 0.0 };
    let shifted = safe.mul_add(std::f64::consts::FRAC_2_PI, MAGIC);
    let k = shifted - MAGIC;
    let r = k.mul_add(
        -6.123_233_995_736_766e-17,
        k.mul_add(-std::f64::consts::FRAC_PI_2, safe),
    );
    let z = r * r;
    let mut s = 2.755_731_922_398_589e-6f64;
    s = s.mul_add(z, -1.984_126_984_126_984e-4);
    s = s.mul_add(z, 8.333_333_333_333_333e-3);
    s = s.mul_add(z, -0.166_666_666_666_666_66);
    s = (s * z).mul_add(r, r);
    let mut c = -2.755_731_922_398_589e-7f64;
    c = c.mul_add(z, 2.480_158_730_158_73e-5);
    c = c.mul_add(z, -1.388_888_888_888_889e-3);
    c = c.mul_add(z, 4.166_666_666_666_666_4e-2);
    c = c.mul_add(z, -0.5);
    c = c.mul_add(z, 1.0);
    let quadrant = (shifted.to_bits() as u32).wrapping_add(quarter);
    let value = if quadrant & 1 != 0 { c } else { s };
    let signed = if quadrant & 2 != 0 { -value } else { value };
    // Zero keeps its sign.
    let out = if x == 0.0 && quarter == 0 {
        x
    } else {
        signed as f32
    };
    (if x.abs() < f32::INFINITY {
        out
    } else {
        f32::NAN
    })
    .canonical()
}

/// `tanh x`, relative error below 2^-20.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let mut p = -0.053_968_254f32;
    p = p.mul_add(z, 0.133_333_34);
    p = p.mul_add(z, -0.333_333_34);
    let small = (p * z).mul_add(x, x);
    let e = exp2(a * 2.885_390_1);
    let large = (1.0 - 2.0 / (e + 1.0)).copysign(x);
    (if a < 0.25 { small } else { large }).canonical()
}

struct Exp2<const FTZ: bool>;
struct Log2<const FTZ: bool>;
struct Sin<const FTZ: bool>;
struct Cos<const FTZ: bool>;
struct Tanh;

macro_rules! uns {
    ($($name:ident |$a:ident| $body:expr;)*) => {$(
        impl<const FTZ: bool> Un for $name<FTZ> {
            type A = f32;
            type D = f32;
            #[inline(always)]
            fn f(a: f32) -> f32 {
                let $a = flushed::<f32, FTZ>(a);
                flushed::<f32, FTZ>($body)
            }
        }
    )*};
}
uns! {
    Exp2 |a| exp2(a);
    Log2 |a| log2(a);
    Sin |a| sine(a, 0);
    Cos |a| sine(a, 1);
}
impl Un for Tanh {
    type A = f32;
    type D = f32;
    #[inline(always)]
    fn f(a: f32) -> f32 {
        tanh(a)
    }
}

/// A function of `f32` on a 16-bit float.
struct SmallTanh<S>(PhantomData<S>);
struct SmallExp2<S>(PhantomData<S>);
impl<S: Small> Un for SmallTanh<S> {
    type A = S;
    type D = S;
    #[inline(always)]
    fn f(a: S) -> S {
        S::of_f32(tanh(a.as_f32()))
    }
}
impl<S: Small> Un for SmallExp2<S> {
    type A = S;
    type D = S;
    #[inline(always)]
    fn f(a: S) -> S {
        S::of_f32(exp2(a.as_f32()))
    }
}

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    if odd_rounding(inst) {
        return Err(l.unsupported(inst));
    }
    let ftz = inst.quals.has(Qual::Ftz);
    match (inst.op, inst.quals.types().next()) {
        (Op::Rcp, Some(Type::F64)) => shape::un_cold::<Rcp<f64, false>>(l, inst),
        (Op::Rsqrt, Some(Type::F64)) => shape::un_cold::<Rsqrt<f64, false>>(l, inst),
        (Op::Rcp, _) => by_float_hot!(l, inst, un, un_cold, Rcp),
        (Op::Sqrt, _) => by_float_hot!(l, inst, un, un_cold, Sqrt),
        (Op::Rsqrt, _) => by_float_hot!(l, inst, un, un_cold, Rsqrt),
        (Op::Ex2, Some(Type::F32)) if ftz => shape::un::<Exp2<true>>(l, inst),
        (Op::Ex2, Some(Type::F32)) => shape::un::<Exp2<false>>(l, inst),
        (Op::Lg2, Some(Type::F32)) if ftz => shape::un::<Log2<true>>(l, inst),
        (Op::Lg2, Some(Type::F32)) => shape::un::<Log2<false>>(l, inst),
        (Op::Sin, Some(Type::F32)) if ftz => shape::un::<Sin<true>>(l, inst),
        (Op::Sin, Some(Type::F32)) => shape::un::<Sin<false>>(l, inst),
        (Op::Cos, Some(Type::F32)) if ftz => shape::un::<Cos<true>>(l, inst),
        (Op::Cos, Some(Type::F32)) => shape::un::<Cos<false>>(l, inst),
        (Op::Tanh, Some(Type::F32)) => shape::un::<Tanh>(l, inst),
        (Op::Tanh, Some(Type::F16)) => shape::un_cold::<SmallTanh<F16>>(l, inst),
        (Op::Tanh, Some(Type::BF16)) => shape::un_cold::<SmallTanh<Bf16>>(l, inst),
        (Op::Ex2, Some(Type::F16)) => shape::un_cold::<SmallExp2<F16>>(l, inst),
        (Op::Ex2, Some(Type::BF16)) => shape::un_cold::<SmallExp2<Bf16>>(l, inst),
        _ => Err(l.unsupported(inst)),
    }
}
