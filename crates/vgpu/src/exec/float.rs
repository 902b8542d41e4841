//! Arithmetic of `f32` and `f64` in round-to-nearest, with PTX's rules for NaN, `.ftz` and `.sat`.

use super::{
    chain,
    lane::Lane,
    operand,
    shape::{self, Bin, Tern, Un},
};
use crate::{build::Lowerer, error::Error};
use std::marker::PhantomData;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

/// The arithmetic of one float type. NaN results are canonical: their bits do not depend on the tier.
pub(super) trait Float: Lane + PartialOrd + Default {
    fn canonical(self) -> Self;
    fn flush(self) -> Self;
    fn clamp01(self) -> Self;
    fn add(self, b: Self) -> Self;
    fn mul(self, b: Self) -> Self;
    fn div(self, b: Self) -> Self;
    fn sqrt(self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn is_nan(self) -> bool;
    fn is_negative(self) -> bool;
    fn one() -> Self;
    fn with_sign(self, of: Self) -> Self;
}

macro_rules! floats {
    ($($ty:ty, $bits:ty, $nan:literal, $exponent:literal;)*) => {$(
        impl Float for $ty {
            #[inline(always)]
            // On bits: a choice between two NaNs is no choice to a compiler.
            fn canonical(self) -> Self {
                let bits = self.to_bits();
                let magnitude = (bits << 1) >> 1;
                <$ty>::from_bits(if magnitude > <$ty>::INFINITY.to_bits() { $nan } else { bits })
            }
            #[inline(always)]
            fn flush(self) -> Self {
                let bits = self.to_bits();
                let sign = bits & !(<$bits>::MAX >> 1);
                <$ty>::from_bits(if bits & $exponent == 0 { sign } else { bits })
            }
            #[inline(always)]
            fn clamp01(self) -> Self {
                // NaN becomes 0.
                let low = if self > 0.0 { self } else { 0.0 };
                if low > 1.0 { 1.0 } else { low }
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self { self + b }
            #[inline(always)]
            fn mul(self, b: Self) -> Self { self * b }
            #[inline(always)]
            fn div(self, b: Self) -> Self { self / b }
            #[inline(always)]
            fn sqrt(self) -> Self { <$ty>::sqrt(self) }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self { self.mul_add(b, c) }
            #[inline(always)]
            fn neg(self) -> Self { -self }
            #[inline(always)]
            fn abs(self) -> Self { <$ty>::abs(self) }
            #[inline(always)]
            fn is_nan(self) -> bool { self != self }
            #[inline(always)]
            fn is_negative(self) -> bool { self.to_bits() > <$bits>::MAX >> 1 }
            #[inline(always)]
            fn one() -> Self { 1.0 }
            #[inline(always)]
            fn with_sign(self, of: Self) -> Self { self.copysign(of) }
        }
    )*};
}
floats! {
    f32, u32, 0x7FFF_FFFF, 0x7F80_0000;
    f64, u64, 0x7FF8_0000_0000_0000, 0x7FF0_0000_0000_0000;
}

#[inline(always)]
pub(super) fn flushed<T: Float, const FTZ: bool>(x: T) -> T {
    if FTZ { x.flush() } else { x }
}

#[inline(always)]
fn finish<T: Float, const FTZ: bool, const SAT: bool>(x: T) -> T {
    let x = flushed::<T, FTZ>(x);
    if SAT { x.clamp01() } else { x.canonical() }
}

macro_rules! bins {
    ($($name:ident $commutes:literal |$a:ident, $b:ident| $body:expr;)*) => {$(
        struct $name<T, const FTZ: bool, const SAT: bool>(PhantomData<T>);
        impl<T: Float, const FTZ: bool, const SAT: bool> Bin for $name<T, FTZ, SAT> {
            type A = T;
            type B = T;
            type D = T;
            const COMMUTES: bool = $commutes;
            #[inline(always)]
            fn f(a: T, b: T) -> T {
                let ($a, $b) = (flushed::<T, FTZ>(a), flushed::<T, FTZ>(b));
                finish::<T, FTZ, SAT>($body)
            }
        }
    )*};
}
bins! {
    Add true |a, b| a.add(b);
    Sub false |a, b| a.add(b.neg());
    Mul true |a, b| a.mul(b);
    Div false |a, b| a.div(b);
}

struct Fma<T, const FTZ: bool, const SAT: bool>(PhantomData<T>);
impl<T: Float, const FTZ: bool, const SAT: bool> Tern for Fma<T, FTZ, SAT> {
    type A = T;
    type B = T;
    type C = T;
    type D = T;
    #[inline(always)]
    fn f(a: T, b: T, c: T) -> T {
        let f = flushed::<T, FTZ>;
        finish::<T, FTZ, SAT>(f(a).fma(f(b), f(c)))
    }
}

/// A multiply-add of f32, into the run before it where that ends in its sum.
fn fma(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let mut src = |at| l.src(operand(l, inst, at)?, 32);
    let (a, b, c) = (src(1)?, src(2)?, src(3)?);
    let dst = l.dst(operand(l, inst, 0)?)?;
    let (a, b) = if a.uniform { (b, a) } else { (a, b) };
    let only_here = matches!(operand(l, inst, 3)?, Operand::Reg(reg) if l.is_read_once(*reg));
    if !only_here || !chain::join(l, dst, [a, b, c]) {
        shape::emit_tern::<Fma<f32, false, false>>(l, dst, a, b, c);
        chain::begin(l, dst, [a, b, c]);
    }
    Ok(())
}

/// The smaller of two numbers; -0 is below +0; a NaN loses, or wins with `NAN`.
#[inline(always)]
pub(super) fn min<T: Float, const NAN: bool>(a: T, b: T) -> T {
    let a_first = a < b || (a == b && a.is_negative()) || b.is_nan();
    let a_wins = if NAN {
        (a_first && !b.is_nan()) || a.is_nan()
    } else {
        a_first && !a.is_nan() || b.is_nan()
    };
    (if a_wins { a } else { b }).canonical()
}

/// The larger of two numbers; +0 is above -0; a NaN loses, or wins with `NAN`.
#[inline(always)]
pub(super) fn max<T: Float, const NAN: bool>(a: T, b: T) -> T {
    let a_first = a > b || (a == b && !a.is_negative()) || b.is_nan();
    let a_wins = if NAN {
        (a_first && !b.is_nan()) || a.is_nan()
    } else {
        a_first && !a.is_nan() || b.is_nan()
    };
    (if a_wins { a } else { b }).canonical()
}

struct Extreme<T, const FTZ: bool, const NAN: bool, const MAX: bool>(PhantomData<T>);
impl<T: Float, const FTZ: bool, const NAN: bool, const MAX: bool> Bin
    for Extreme<T, FTZ, NAN, MAX>
{
    type A = T;
    type B = T;
    type D = T;
    const COMMUTES: bool = true;
    #[inline(always)]
    fn f(a: T, b: T) -> T {
        let (a, b) = (flushed::<T, FTZ>(a), flushed::<T, FTZ>(b));
        if MAX {
            max::<T, NAN>(a, b)
        } else {
            min::<T, NAN>(a, b)
        }
    }
}

macro_rules! uns {
    ($($name:ident |$a:ident| $body:expr;)*) => {$(
        pub(super) struct $name<T, const FTZ: bool>(PhantomData<T>);
        impl<T: Float, const FTZ: bool> Un for $name<T, FTZ> {
            type A = T;
            type D = T;
            #[inline(always)]
            fn f(a: T) -> T {
                let $a = flushed::<T, FTZ>(a);
                $body
            }
        }
    )*};
}
uns! {
    Neg |a| a.neg();
    Abs |a| a.abs();
    Rcp |a| flushed::<T, FTZ>(T::one().div(a)).canonical();
    Sqrt |a| flushed::<T, FTZ>(a.sqrt()).canonical();
    Rsqrt |a| flushed::<T, FTZ>(T::one().div(a.sqrt())).canonical();
}

struct Copysign<T>(PhantomData<T>);
impl<T: Float> Bin for Copysign<T> {
    type A = T;
    type B = T;
    type D = T;
    #[inline(always)]
    fn f(a: T, b: T) -> T {
        b.with_sign(a)
    }
}

/// Whether the instruction rounds in a way not done here.
pub(super) fn odd_rounding(inst: &Inst) -> bool {
    [Qual::Rz, Qual::Rm, Qual::Rp]
        .iter()
        .any(|word| inst.quals.has(*word))
}

/// Binds `$t` to the type and `$ftz` to the flag.
macro_rules! by_float {
    ($l:expr, $inst:expr, $t:ident, $ftz:ident => $body:expr) => {
        match ($inst.quals.types().next(), $inst.quals.has(Qual::Ftz)) {
            (Some(Type::F32), false) => {
                type $t = f32;
                const $ftz: bool = false;
                $body
            }
            (Some(Type::F32), true) => {
                type $t = f32;
                const $ftz: bool = true;
                $body
            }
            (Some(Type::F64), false) => {
                type $t = f64;
                const $ftz: bool = false;
                $body
            }
            _ => Err($l.unsupported($inst)),
        }
    };
}

/// `f32` is hot, `f64` is compiled once.
macro_rules! by_float_hot {
    ($l:expr, $inst:expr, $hot:ident, $cold:ident, $op:ident $(, $more:literal)*) => {
        match ($inst.quals.types().next(), $inst.quals.has(Qual::Ftz)) {
            (Some(Type::F32), false) => shape::$hot::<$op<f32, false $(, $more)*>>($l, $inst),
            (Some(Type::F32), true) => shape::$hot::<$op<f32, true $(, $more)*>>($l, $inst),
            (Some(Type::F64), false) => shape::$cold::<$op<f64, false $(, $more)*>>($l, $inst),
            _ => Err($l.unsupported($inst)),
        }
    };
}
pub(super) use by_float_hot;

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let mixed = q.types().nth(1).is_some();
    if odd_rounding(inst) || q.has(Qual::Xorsign) || inst.op == Op::Testp || mixed {
        return Err(l.unsupported(inst));
    }
    let (sat, nan) = (q.has(Qual::Sat), q.has(Qual::NaN));
    match inst.op {
        Op::Add if sat => by_float!(l, inst, T, Z => shape::bin_cold::<Add<T, Z, true>>(l, inst)),
        Op::Add => by_float_hot!(l, inst, bin, bin_cold, Add, false),
        Op::Sub if sat => by_float!(l, inst, T, Z => shape::bin_cold::<Sub<T, Z, true>>(l, inst)),
        Op::Sub => by_float_hot!(l, inst, bin, bin_cold, Sub, false),
        Op::Mul if sat => by_float!(l, inst, T, Z => shape::bin_cold::<Mul<T, Z, true>>(l, inst)),
        Op::Mul => by_float_hot!(l, inst, bin, bin_cold, Mul, false),
        Op::Fma | Op::Mad if sat => {
            by_float!(l, inst, T, Z => shape::tern_cold::<Fma<T, Z, true>>(l, inst))
        }
        Op::Fma | Op::Mad if q.types().next() == Some(Type::F32) && !q.has(Qual::Ftz) => {
            fma(l, inst)
        }
        Op::Fma | Op::Mad => by_float_hot!(l, inst, tern, tern_cold, Fma, false),
        Op::Div => by_float_hot!(l, inst, bin, bin_cold, Div, false),
        Op::Min if inst.operands.len() == 3 => match nan {
            true => {
                by_float!(l, inst, T, Z => shape::bin_cold::<Extreme<T, Z, true, false>>(l, inst))
            }
            false => by_float_hot!(l, inst, bin, bin_cold, Extreme, false, false),
        },
        Op::Max if inst.operands.len() == 3 => match nan {
            true => {
                by_float!(l, inst, T, Z => shape::bin_cold::<Extreme<T, Z, true, true>>(l, inst))
            }
            false => by_float_hot!(l, inst, bin, bin_cold, Extreme, false, true),
        },
        Op::Neg => by_float_hot!(l, inst, un, un_cold, Neg),
        Op::Abs => by_float_hot!(l, inst, un, un_cold, Abs),
        Op::Copysign => match q.types().next() {
            Some(Type::F64) => shape::bin_cold::<Copysign<f64>>(l, inst),
            _ => shape::bin_cold::<Copysign<f32>>(l, inst),
        },
        _ => Err(l.unsupported(inst)),
    }
}
