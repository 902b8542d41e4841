//! Values: typed registers that know which threads agree on them.

use crate::{
    build::{Builder, Rep, with},
    uni::{self, Join, Uni},
};
use half::{bf16, f16};
use std::{
    fmt,
    marker::PhantomData,
    ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub},
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

/// A number with PTX arithmetic.
pub trait Num: Ty {}
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
    u32 U32 |x| Imm::Int(i64::from(x)), Num Int;
    i32 S32 |x| Imm::Int(i64::from(x)), Num Int;
    u64 U64 |x| Imm::uint(x), Num Int;
    f32 F32 |x| Imm::F32(x.to_bits()), Num Float;
    f16 F16 |x| Imm::Int(i64::from(x.to_bits())),;
    bf16 BF16 |x| Imm::Int(i64::from(x.to_bits())),;
}

/// A value of type `T` in kernel `'k`, the same in every thread of a `U`.
pub struct Val<'k, T, U = uni::Lane> {
    rep: Rep,
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

    /// The register that holds it; constants are moved into one.
    #[track_caller]
    pub(crate) fn reg(self) -> RegId {
        let at = Location::caller();
        with(|b| b.to_reg(at, T::TYPE, self.rep))
    }

    /// A constant.
    pub fn constant(value: T) -> Self {
        Self::from_rep(Rep::Imm(value.imm()))
    }

    /// The same value, no longer known to agree between threads.
    pub fn varying(self) -> Val<'k, T, uni::Lane> {
        Val::from_rep(self.rep)
    }

    /// Whether the value is a constant of the program text, and which.
    pub(crate) fn known(self) -> Option<i64> {
        match self.rep {
            Rep::Imm(Imm::Int(value)) => Some(value),
            Rep::Imm(Imm::Uint(_) | Imm::F32(_) | Imm::F64(_)) | Rep::Reg(_) => None,
        }
    }

    /// The same bits under another type of the same width.
    #[track_caller]
    fn retype<V: Ty>(self) -> Val<'k, V, U> {
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
                Val::constant(self)
            }
        }
    )*};
}

constants! { bool u32 i32 u64 f32 f16 bf16 }

impl<'k, T: Ty, U: Uni> From<T> for Val<'k, T, U> {
    fn from(value: T) -> Self {
        Val::constant(value)
    }
}

/// The qualifiers of an arithmetic instruction on `ty`: rounding is always spelt, so that nothing is contracted.
fn arith(op: Op, ty: Type) -> ([Qual; 2], usize) {
    let t = Qual::T(ty);
    match (op, ty) {
        (Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Fma, Type::F32 | Type::F64) => {
            ([Qual::Rn, t], 2)
        }
        (Op::Mul | Op::Mad, _) => ([Qual::Lo, t], 2),
        (Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl, _) => ([Qual::T(bits_of(ty)), t], 1),
        _ => ([t, t], 1),
    }
}

fn bits_of(ty: Type) -> Type {
    match (ty, ty.bits()) {
        (Type::Pred, _) => Type::Pred,
        (_, 64) => Type::B64,
        (_, 32) => Type::B32,
        _ => Type::B16,
    }
}

/// Folds an integer operation on constants, and identities; `None` where an instruction is needed.
fn fold(op: Op, ty: Type, a: Rep, b: Rep) -> Option<Rep> {
    if !matches!(ty, Type::U32 | Type::U64) {
        return None;
    }
    let known = |rep| match rep {
        Rep::Imm(Imm::Int(value)) => Some(value as u64),
        Rep::Imm(Imm::Uint(value)) => Some(value),
        _ => None,
    };
    let wrap = |value: u64| {
        Rep::Imm(Imm::uint(if ty == Type::U32 {
            value & 0xffff_ffff
        } else {
            value
        }))
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
    let Rep::Imm(Imm::Int(value)) = b else {
        return None;
    };
    if !matches!(ty, Type::U32 | Type::U64) || value <= 0 || !(value as u64).is_power_of_two() {
        return None;
    }
    let shift = Rep::Imm(Imm::Int(i64::from(value.trailing_zeros())));
    match op {
        Op::Mul => Some((Op::Shl, shift)),
        Op::Div => Some((Op::Shr, shift)),
        Op::Rem => Some((Op::And, Rep::Imm(Imm::Int(value - 1)))),
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
    if let Some(folded) = fold(op, ty, x, y) {
        return folded;
    }
    let commutes = matches!(
        op,
        Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Min | Op::Max
    );
    let (x, y) = if commutes && matches!(x, Rep::Imm(_)) {
        (y, x)
    } else {
        (x, y)
    };
    let (op, y) = reduce(op, ty, y).unwrap_or((op, y));
    // One operand at least must be a register for ptxas to take the form.
    let x = if matches!(x, Rep::Imm(_)) {
        Rep::Reg(b.to_reg(at, ty, x))
    } else {
        x
    };
    let (quals, n) = arith(op, ty);
    Rep::Reg(b.def(at, op, &quals[..n], ty, [x.operand(), y.operand()]))
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
                Val::from_rep(with(|b| binary(b, at, Op::$op, T::TYPE, self.rep, Rep::Imm(other.imm()))))
            }
        }
    )*};
}

operators! {
    Add add Add Num; Sub sub Sub Num; Mul mul Mul Num; Div div Div Num;
    Rem rem Rem Int; BitXor bitxor Xor Int;
}

/// A type with bitwise and, or, not: integers and predicates.
pub trait Bits: Ty {}
impl Bits for bool {}
impl Bits for u32 {}
impl Bits for i32 {}
impl Bits for u64 {}

operators! { BitAnd bitand And Bits; BitOr bitor Or Bits; }

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
                Val::from_rep(with(|b| binary(b, at, Op::$op, T::TYPE, self.rep, Rep::Imm(by.imm()))))
            }
        }
    )*};
}

shifts! { Shl shl Shl; Shr shr Shr; }

#[track_caller]
pub(crate) fn unary<'k, T: Ty, V: Ty, U: Uni>(
    op: Op,
    quals: &[Qual],
    x: Val<'k, T, U>,
) -> Val<'k, V, U> {
    let at = Location::caller();
    Val::from_reg(with(|b| {
        let reg = b.to_reg(at, T::TYPE, x.rep);
        b.def(at, op, quals, V::TYPE, [Operand::Reg(reg)])
    }))
}

impl<'k, T: Bits, U: Uni> Not for Val<'k, T, U> {
    type Output = Val<'k, T, U>;
    #[track_caller]
    fn not(self) -> Self::Output {
        unary(Op::Not, &[Qual::T(bits_of(T::TYPE))], self)
    }
}

impl<'k, U: Uni> Neg for Val<'k, f32, U> {
    type Output = Val<'k, f32, U>;
    #[track_caller]
    fn neg(self) -> Self::Output {
        unary(Op::Neg, &[Qual::T(Type::F32)], self)
    }
}

impl<'k, T: Num, U: Uni> Val<'k, T, U> {
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
            let x = builder.to_reg(at, T::TYPE, self.rep);
            builder.def(
                at,
                op,
                &quals[..n],
                T::TYPE,
                [Operand::Reg(x), a.operand(), b.operand()],
            )
        }))
    }
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident $qual:ident;)*) => {
        impl<'k, T: Num, U: Uni> Val<'k, T, U> {
            $($(#[$doc])*
            #[track_caller]
            pub fn $method<A: Arg<'k, T>>(self, other: A) -> Val<'k, bool, U::Out>
            where
                U: Join<A::U>,
            {
                let at = Location::caller();
                let other = other.val();
                Val::from_reg(with(|b| {
                    let x = b.to_reg(at, T::TYPE, self.rep);
                    let quals = [Qual::$qual, Qual::T(T::TYPE)];
                    b.def(at, Op::Setp, &quals, Type::Pred, [Operand::Reg(x), other.operand()])
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
    pub fn select<T: Num, A: Arg<'k, T>, B: Arg<'k, T>>(
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
            let ty = if T::TYPE == Type::F32 {
                Type::F32
            } else {
                bits_of(T::TYPE)
            };
            let p = b.to_reg(at, Type::Pred, self.rep);
            b.def(
                at,
                Op::Selp,
                &[Qual::T(ty)],
                T::TYPE,
                [yes.operand(), no.operand(), Operand::Reg(p)],
            )
        }))
    }
}

macro_rules! float_functions {
    ($($(#[$doc:meta])* $method:ident $op:ident [$($qual:ident)*];)*) => {
        impl<'k, U: Uni> Val<'k, f32, U> {
            $($(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Self {
                unary(Op::$op, &[$(Qual::$qual,)* Qual::T(Type::F32)], self)
            })*
        }
    };
}

float_functions! {
    /// Square root, correctly rounded.
    sqrt Sqrt [Rn];
    /// `1 / sqrt(self)` within 2^-22.9 relative (`rsqrt.approx`).
    rsqrt_approx Rsqrt [Approx];
    /// `1 / self` within 1 ulp (`rcp.approx`).
    rcp_approx Rcp [Approx];
    /// `2^self` within 2 ulp (`ex2.approx`).
    exp2_approx Ex2 [Approx];
    /// `log2(self)` (`lg2.approx`), absolute error 2^-22 near 1.
    log2_approx Lg2 [Approx];
    /// Sine, absolute error 2^-20.5 within [-pi, pi] (`sin.approx`).
    sin_approx Sin [Approx];
    /// Cosine, absolute error 2^-20.5 within [-pi, pi] (`cos.approx`).
    cos_approx Cos [Approx];
    /// Absolute value.
    abs Abs [];
}

impl<'k, U: Uni> Val<'k, f32, U> {
    /// `1 / sqrt(self)` by a correctly rounded root and division.
    #[track_caller]
    pub fn rsqrt(self) -> Self {
        let at = Location::caller();
        let root = self.sqrt().rep();
        Val::from_rep(with(|b| {
            binary(b, at, Op::Div, Type::F32, Rep::Imm(1.0f32.imm()), root)
        }))
    }

    /// `e^self` as `2^(self * log2 e)`; relative error grows with `|self|` (2^-21 at 10).
    #[track_caller]
    pub fn exp(self) -> Self {
        (self * std::f32::consts::LOG2_E).exp2_approx()
    }

    /// Rounded to the nearest integer, ties to even, saturating; NaN gives 0.
    #[track_caller]
    pub fn round_i32(self) -> Val<'k, i32, U> {
        unary(
            Op::Cvt,
            &[Qual::Rni, Qual::T(Type::S32), Qual::T(Type::F32)],
            self,
        )
    }

    /// Rounded towards zero, saturating; NaN gives 0.
    #[track_caller]
    pub fn trunc_u32(self) -> Val<'k, u32, U> {
        unary(
            Op::Cvt,
            &[Qual::Rzi, Qual::T(Type::U32), Qual::T(Type::F32)],
            self,
        )
    }

    /// As an f16, rounded to nearest even; overflow gives infinity.
    #[track_caller]
    pub fn f16(self) -> Val<'k, f16, U> {
        unary(
            Op::Cvt,
            &[Qual::Rn, Qual::T(Type::F16), Qual::T(Type::F32)],
            self,
        )
    }

    /// The bits.
    #[track_caller]
    pub fn to_bits(self) -> Val<'k, u32, U> {
        unary(Op::Mov, &[Qual::T(Type::B32)], self)
    }

    /// `{lo: self, hi: other}` rounded to f16 and packed (`cvt.rn.f16x2.f32` on sm_80, two conversions below).
    #[track_caller]
    pub fn pack_f16<V: Uni>(self, hi: Val<'k, f32, V>) -> Val<'k, u32, U::Out>
    where
        U: Join<V>,
    {
        let at = Location::caller();
        if with(|b| b.target.sm >= 80) {
            return Val::from_reg(with(|b| {
                let (lo, hi) = (
                    b.to_reg(at, Type::F32, self.rep),
                    b.to_reg(at, Type::F32, hi.rep),
                );
                let quals = [Qual::Rn, Qual::T(Type::F16x2), Qual::T(Type::F32)];
                b.def(
                    at,
                    Op::Cvt,
                    &quals,
                    Type::B32,
                    [Operand::Reg(hi), Operand::Reg(lo)],
                )
            }));
        }
        self.f16().pack(hi.f16())
    }
}

macro_rules! half_methods {
    ($($half:ident $ptx:ident;)*) => {$(
        impl<'k, U: Uni> Val<'k, $half, U> {
            /// As an f32, exactly.
            #[track_caller]
            pub fn f32(self) -> Val<'k, f32, U> {
                unary(Op::Cvt, &[Qual::T(Type::F32), Qual::T(Type::$ptx)], self)
            }

            /// `self` in the low half and `hi` in the high half of a word.
            #[track_caller]
            pub fn pack<V: Uni>(self, hi: Val<'k, $half, V>) -> Val<'k, u32, U::Out>
            where
                U: Join<V>,
            {
                let at = Location::caller();
                Val::from_reg(with(|b| {
                    let lo = b.to_reg(at, Type::B16, self.rep);
                    let hi = b.to_reg(at, Type::B16, hi.rep);
                    let pair = Operand::Vec(Box::new([Operand::Reg(lo), Operand::Reg(hi)]));
                    b.def(at, Op::Mov, &[Qual::T(Type::B32)], Type::B32, [pair])
                }))
            }
        }

        impl<'k, U: Uni> From<Val<'k, u32, U>> for (Val<'k, $half, U>, Val<'k, $half, U>) {
            /// The low and the high half of a word.
            #[track_caller]
            fn from(word: Val<'k, u32, U>) -> Self {
                let at = Location::caller();
                with(|b| {
                    let word = b.to_reg(at, Type::B32, word.rep);
                    let (lo, hi) = (b.reg(Type::B16), b.reg(Type::B16));
                    let pair = Operand::Vec(Box::new([Operand::Reg(lo), Operand::Reg(hi)]));
                    b.push(at, warpsmith_ptx::ir::Inst::new(Op::Mov, &[Qual::T(Type::B32)], [pair, Operand::Reg(word)]));
                    (Val::from_reg(lo), Val::from_reg(hi))
                })
            }
        }
    )*};
}

half_methods! { f16 F16; bf16 BF16; }

impl<'k, U: Uni> Val<'k, u32, U> {
    /// Widened without sign.
    #[track_caller]
    pub fn u64(self) -> Val<'k, u64, U> {
        if let Some(value) = self.known() {
            return Val::constant(value as u64);
        }
        unary(Op::Cvt, &[Qual::T(Type::U64), Qual::T(Type::U32)], self)
    }

    /// As an f32, rounded to nearest even.
    #[track_caller]
    pub fn f32(self) -> Val<'k, f32, U> {
        unary(
            Op::Cvt,
            &[Qual::Rn, Qual::T(Type::F32), Qual::T(Type::U32)],
            self,
        )
    }

    /// The same bits as a signed integer.
    #[track_caller]
    pub fn as_i32(self) -> Val<'k, i32, U> {
        self.retype()
    }

    /// The same bits as an f32.
    #[track_caller]
    pub fn as_f32(self) -> Val<'k, f32, U> {
        unary(Op::Mov, &[Qual::T(Type::B32)], self)
    }

    /// `self / n` rounded up.
    #[track_caller]
    pub fn div_ceil(self, n: u32) -> Self {
        (self + (n - 1)) / n
    }

    /// `self / n` rounded up, for a run-time `n`.
    #[track_caller]
    pub fn div_ceil_by<V: Uni>(self, n: Val<'k, u32, V>) -> Val<'k, u32, U::Out>
    where
        U: Join<V>,
    {
        let at = Location::caller();
        Val::from_rep(with(|b| {
            let less = binary(b, at, Op::Sub, Type::U32, n.rep, Rep::Imm(Imm::Int(1)));
            let sum = binary(b, at, Op::Add, Type::U32, self.rep, less);
            binary(b, at, Op::Div, Type::U32, sum, n.rep)
        }))
    }

    /// The full 64-bit product.
    #[track_caller]
    pub fn mul_wide<A: Arg<'k, u32>>(self, other: A) -> Val<'k, u64, U::Out>
    where
        U: Join<A::U>,
    {
        let at = Location::caller();
        let other = other.val();
        Val::from_reg(with(|b| {
            let x = b.to_reg(at, Type::U32, self.rep);
            b.def(
                at,
                Op::Mul,
                &[Qual::Wide, Qual::T(Type::U32)],
                Type::U64,
                [Operand::Reg(x), other.operand()],
            )
        }))
    }

    /// Bytes picked from `self` (0 to 3) and `high` (4 to 7) by the nibbles of `selector` (`prmt`).
    #[track_caller]
    pub fn permute<A: Arg<'k, u32>, B: Arg<'k, u32>>(
        self,
        high: A,
        selector: B,
    ) -> Val<'k, u32, <<U as Join<A::U>>::Out as Join<B::U>>::Out>
    where
        U: Join<A::U>,
        U::Out: Join<B::U>,
    {
        let at = Location::caller();
        let (high, selector) = (high.val(), selector.val());
        Val::from_reg(with(|b| {
            let x = b.to_reg(at, Type::B32, self.rep);
            let sources = [Operand::Reg(x), high.operand(), selector.operand()];
            b.def(at, Op::Prmt, &[Qual::T(Type::B32)], Type::B32, sources)
        }))
    }

    /// `acc` plus the dot product of four signed bytes with four signed bytes (`dp4a.s32.s32`).
    #[track_caller]
    pub fn dot4<V: Uni, A: Arg<'k, i32>>(
        self,
        other: Val<'k, u32, V>,
        acc: A,
    ) -> Val<'k, i32, <<U as Join<V>>::Out as Join<A::U>>::Out>
    where
        U: Join<V>,
        U::Out: Join<A::U>,
    {
        let at = Location::caller();
        let acc = acc.val();
        Val::from_reg(with(|b| {
            let (x, y) = (
                b.to_reg(at, Type::B32, self.rep),
                b.to_reg(at, Type::B32, other.rep),
            );
            let sources = [Operand::Reg(x), Operand::Reg(y), acc.operand()];
            b.def(
                at,
                Op::Dp4a,
                &[Qual::T(Type::S32), Qual::T(Type::S32)],
                Type::S32,
                sources,
            )
        }))
    }

    /// How many bits are set (`popc`).
    #[track_caller]
    pub fn count_ones(self) -> Self {
        unary(Op::Popc, &[Qual::T(Type::B32)], self)
    }

    /// The bits `[from, from + count)`, zero-extended.
    #[track_caller]
    pub fn bits(self, from: u32, count: u32) -> Self {
        if from + count == 32 {
            return self >> from;
        }
        (self >> from) & ((1 << count) - 1)
    }
}

impl<'k, U: Uni> Val<'k, i32, U> {
    /// As an f32, rounded to nearest even.
    #[track_caller]
    pub fn f32(self) -> Val<'k, f32, U> {
        unary(
            Op::Cvt,
            &[Qual::Rn, Qual::T(Type::F32), Qual::T(Type::S32)],
            self,
        )
    }

    /// The same bits as an unsigned integer.
    #[track_caller]
    pub fn as_u32(self) -> Val<'k, u32, U> {
        self.retype()
    }
}

impl<'k, U: Uni> Val<'k, u64, U> {
    /// The low 32 bits.
    #[track_caller]
    pub fn u32(self) -> Val<'k, u32, U> {
        unary(Op::Cvt, &[Qual::T(Type::U32), Qual::T(Type::U64)], self)
    }
}
