//! Values: typed registers that know which threads agree on them.

use crate::{
    arith::{self, arith, bits_of, is_half},
    build::{Builder, Rep, with},
    misuse::Birth,
    slot::Slot,
    uni::{self, Join, Uni},
};
use half::{bf16, f16};
use std::{
    fmt,
    marker::PhantomData,
    ops::{
        Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div,
        DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, Shr, Sub, SubAssign,
    },
    panic::Location,
};
use warpsmith_ptx::{
    ir::{Imm, Operand, RegId},
    op::Op,
    qual::Qual,
    types::Type,
};

/// A type that a register holds.
pub trait Ty: Copy + 'static {
    /// The PTX type of arithmetic on it.
    const TYPE: Type;
    /// The constant as an immediate.
    fn imm(self) -> Imm;
}

/// A type with `+ - * /`, comparisons, `min`, `max` and `mul_add`: numbers, and f16 and bf16, each operation of which is
/// rounded once to nearest even (bf16: sm_80). Sums over threads, conversions and functions of halves are those of f32.
pub trait Arith: Ty {}
/// A number with PTX arithmetic and conversions to all others.
pub trait Num: Arith {}
/// An integer.
pub trait Int: Num {}
/// A floating-point number with full f32 or f64 arithmetic.
pub trait Float: Num {}

macro_rules! tys {
    ($($rust:ident $ptx:ident |$x:ident| $imm:expr, $($trait:ident)*;)*) => {$(
        impl Ty for $rust {
            const TYPE: Type = Type::$ptx;
            fn imm(self) -> Imm {
                let $x = self;
                $imm
            }
        }
        $(impl $trait for $rust {})*
    )*};
}

tys! {
    bool Pred |x| Imm::Int(i64::from(x)),;
    u32 U32 |x| Imm::Int(i64::from(x)), Arith Num Int;
    i32 S32 |x| Imm::Int(i64::from(x)), Arith Num Int;
    u64 U64 |x| Imm::uint(x), Arith Num Int;
    i64 S64 |x| Imm::Int(x), Arith Num Int;
    f32 F32 |x| Imm::F32(x.to_bits()), Arith Num Float;
    f64 F64 |x| Imm::F64(x.to_bits()), Arith Num Float;
    f16 F16 |x| Imm::Int(i64::from(x.to_bits())), Arith;
    bf16 BF16 |x| Imm::Int(i64::from(x.to_bits())), Arith;
}

/// A value of type `T` in kernel `'k`, the same in every thread of a `U`.
///
/// ```
/// use warpsmith_kernel::{Val, uni};
///
/// /// A device function: inlined, and its result is known as far as its argument is.
/// fn sigmoid<'k, U: uni::Uni>(x: Val<'k, f32, U>) -> Val<'k, f32, U> {
///     1.0f32 / ((-x).exp() + 1.0)
/// }
/// ```
pub struct Val<'k, T, U = uni::Lane> {
    pub(crate) rep: Rep,
    mark: PhantomData<(fn(&'k ()) -> &'k (), T, U)>,
}

impl<T, U> Clone for Val<'_, T, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, U> Copy for Val<'_, T, U> {}

impl<T, U> fmt::Debug for Val<'_, T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.rep, f)
    }
}

impl<'k, T: Ty, U: Uni> Val<'k, T, U> {
    pub(crate) fn from_rep(rep: Rep) -> Self {
        Val {
            rep,
            mark: PhantomData,
        }
    }

    pub(crate) fn from_reg(reg: RegId) -> Self {
        Self::from_rep(Rep::Reg(reg))
    }

    pub(crate) fn rep(self) -> Rep {
        self.rep
    }

    /// The operand of a raw instruction.
    pub fn operand(self) -> Operand {
        self.rep.operand()
    }

    #[inline]
    pub(crate) fn slot(self) -> Slot {
        self.rep.slot()
    }

    /// The register that holds it; constants are moved into one.
    #[track_caller]
    pub(crate) fn reg(self) -> RegId {
        let at = Location::caller();
        with(|b| b.to_reg(at, T::TYPE, self.rep))
    }

    /// A constant.
    pub fn constant(value: T) -> Self {
        Self::from_rep(Rep::Imm(value.imm(), Birth::here()))
    }

    /// The same value, no longer known to agree between threads.
    pub fn varying(self) -> Val<'k, T, uni::Lane> {
        Val::from_rep(self.rep)
    }

    /// Whether the value is a constant of the program text, and which; it is used at `at`.
    pub(crate) fn known(self, at: &'static Location<'static>) -> Option<i64> {
        if let Rep::Imm(..) = self.rep {
            with(|b| b.seen(at, self.rep));
        }
        match self.rep {
            Rep::Imm(Imm::Int(value), _) => Some(value),
            Rep::Imm(Imm::Uint(_) | Imm::F32(_) | Imm::F64(_), _) | Rep::Reg(_) => None,
        }
    }

    /// The same bits under another type of the same width.
    #[track_caller]
    pub(crate) fn retype<V: Ty>(self) -> Val<'k, V, U> {
        Val::from_rep(Rep::Reg(self.reg()))
    }
}

impl<'k, T: Ty> From<Val<'k, T, uni::Cta>> for Val<'k, T, uni::Warp> {
    fn from(value: Val<'k, T, uni::Cta>) -> Self {
        Val::from_rep(value.rep)
    }
}

impl<'k, T: Ty> From<Val<'k, T, uni::Cta>> for Val<'k, T, uni::Lane> {
    fn from(value: Val<'k, T, uni::Cta>) -> Self {
        value.varying()
    }
}

impl<'k, T: Ty> From<Val<'k, T, uni::Warp>> for Val<'k, T, uni::Lane> {
    fn from(value: Val<'k, T, uni::Warp>) -> Self {
        value.varying()
    }
}

/// What stands where a value of type `T` is wanted: a [`Val`], or a plain constant.
pub trait Arg<'k, T: Ty> {
    /// The threads that agree on it.
    type U: Uni;
    /// As a value.
    fn val(self) -> Val<'k, T, Self::U>;
}

impl<'k, T: Ty, U: Uni> Arg<'k, T> for Val<'k, T, U> {
    type U = U;
    fn val(self) -> Val<'k, T, U> {
        self
    }
}

macro_rules! constants {
    ($($rust:ident)*) => {$(
        impl<'k> Arg<'k, $rust> for $rust {
            type U = uni::Cta;
            fn val(self) -> Val<'k, $rust, uni::Cta> {
                Val::from_rep(Rep::imm(self.imm()))
            }
        }
    )*};
}

constants! { bool u32 i32 u64 i64 f32 f64 f16 bf16 }

impl<'k, T: Ty, U: Uni> From<T> for Val<'k, T, U> {
    fn from(value: T) -> Self {
        Val::constant(value)
    }
}

/// Folds an integer operation on constants, and identities; `None` where an instruction is needed.
fn fold(op: Op, ty: Type, a: Rep, b: Rep) -> Option<Rep> {
    if !matches!(ty, Type::U32 | Type::U64) {
        return None;
    }
    let known = |rep| match rep {
        Rep::Imm(Imm::Int(value), _) => Some(value as u64),
        Rep::Imm(Imm::Uint(value), _) => Some(value),
        _ => None,
    };
    let wrap = |value: u64| {
        let value = if ty == Type::U32 {
            value & 0xffff_ffff
        } else {
            value
        };
        Rep::Imm(Imm::uint(value), Birth::here())
    };
    match (known(a), known(b)) {
        (Some(x), Some(y)) => match op {
            Op::Add => Some(wrap(x.wrapping_add(y))),
            Op::Sub => Some(wrap(x.wrapping_sub(y))),
            Op::Mul => Some(wrap(x.wrapping_mul(y))),
            Op::Div if y != 0 => Some(wrap(x / y)),
            Op::Rem if y != 0 => Some(wrap(x % y)),
            Op::And => Some(wrap(x & y)),
            Op::Or => Some(wrap(x | y)),
            Op::Shl if y < 32 => Some(wrap(x << y)),
            Op::Shr if y < 32 => Some(wrap(x >> y)),
            Op::Min => Some(wrap(x.min(y))),
            Op::Max => Some(wrap(x.max(y))),
            _ => None,
        },
        (_, Some(0)) if matches!(op, Op::Add | Op::Sub | Op::Or | Op::Xor | Op::Shl | Op::Shr) => {
            Some(a)
        }
        (Some(0), _) if matches!(op, Op::Add | Op::Or | Op::Xor) => Some(b),
        (_, Some(1)) if matches!(op, Op::Mul | Op::Div) => Some(a),
        (Some(1), _) if op == Op::Mul => Some(b),
        (Some(0), _) | (_, Some(0)) if matches!(op, Op::Mul | Op::And) => Some(wrap(0)),
        _ => None,
    }
}

/// A power of two turns multiplication, division and remainder into shifts and masks.
fn reduce(op: Op, ty: Type, b: Rep) -> Option<(Op, Rep)> {
    let Rep::Imm(Imm::Int(value), _) = b else {
        return None;
    };
    if !matches!(ty, Type::U32 | Type::U64) || value <= 0 || !(value as u64).is_power_of_two() {
        return None;
    }
    let shift = Rep::imm(Imm::Int(i64::from(value.trailing_zeros())));
    match op {
        Op::Mul => Some((Op::Shl, shift)),
        Op::Div => Some((Op::Shr, shift)),
        Op::Rem => Some((Op::And, Rep::imm(Imm::Int(value - 1)))),
        _ => None,
    }
}

pub(crate) fn binary(
    b: &mut Builder,
    at: &'static Location<'static>,
    op: Op,
    ty: Type,
    x: Rep,
    y: Rep,
) -> Rep {
    if is_half(ty) {
        return arith::of_halves(b, at, op, ty, x, y);
    }
    if let Some(folded) = fold(op, ty, x, y) {
        b.seen(at, x);
        b.seen(at, y);
        return folded;
    }
    let commutes = matches!(
        op,
        Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Min | Op::Max
    );
    let (x, y) = if commutes && matches!(x, Rep::Imm(..)) {
        (y, x)
    } else {
        (x, y)
    };
    let (op, y) = reduce(op, ty, y).unwrap_or((op, y));
    // One operand at least must be a register for ptxas to take the form.
    let x = if matches!(x, Rep::Imm(..)) {
        Rep::Reg(b.to_reg(at, ty, x))
    } else {
        x
    };
    let (quals, n) = arith(op, ty);
    Rep::Reg(b.def(at, op, &quals[..n], ty, &[x.slot(), y.slot()]))
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident $bound:ident;)*) => {$(
        impl<'k, T: $bound, U: Join<V>, V: Uni> $trait<Val<'k, T, V>> for Val<'k, T, U> {
            type Output = Val<'k, T, U::Out>;
            #[track_caller]
            fn $method(self, other: Val<'k, T, V>) -> Self::Output {
                let at = Location::caller();
                Val::from_rep(with(|b| binary(b, at, Op::$op, T::TYPE, self.rep, other.rep)))
            }
        }

        impl<'k, T: $bound, U: Uni> $trait<T> for Val<'k, T, U> {
            type Output = Val<'k, T, U>;
            #[track_caller]
            fn $method(self, other: T) -> Self::Output {
                let at = Location::caller();
                Val::from_rep(with(|b| binary(b, at, Op::$op, T::TYPE, self.rep, Rep::imm(other.imm()))))
            }
        }
    )*};
}

operators! {
    Add add Add Arith; Sub sub Sub Arith; Mul mul Mul Arith; Div div Div Arith;
    Rem rem Rem Int;
}

/// A type with bitwise and, or, not: integers and predicates.
pub trait Bits: Ty {}
impl Bits for bool {}
impl Bits for u32 {}
impl Bits for i32 {}
impl Bits for u64 {}
impl Bits for i64 {}

operators! { BitAnd bitand And Bits; BitOr bitor Or Bits; BitXor bitxor Xor Bits; }

macro_rules! shifts {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<'k, T: Int, U: Join<V>, V: Uni> $trait<Val<'k, u32, V>> for Val<'k, T, U> {
            type Output = Val<'k, T, U::Out>;
            #[track_caller]
            fn $method(self, by: Val<'k, u32, V>) -> Self::Output {
                let at = Location::caller();
                Val::from_rep(with(|b| binary(b, at, Op::$op, T::TYPE, self.rep, by.rep)))
            }
        }

        impl<'k, T: Int, U: Uni> $trait<u32> for Val<'k, T, U> {
            type Output = Val<'k, T, U>;
            #[track_caller]
            fn $method(self, by: u32) -> Self::Output {
                let at = Location::caller();
                Val::from_rep(with(|b| binary(b, at, Op::$op, T::TYPE, self.rep, Rep::imm(by.imm()))))
            }
        }
    )*};
}

shifts! { Shl shl Shl; Shr shr Shr; }

macro_rules! from_the_left {
    ($($rust:ident: $($trait:ident $method:ident $op:ident),*;)*) => {$($(
        impl<'k, U: Uni> $trait<Val<'k, $rust, U>> for $rust {
            type Output = Val<'k, $rust, U>;
            #[track_caller]
            fn $method(self, other: Val<'k, $rust, U>) -> Self::Output {
                let at = Location::caller();
                Val::from_rep(with(|b| binary(b, at, Op::$op, <$rust>::TYPE, Rep::imm(self.imm()), other.rep)))
            }
        }
    )*)*};
}

from_the_left! {
    u32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand And, BitOr bitor Or,
        BitXor bitxor Xor, Shl shl Shl, Shr shr Shr;
    i32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor;
    u64: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor;
    i64: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor;
    f32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div;
    f64: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div;
    f16: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div;
    bf16: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div;
}

macro_rules! assignments {
    ($($trait:ident $method:ident $plain:ident $op:ident $bound:ident;)*) => {$(
        impl<'k, T: $bound, U: Join<V, Out = U>, V: Uni> $trait<Val<'k, T, V>> for Val<'k, T, U> {
            #[track_caller]
            fn $method(&mut self, other: Val<'k, T, V>) {
                *self = $plain::$op(*self, other);
            }
        }

        impl<'k, T: $bound, U: Uni> $trait<T> for Val<'k, T, U> {
            #[track_caller]
            fn $method(&mut self, other: T) {
                *self = $plain::$op(*self, other);
            }
        }
    )*};
}

assignments! {
    AddAssign add_assign Add add Arith; SubAssign sub_assign Sub sub Arith; MulAssign mul_assign Mul mul Arith;
    DivAssign div_assign Div div Arith; RemAssign rem_assign Rem rem Int; BitAndAssign bitand_assign BitAnd bitand Bits;
    BitOrAssign bitor_assign BitOr bitor Bits; BitXorAssign bitxor_assign BitXor bitxor Bits;
}

#[track_caller]
pub(crate) fn unary<'k, T: Ty, V: Ty, U: Uni>(
    op: Op,
    quals: &[Qual],
    x: Val<'k, T, U>,
) -> Val<'k, V, U> {
    let at = Location::caller();
    Val::from_reg(with(|b| {
        let reg = b.to_reg(at, T::TYPE, x.rep);
        b.def(at, op, quals, V::TYPE, &[Slot::reg(reg)])
    }))
}

impl<'k, T: Bits, U: Uni> Not for Val<'k, T, U> {
    type Output = Val<'k, T, U>;
    #[track_caller]
    fn not(self) -> Self::Output {
        unary(Op::Not, &[Qual::T(bits_of(T::TYPE))], self)
    }
}

/// A number that may be negative.
pub trait Signed: Arith {}
impl Signed for i32 {}
impl Signed for i64 {}
impl Signed for f32 {}
impl Signed for f64 {}
impl Signed for f16 {}
impl Signed for bf16 {}

impl<'k, T: Signed, U: Uni> Neg for Val<'k, T, U> {
    type Output = Val<'k, T, U>;
    #[track_caller]
    fn neg(self) -> Self::Output {
        unary(Op::Neg, &[Qual::T(T::TYPE)], self)
    }
}

impl<'k, T: Signed, U: Uni> Val<'k, T, U> {
    /// The absolute value; the smallest integer stays as it is.
    #[track_caller]
    pub fn abs(self) -> Self {
        unary(Op::Abs, &[Qual::T(T::TYPE)], self)
    }
}

impl<'k, T: Arith, U: Uni> Val<'k, T, U> {
    #[track_caller]
    fn two<V: Uni>(self, op: Op, other: Val<'k, T, V>) -> Val<'k, T, U::Out>
    where
        U: Join<V>,
    {
        let at = Location::caller();
        Val::from_rep(with(|b| binary(b, at, op, T::TYPE, self.rep, other.rep)))
    }

    /// The smaller of two.
    #[track_caller]
    pub fn min<A: Arg<'k, T>>(self, other: A) -> Val<'k, T, U::Out>
    where
        U: Join<A::U>,
    {
        self.two(Op::Min, other.val())
    }

    /// The larger of two.
    #[track_caller]
    pub fn max<A: Arg<'k, T>>(self, other: A) -> Val<'k, T, U::Out>
    where
        U: Join<A::U>,
    {
        self.two(Op::Max, other.val())
    }

    /// `self * a + b`: one rounding for floats (`fma.rn`), `mad.lo` for integers.
    #[track_caller]
    pub fn mul_add<A: Arg<'k, T>, B: Arg<'k, T>>(
        self,
        a: A,
        b: B,
    ) -> Val<'k, T, <<U as Join<A::U>>::Out as Join<B::U>>::Out>
    where
        U: Join<A::U>,
        U::Out: Join<B::U>,
    {
        let at = Location::caller();
        let (a, b) = (a.val(), b.val());
        let op = if T::TYPE.is_float() { Op::Fma } else { Op::Mad };
        let (quals, n) = arith(op, T::TYPE);
        Val::from_reg(with(|builder| {
            let x = Slot::reg(builder.to_reg(at, T::TYPE, self.rep));
            let (a, b) = (operand(builder, at, a), operand(builder, at, b));
            builder.def(at, op, &quals[..n], T::TYPE, &[x, a, b])
        }))
    }
}

/// A value as an operand; instructions on halves take no constants.
fn operand<T: Ty, U: Uni>(b: &mut Builder, at: &'static Location<'static>, x: Val<T, U>) -> Slot {
    if is_half(T::TYPE) {
        Slot::reg(b.to_reg(at, T::TYPE, x.rep))
    } else {
        x.slot()
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident $qual:ident;)*) => {
        impl<'k, T: Arith, U: Uni> Val<'k, T, U> {
            $($(#[$doc])*
            #[track_caller]
            pub fn $method<A: Arg<'k, T>>(self, other: A) -> Val<'k, bool, U::Out>
            where
                U: Join<A::U>,
            {
                let at = Location::caller();
                let other = other.val();
                Val::from_reg(with(|b| {
                    let (mut ty, mut x) = (T::TYPE, Slot::reg(b.to_reg(at, T::TYPE, self.rep)));
                    let mut other = operand(b, at, other);
                    if arith::compares_in_f32(b, ty) {
                        (x, other) = (
                            Slot::reg(arith::widened(b, at, ty, x)),
                            Slot::reg(arith::widened(b, at, ty, other)),
                        );
                        ty = Type::F32;
                    }
                    b.def(at, Op::Setp, &[Qual::$qual, Qual::T(ty)], Type::Pred, &[x, other])
                }))
            })*
        }
    };
}

comparisons! {
    /// `self < other`; false with a NaN.
    lt Lt;
    /// `self <= other`; false with a NaN.
    le Le;
    /// `self > other`; false with a NaN.
    gt Gt;
    /// `self >= other`; false with a NaN.
    ge Ge;
    /// `self == other`; false with a NaN.
    equals Eq;
    /// `self != other`; false with a NaN (PTX `ne` is ordered).
    differs Ne;
}

impl<'k, U: Uni> Val<'k, bool, U> {
    /// `yes` where the predicate holds, else `no`.
    #[track_caller]
    pub fn select<T: Arith, A: Arg<'k, T>, B: Arg<'k, T>>(
        self,
        yes: A,
        no: B,
    ) -> Val<'k, T, <<U as Join<A::U>>::Out as Join<B::U>>::Out>
    where
        U: Join<A::U>,
        U::Out: Join<B::U>,
    {
        let at = Location::caller();
        let (yes, no) = (yes.val(), no.val());
        Val::from_reg(with(|b| {
            let ty = match T::TYPE {
                float @ (Type::F32 | Type::F64) => float,
                other => bits_of(other),
            };
            let p = b.to_reg(at, Type::Pred, self.rep);
            let sources = [operand(b, at, yes), operand(b, at, no), Slot::reg(p)];
            b.def(at, Op::Selp, &[Qual::T(ty)], T::TYPE, &sources)
        }))
    }
}
