//! `cvt` between integers, floats and 16-bit floats.

use super::{
    float::{Float, flushed},
    half::{Bf16, F16, Small},
    halves,
    lane::Lane,
    mov, operand,
    shape::{self, Bin, Un},
};
use crate::{
    build::{Dst, Lowerer, Src},
    error::Error,
};
use std::marker::PhantomData;
use warpsmith_ptx::{ir::Inst, qual::Qual, types::Type};

/// An integer that every other is compared with for saturation.
trait Number: Lane {
    const MIN: i128;
    const MAX: i128;
    fn wide(self) -> i128;
    fn wrap(x: i64) -> Self;
}
macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            const MIN: i128 = <$ty>::MIN as i128;
            const MAX: i128 = <$ty>::MAX as i128;
            #[inline(always)]
            fn wide(self) -> i128 { self as i128 }
            #[inline(always)]
            fn wrap(x: i64) -> Self { x as $ty }
        }
    )*};
}
numbers! { u8 i8 u16 i16 u32 i32 u64 i64 }

/// Clamped to the destination's range.
struct Clamp<S, D>(PhantomData<(S, D)>);
impl<S: Number, D: Number> Un for Clamp<S, D> {
    type A = S;
    type D = D;
    #[inline(always)]
    fn f(a: S) -> D {
        D::wrap(a.wide().clamp(D::MIN, D::MAX) as i64)
    }
}

struct IntToFloat<S, D>(PhantomData<(S, D)>);
macro_rules! to_float {
    ($($ty:ty)*) => {$(
        impl Un for IntToFloat<$ty, f32> {
            type A = $ty;
            type D = f32;
            #[inline(always)]
            fn f(a: $ty) -> f32 { a as f32 }
        }
        impl Un for IntToFloat<$ty, f64> {
            type A = $ty;
            type D = f64;
            #[inline(always)]
            fn f(a: $ty) -> f64 { a as f64 }
        }
        impl Un for IntToFloat<$ty, F16> {
            type A = $ty;
            type D = F16;
            #[inline(always)]
            fn f(a: $ty) -> F16 { F16::from_f32(super::half::odd32(a as f64)) }
        }
        impl Un for IntToFloat<$ty, Bf16> {
            type A = $ty;
            type D = Bf16;
            #[inline(always)]
            fn f(a: $ty) -> Bf16 { Bf16::from_f32(super::half::odd32(a as f64)) }
        }
    )*};
}
to_float! { u8 i8 u16 i16 u32 i32 u64 i64 }

/// Rounding to an integer.
trait Rounding: 'static {
    fn round32(x: f32) -> f32;
    fn round64(x: f64) -> f64;
}
struct Nearest;
struct Zero;
struct Down;
struct Up;
macro_rules! roundings {
    ($($name:ident $f:ident;)*) => {$(
        impl Rounding for $name {
            #[inline(always)]
            fn round32(x: f32) -> f32 { x.$f() }
            #[inline(always)]
            fn round64(x: f64) -> f64 { x.$f() }
        }
    )*};
}
roundings! { Nearest round_ties_even; Zero trunc; Down floor; Up ceil; }

/// What a float source becomes before the integer.
trait Source: Lane {
    fn rounded<R: Rounding>(self) -> Self;
    fn missing(self) -> bool;
}
macro_rules! sources {
    ($($ty:ty, $round:ident;)*) => {$(
        impl Source for $ty {
            #[inline(always)]
            fn rounded<R: Rounding>(self) -> Self { R::$round(self) }
            #[inline(always)]
            fn missing(self) -> bool { self != self }
        }
    )*};
}
sources! { f32, round32; f64, round64; }

/// Toward zero, out of range to the nearest end.
struct FloatToInt<S, D>(PhantomData<(S, D)>);
macro_rules! to_int {
    ($($ty:ty)*) => {$(
        impl Un for FloatToInt<f32, $ty> {
            type A = f32;
            type D = $ty;
            #[inline(always)]
            fn f(a: f32) -> $ty {
                // NaN is 0, but the smallest number's pattern for 64 bits.
                let nan: $ty = if <$ty>::BITS == 64 { (1 as $ty) << (<$ty>::BITS - 1) } else { 0 };
                if a.missing() { nan } else { a as $ty }
            }
        }
        impl Un for FloatToInt<f64, $ty> {
            type A = f64;
            type D = $ty;
            #[inline(always)]
            fn f(a: f64) -> $ty {
                if a.missing() { (1 as $ty) << (<$ty>::BITS - 1) } else { a as $ty }
            }
        }
    )*};
}
to_int! { u8 i8 u16 i16 u32 i32 u64 i64 }

struct ToIntegral<T, R>(PhantomData<(T, R)>);
impl<T: Source + Float, R: Rounding> Un for ToIntegral<T, R> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn f(a: T) -> T {
        a.rounded::<R>().canonical()
    }
}

struct Same<T, const FTZ: bool, const SAT: bool>(PhantomData<T>);
impl<T: Float, const FTZ: bool, const SAT: bool> Un for Same<T, FTZ, SAT> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn f(a: T) -> T {
        let x = flushed::<T, FTZ>(a);
        if SAT { x.clamp01() } else { x }
    }
}

struct Widen<const FTZ: bool>;
impl<const FTZ: bool> Un for Widen<FTZ> {
    type A = f32;
    type D = f64;
    #[inline(always)]
    fn f(a: f32) -> f64 {
        f64::from(flushed::<f32, FTZ>(a)).canonical()
    }
}
struct Narrow<const FTZ: bool, const SAT: bool>;
impl<const FTZ: bool, const SAT: bool> Un for Narrow<FTZ, SAT> {
    type A = f64;
    type D = f32;
    #[inline(always)]
    fn f(a: f64) -> f32 {
        let x = flushed::<f32, FTZ>(a as f32);
        if SAT { x.clamp01() } else { x.canonical() }
    }
}

struct FromSmall<S, const SAT: bool>(PhantomData<S>);
impl<S: Small, const SAT: bool> Un for FromSmall<S, SAT> {
    type A = S;
    type D = f32;
    #[inline(always)]
    fn f(a: S) -> f32 {
        let x = a.as_f32();
        if SAT { x.clamp01() } else { x.canonical() }
    }
}

/// `f32` to a 16-bit float; `RZ` truncates.
struct ToSmall<S, const RZ: bool, const RELU: bool, const FTZ: bool>(PhantomData<S>);
impl<S: Small, const RZ: bool, const RELU: bool, const FTZ: bool> Un for ToSmall<S, RZ, RELU, FTZ> {
    type A = f32;
    type D = S;
    #[inline(always)]
    fn f(a: f32) -> S {
        to_small::<S, RZ, RELU>(flushed::<f32, FTZ>(a))
    }
}

#[inline(always)]
fn to_small<S: Small, const RZ: bool, const RELU: bool>(a: f32) -> S {
    let x = if RELU && a < 0.0 { 0.0 } else { a };
    let near = S::of_f32(x);
    if RZ {
        // One step back where rounding went away from zero.
        let over = near.as_f32().abs() > x.abs();
        S::of_bits(near.bits().wrapping_sub(u16::from(over)))
    } else {
        near
    }
}

/// Two `f32` to a pair: `a` is the high half.
struct Pack<S, const RZ: bool, const RELU: bool>(PhantomData<S>);
impl<S: Small, const RZ: bool, const RELU: bool> Bin for Pack<S, RZ, RELU> {
    type A = f32;
    type B = f32;
    type D = u32;
    #[inline(always)]
    fn f(a: f32, b: f32) -> u32 {
        let (high, low) = (to_small::<S, RZ, RELU>(a), to_small::<S, RZ, RELU>(b));
        u32::from(high.bits()) << 16 | u32::from(low.bits())
    }
}

/// To `tf32`, ties away from zero.
struct ToTf32;
impl Un for ToTf32 {
    type A = f32;
    type D = u32;
    #[inline(always)]
    fn f(a: f32) -> u32 {
        let bits = a.to_bits();
        let rounded = bits.wrapping_add(0x1000) & 0xFFFF_E000;
        if a.is_nan() {
            0x7FFF_FFFF
        } else if a.abs() == f32::INFINITY {
            bits
        } else {
            rounded
        }
    }
}

macro_rules! by_number {
    ($ty:expr, $l:expr, $inst:expr, $t:ident => $body:expr) => {
        match $ty {
            Type::U8 => {
                type $t = u8;
                $body
            }
            Type::S8 => {
                type $t = i8;
                $body
            }
            Type::U16 => {
                type $t = u16;
                $body
            }
            Type::S16 => {
                type $t = i16;
                $body
            }
            Type::U32 => {
                type $t = u32;
                $body
            }
            Type::S32 => {
                type $t = i32;
                $body
            }
            Type::U64 => {
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

pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let q = &inst.quals;
    let types: Vec<Type> = q.types().collect();
    let [to, from] = types[..] else {
        return Err(l.unsupported(inst));
    };
    let has = |word| q.has(word);
    let (sat, ftz) = (has(Qual::Sat), has(Qual::Ftz));
    if has(Qual::Satfinite) || has(Qual::Rm) || has(Qual::Rp) {
        return Err(l.unsupported(inst));
    }
    let to_small = matches!(to, Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2);
    if has(Qual::Rz) && !(to_small && from == Type::F32) {
        return Err(l.unsupported(inst));
    }
    if to.bits() == 32 && to_small {
        return pack(l, inst, to);
    }
    let a = l.src(operand(l, inst, 1)?, from.bits())?;
    match (to, from) {
        (Type::TF32, Type::F32) if has(Qual::Rna) => land::<ToTf32>(l, inst, a),
        _ if to.is_int() && from.is_int() && sat => by_number!(to, l, inst, D => {
            by_number!(from, l, inst, S => land_cold::<Clamp<S, D>>(l, inst, a))
        }),
        _ if to.is_int() && from.is_int() => int_to_int(l, inst, a),
        _ if from.is_int() && !sat => int_to_float(l, inst, a),
        _ if to.is_int() => float_to_int(l, inst, a),
        (Type::F32, Type::F32) if is_integral(inst) && !sat => {
            let a = round32(l, inst, a);
            land::<Same<f32, false, false>>(l, inst, a)
        }
        (Type::F64, Type::F64) if is_integral(inst) && !sat => {
            let a = round64(l, inst, a);
            land_cold::<Same<f64, false, false>>(l, inst, a)
        }
        (Type::F32, Type::F32) => match (ftz, sat) {
            (true, true) => land_cold::<Same<f32, true, true>>(l, inst, a),
            (true, false) => land_cold::<Same<f32, true, false>>(l, inst, a),
            (false, true) => land::<Same<f32, false, true>>(l, inst, a),
            (false, false) => land::<Same<f32, false, false>>(l, inst, a),
        },
        (Type::F64, Type::F64) if sat => land_cold::<Same<f64, false, true>>(l, inst, a),
        (Type::F64, Type::F64) => land_cold::<Same<f64, false, false>>(l, inst, a),
        (Type::F64, Type::F32) if !sat && ftz => land_cold::<Widen<true>>(l, inst, a),
        (Type::F64, Type::F32) if !sat => land::<Widen<false>>(l, inst, a),
        (Type::F32, Type::F64) => match (ftz, sat) {
            (true, true) => land_cold::<Narrow<true, true>>(l, inst, a),
            (true, false) => land_cold::<Narrow<true, false>>(l, inst, a),
            (false, true) => land_cold::<Narrow<false, true>>(l, inst, a),
            (false, false) => land::<Narrow<false, false>>(l, inst, a),
        },
        (Type::F32, Type::F16) if sat => land_cold::<FromSmall<F16, true>>(l, inst, a),
        (Type::F32, Type::F16) => land_with::<FromSmall<F16, false>>(l, inst, a, |l, dst, a| {
            if halves::is_native(l, &[a], dst) {
                halves::emit_widen(l, dst, a);
            } else {
                shape::emit_un::<FromSmall<F16, false>>(l, dst, a);
            }
        }),
        (Type::F32, Type::BF16) if !sat => land::<FromSmall<Bf16, false>>(l, inst, a),
        (Type::F16, Type::F32) if !sat => small::<F16>(l, inst, a),
        (Type::BF16, Type::F32) if !sat => small::<Bf16>(l, inst, a),
        _ => Err(l.unsupported(inst)),
    }
}

fn small<S: Small>(l: &mut Lowerer, inst: &Inst, a: Src) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    match (has(Qual::Rz), has(Qual::Relu), has(Qual::Ftz)) {
        (false, false, false) => land::<ToSmall<S, false, false, false>>(l, inst, a),
        (true, false, false) => land_cold::<ToSmall<S, true, false, false>>(l, inst, a),
        (false, true, false) => land_cold::<ToSmall<S, false, true, false>>(l, inst, a),
        (false, false, true) => land_cold::<ToSmall<S, false, false, true>>(l, inst, a),
        _ => Err(l.unsupported(inst)),
    }
}

fn pack(l: &mut Lowerer, inst: &Inst, to: Type) -> Result<(), Error> {
    let has = |word| inst.quals.has(word);
    if inst.operands.len() != 3 || has(Qual::Ftz) {
        return Err(l.unsupported(inst));
    }
    if to == Type::F16x2 && !has(Qual::Rz) && !has(Qual::Relu) {
        let a = l.src(operand(l, inst, 1)?, 32)?;
        let b = l.src(operand(l, inst, 2)?, 32)?;
        let dst = l.dst(operand(l, inst, 0)?)?;
        if halves::is_native(l, &[a, b], dst) {
            halves::emit_pack(l, dst, a, b);
            return Ok(());
        }
    }
    match (to == Type::F16x2, has(Qual::Rz), has(Qual::Relu)) {
        (true, false, false) => shape::bin::<Pack<F16, false, false>>(l, inst),
        (true, true, false) => shape::bin_cold::<Pack<F16, true, false>>(l, inst),
        (true, false, true) => shape::bin_cold::<Pack<F16, false, true>>(l, inst),
        (false, false, false) => shape::bin::<Pack<Bf16, false, false>>(l, inst),
        (false, true, false) => shape::bin_cold::<Pack<Bf16, true, false>>(l, inst),
        (false, false, true) => shape::bin_cold::<Pack<Bf16, false, true>>(l, inst),
        _ => Err(l.unsupported(inst)),
    }
}

/// The value in a temporary after a step.
fn step(l: &mut Lowerer, a: Src, emit: fn(&mut Lowerer, Dst, Src)) -> Src {
    let slot = l.temp();
    emit(
        l,
        Dst {
            slot,
            uniform: a.uniform,
        },
        a,
    );
    Src {
        slot,
        uniform: a.uniform,
    }
}

fn is_integral(inst: &Inst) -> bool {
    [Qual::Rni, Qual::Rzi, Qual::Rmi, Qual::Rpi]
        .iter()
        .any(|word| inst.quals.has(*word))
}

fn round32(l: &mut Lowerer, inst: &Inst, a: Src) -> Src {
    let a = if inst.quals.has(Qual::Ftz) {
        step(l, a, shape::emit_un_cold::<Same<f32, true, false>>)
    } else {
        a
    };
    if inst.quals.has(Qual::Rni) {
        step(l, a, shape::emit_un::<ToIntegral<f32, Nearest>>)
    } else if inst.quals.has(Qual::Rmi) {
        step(l, a, shape::emit_un::<ToIntegral<f32, Down>>)
    } else if inst.quals.has(Qual::Rpi) {
        step(l, a, shape::emit_un::<ToIntegral<f32, Up>>)
    } else {
        step(l, a, shape::emit_un::<ToIntegral<f32, Zero>>)
    }
}

fn round64(l: &mut Lowerer, inst: &Inst, a: Src) -> Src {
    if inst.quals.has(Qual::Rni) {
        step(l, a, shape::emit_un_cold::<ToIntegral<f64, Nearest>>)
    } else if inst.quals.has(Qual::Rmi) {
        step(l, a, shape::emit_un_cold::<ToIntegral<f64, Down>>)
    } else if inst.quals.has(Qual::Rpi) {
        step(l, a, shape::emit_un_cold::<ToIntegral<f64, Up>>)
    } else {
        step(l, a, shape::emit_un_cold::<ToIntegral<f64, Zero>>)
    }
}

/// Extends the source as its type says, then cuts or extends to the destination.
fn int_to_int(l: &mut Lowerer, inst: &Inst, a: Src) -> Result<(), Error> {
    let mut types = inst.quals.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else {
        return Err(l.unsupported(inst));
    };
    // The narrower of the two decides which bits stay and how they are extended.
    let decides = if to.bits() < from.bits() || to.bits() == from.bits() {
        to
    } else {
        from
    };
    let target = operand(l, inst, 0)?;
    let dst = l.dst(target)?;
    let to_bits = l.reg_bits(target).unwrap_or(to.bits());
    let low = if from.bits() > 32 && decides.bits() <= 32 {
        step(l, a, shape::emit_un::<mov::Resize<u64, u32>>)
    } else {
        a
    };
    let value = match (decides.bits(), decides.is_signed()) {
        (8, true) => step(l, low, shape::emit_un::<mov::Extend<i8>>),
        (8, false) => step(l, low, shape::emit_un::<mov::Extend<u8>>),
        (16, true) => step(l, low, shape::emit_un::<mov::Extend<i16>>),
        (16, false) => step(l, low, shape::emit_un::<mov::Extend<u16>>),
        _ => low,
    };
    match (decides.bits() > 32, to_bits > 32) {
        (true, true) => shape::emit_un::<mov::Copy<u64>>(l, dst, value),
        (true, false) => shape::emit_un::<mov::Resize<u64, u32>>(l, dst, value),
        (false, false) => shape::emit_un::<mov::Copy<u32>>(l, dst, value),
        (false, true) if decides.is_signed() => {
            shape::emit_un::<mov::Resize<i32, i64>>(l, dst, value);
        }
        (false, true) => shape::emit_un::<mov::Resize<u32, u64>>(l, dst, value),
    }
    Ok(())
}

fn int_to_float(l: &mut Lowerer, inst: &Inst, a: Src) -> Result<(), Error> {
    let mut types = inst.quals.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else {
        return Err(l.unsupported(inst));
    };
    match (to, from) {
        (Type::F32, Type::S32) => land::<IntToFloat<i32, f32>>(l, inst, a),
        (Type::F32, Type::U32) => land::<IntToFloat<u32, f32>>(l, inst, a),
        (Type::F32, Type::U8) => land::<IntToFloat<u8, f32>>(l, inst, a),
        (Type::F32, Type::S8) => land::<IntToFloat<i8, f32>>(l, inst, a),
        (Type::F32, _) => {
            by_number!(from, l, inst, S => land_cold::<IntToFloat<S, f32>>(l, inst, a))
        }
        (Type::F64, _) => {
            by_number!(from, l, inst, S => land_cold::<IntToFloat<S, f64>>(l, inst, a))
        }
        (Type::F16, _) => {
            by_number!(from, l, inst, S => land_cold::<IntToFloat<S, F16>>(l, inst, a))
        }
        (Type::BF16, _) => {
            by_number!(from, l, inst, S => land_cold::<IntToFloat<S, Bf16>>(l, inst, a))
        }
        _ => Err(l.unsupported(inst)),
    }
}

fn float_to_int(l: &mut Lowerer, inst: &Inst, a: Src) -> Result<(), Error> {
    let mut types = inst.quals.types();
    let (Some(to), Some(from)) = (types.next(), types.next()) else {
        return Err(l.unsupported(inst));
    };
    if from == Type::F64 {
        let a = if inst.quals.has(Qual::Rzi) {
            a
        } else {
            round64(l, inst, a)
        };
        return by_number!(to, l, inst, D => land_cold::<FloatToInt<f64, D>>(l, inst, a));
    }
    let a = match from {
        Type::F32 => a,
        Type::F16 => step(l, a, shape::emit_un::<FromSmall<F16, false>>),
        Type::BF16 => step(l, a, shape::emit_un::<FromSmall<Bf16, false>>),
        _ => return Err(l.unsupported(inst)),
    };
    // Truncation is what the conversion does; a flushed subnormal truncates to 0 anyway.
    let a = if inst.quals.has(Qual::Rzi) {
        a
    } else {
        round32(l, inst, a)
    };
    match to {
        Type::S32 => land::<FloatToInt<f32, i32>>(l, inst, a),
        Type::U32 => land::<FloatToInt<f32, u32>>(l, inst, a),
        _ => by_number!(to, l, inst, D => land_cold::<FloatToInt<f32, D>>(l, inst, a)),
    }
}

/// The last step: to the destination, whose register may be wider than the type.
fn land<O: Un>(l: &mut Lowerer, inst: &Inst, a: Src) -> Result<(), Error> {
    land_with::<O>(l, inst, a, shape::emit_un::<O>)
}

fn land_cold<O: Un>(l: &mut Lowerer, inst: &Inst, a: Src) -> Result<(), Error> {
    land_with::<O>(l, inst, a, shape::emit_un_cold::<O>)
}

fn land_with<O: Un>(
    l: &mut Lowerer,
    inst: &Inst,
    a: Src,
    emit: fn(&mut Lowerer, Dst, Src),
) -> Result<(), Error> {
    let target = operand(l, inst, 0)?;
    let dst = l.dst(target)?;
    let wide = size_of::<<O::D as Lane>::Cell>() == 8;
    let have = l.reg_bits(target).map_or(wide, |bits| bits > 32);
    if have == wide {
        emit(l, dst, a);
        return Ok(());
    }
    let value = Dst {
        slot: l.temp(),
        uniform: dst.uniform,
    };
    emit(l, value, a);
    let signed = inst.quals.types().next().is_some_and(Type::is_signed);
    if !dst.uniform {
        let bits = if have { 64 } else { 32 };
        let ty = if signed { Type::S32 } else { Type::U32 };
        mov::emit_resize(l, dst.slot, value.slot, ty, bits);
    } else if signed {
        mov::emit_sign_extend(l, dst.slot, value.slot);
    } else {
        mov::emit_copy_scalar(l, dst.slot, value.slot);
    }
    Ok(())
}
