//! Conversions between numbers, and integer functions of every width.

use crate::{
    build::with,
    elem::Elem,
    exchange::one_or_zero,
    slot::Slot,
    uni::{Join, Uni},
    val::{Arg, Float, Int, Num, Ty, Val, unary},
};
use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use std::panic::Location;
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

impl<'k, T: Num, U: Uni> Val<'k, T, U> {
    /// The nearest number of type `V`, as Rust's `as` has it (`cvt`): integers keep their low bits or are extended by their
    /// own sign; floats become integers by rounding towards zero, held within what the type can say; what becomes a float is
    /// rounded to nearest even. A NaN becomes 0 in 32 bits; in 64 bits it is what the hardware gives.
    #[track_caller]
    pub fn to<V: Num>(self) -> Val<'k, V, U> {
        let (from, to) = (T::TYPE, V::TYPE);
        if from == to {
            return Val::from_rep(self.rep);
        }
        let round = match (from.is_float(), to.is_float()) {
            (true, true) if to.bits() > from.bits() => None,
            (_, true) => Some(Qual::Rn),
            (true, false) => Some(Qual::Rzi),
            (false, false) if to.bits() == from.bits() => return self.retype(),
            (false, false) => None,
        };
        match round {
            Some(round) => unary(Op::Cvt, &[round, Qual::T(to), Qual::T(from)], self),
            None => unary(Op::Cvt, &[Qual::T(to), Qual::T(from)], self),
        }
    }
}

impl<'k, T: Float, U: Uni> Val<'k, T, U> {
    #[track_caller]
    fn rounded(self, how: Qual) -> Self {
        unary(Op::Cvt, &[how, Qual::T(T::TYPE), Qual::T(T::TYPE)], self)
    }

    /// The largest whole number that is not above it.
    #[track_caller]
    pub fn floor(self) -> Self {
        self.rounded(Qual::Rmi)
    }

    /// The smallest whole number that is not below it.
    #[track_caller]
    pub fn ceil(self) -> Self {
        self.rounded(Qual::Rpi)
    }

    /// Without what is behind the point.
    #[track_caller]
    pub fn trunc(self) -> Self {
        self.rounded(Qual::Rzi)
    }

    /// The nearest whole number; of two as near, the even one.
    #[track_caller]
    pub fn round_ties_even(self) -> Self {
        self.rounded(Qual::Rni)
    }
}

impl<'k, U: Uni> Val<'k, f64, U> {
    /// Square root, correctly rounded.
    #[track_caller]
    pub fn sqrt(self) -> Self {
        unary(Op::Sqrt, &[Qual::Rn, Qual::T(Type::F64)], self)
    }

    /// The bits.
    #[track_caller]
    pub fn to_bits(self) -> Val<'k, u64, U> {
        unary(Op::Mov, &[Qual::T(Type::B64)], self)
    }
}

impl<'k, U: Uni> Val<'k, u64, U> {
    /// The same bits as an f64.
    #[track_caller]
    pub fn as_f64(self) -> Val<'k, f64, U> {
        unary(Op::Mov, &[Qual::T(Type::B64)], self)
    }
}

impl<'k, U: Uni> Val<'k, f32, U> {
    /// As a bf16, rounded to nearest even (sm_80).
    #[track_caller]
    pub fn bf16(self) -> Val<'k, bf16, U> {
        unary(
            Op::Cvt,
            &[Qual::Rn, Qual::T(Type::BF16), Qual::T(Type::F32)],
            self,
        )
    }
}

impl<'k, U: Uni> Val<'k, bool, U> {
    /// 1 where it holds, else 0.
    #[track_caller]
    pub fn u32(self) -> Val<'k, u32, U> {
        Val::from_reg(one_or_zero(Location::caller(), self.reg()))
    }
}

/// The bit type of an integer.
fn bits(ty: Type) -> Type {
    if ty.bits() == 64 {
        Type::B64
    } else {
        Type::B32
    }
}

impl<'k, T: Int, U: Uni> Val<'k, T, U> {
    /// The upper half of the full product (`mul.hi`).
    #[track_caller]
    pub fn mul_hi<A: Arg<'k, T>>(self, other: A) -> Val<'k, T, U::Out>
    where
        U: Join<A::U>,
    {
        let at = Location::caller();
        let other = other.val();
        Val::from_reg(with(|b| {
            let x = b.to_reg(at, T::TYPE, self.rep);
            let quals = [Qual::Hi, Qual::T(T::TYPE)];
            b.def(at, Op::Mul, &quals, T::TYPE, &[Slot::reg(x), other.slot()])
        }))
    }

    /// How many bits above the highest one that is set (`clz`); the width for 0.
    #[track_caller]
    pub fn leading_zeros(self) -> Val<'k, u32, U> {
        unary(Op::Clz, &[Qual::T(bits(T::TYPE))], self)
    }

    /// How many bits are set (`popc`).
    #[track_caller]
    pub fn count_ones(self) -> Val<'k, u32, U> {
        unary(Op::Popc, &[Qual::T(bits(T::TYPE))], self)
    }

    /// The bits in the other order (`brev`).
    #[track_caller]
    pub fn reverse_bits(self) -> Self {
        unary(Op::Brev, &[Qual::T(bits(T::TYPE))], self)
    }

    /// How many bits below the lowest one that is set; the width for 0.
    #[track_caller]
    pub fn trailing_zeros(self) -> Val<'k, u32, U> {
        self.reverse_bits().leading_zeros()
    }
}

impl<'k, U: Uni> Val<'k, u32, U> {
    /// The upper 32 bits of `{self, low} << by`, `by` taken modulo 32 (`shf.l.wrap`): a rotation where both are the same.
    #[track_caller]
    pub fn funnel_left<A: Arg<'k, u32>, B: Arg<'k, u32>>(
        self,
        low: A,
        by: B,
    ) -> Val<'k, u32, <<U as Join<A::U>>::Out as Join<B::U>>::Out>
    where
        U: Join<A::U>,
        U::Out: Join<B::U>,
    {
        self.funnel(
            Location::caller(),
            Qual::L,
            low.val().slot(),
            by.val().slot(),
        )
    }

    /// The lower 32 bits of `{self, low} >> by`, `by` taken modulo 32 (`shf.r.wrap`).
    #[track_caller]
    pub fn funnel_right<A: Arg<'k, u32>, B: Arg<'k, u32>>(
        self,
        low: A,
        by: B,
    ) -> Val<'k, u32, <<U as Join<A::U>>::Out as Join<B::U>>::Out>
    where
        U: Join<A::U>,
        U::Out: Join<B::U>,
    {
        self.funnel(
            Location::caller(),
            Qual::R,
            low.val().slot(),
            by.val().slot(),
        )
    }

    fn funnel<V: Uni>(
        self,
        at: &'static Location<'static>,
        way: Qual,
        low: Slot,
        by: Slot,
    ) -> Val<'k, u32, V> {
        Val::from_reg(with(|b| {
            let high = b.to_reg(at, Type::U32, self.rep);
            let quals = [way, Qual::Wrap, Qual::T(Type::B32)];
            let sources = [low, Slot::reg(high), by];
            b.def(at, Op::Shf, &quals, Type::U32, &sources)
        }))
    }
}

macro_rules! fp8 {
    ($($name:ident $pair:ident $what:literal;)*) => {$(
        impl Elem for $name {
            /// The byte; [`Fp8`] has the conversions.
            type Reg = u32;
            const MEMORY: Type = Type::U8;
            const NAME: &'static str = $what;
        }

        impl Fp8 for $name {
            const PAIR: Type = Type::$pair;
        }
    )*};
}

fp8! {
    F8E4M3 E4M3x2 "f8e4m3";
    F8E5M2 E5M2x2 "f8e5m2";
}

/// An 8-bit float: [`F8E4M3`] or [`F8E5M2`] (OCP 8-bit floating point). Conversions need sm_89.
pub trait Fp8: Elem<Reg = u32> {
    /// The PTX type of two of them.
    const PAIR: Type;

    /// The value of the byte, exactly.
    #[track_caller]
    fn decode<'k, U: Uni>(byte: Val<'k, u32, U>) -> Val<'k, f32, U> {
        let at = Location::caller();
        let pair = Val::<u32, U>::from_reg(with(|b| {
            let word = b.to_reg(at, Type::B32, byte.rep);
            let [low, _] = b.defs(
                at,
                Op::Mov,
                &[Qual::T(Type::B32)],
                Type::B16,
                &[Slot::reg(word)],
            );
            let quals = [Qual::Rn, Qual::T(Type::F16x2), Qual::T(Self::PAIR)];
            b.def(at, Op::Cvt, &quals, Type::B32, &[Slot::reg(low)])
        }));
        let (low, _): (Val<'k, f16, U>, Val<'k, f16, U>) = pair.into();
        low.f32()
    }

    /// The byte of the nearest value; what is too large becomes the largest one (`cvt.rn.satfinite`).
    #[track_caller]
    fn encode<'k, U: Uni>(value: Val<'k, f32, U>) -> Val<'k, u32, U> {
        let at = Location::caller();
        Val::from_reg(with(|b| {
            let value = b.to_reg(at, Type::F32, value.rep);
            let quals = [
                Qual::Rn,
                Qual::Satfinite,
                Qual::T(Self::PAIR),
                Qual::T(Type::F32),
            ];
            let zero = Slot::imm(0.0f32.imm());
            let sources = [zero, Slot::reg(value)];
            let pair = b.def(at, Op::Cvt, &quals, Type::B16, &sources);
            let quals = [Qual::T(Type::U32), Qual::T(Type::U16)];
            b.def(at, Op::Cvt, &quals, Type::U32, &[Slot::reg(pair)])
        }))
    }
}
