//! Functions of values: roots and exponentials, conversions, packing, bytes, dot products.

use crate::{
    arith,
    build::{Rep, with},
    slot::Slot,
    uni::{Join, Uni},
    val::{Arg, Ty, Val, binary, unary},
};
use half::{bf16, f16};
use std::panic::Location;
use warpsmith_ptx::{ir::Imm, op::Op, qual::Qual, types::Type};

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
    /// `tanh(self)` within 2^-11 relative (`tanh.approx`, sm_75).
    tanh_approx Tanh [Approx];
}

impl<'k, U: Uni> Val<'k, f32, U> {
    /// `1 / sqrt(self)` by a correctly rounded root and division.
    #[track_caller]
    pub fn rsqrt(self) -> Self {
        let at = Location::caller();
        let root = self.sqrt().rep();
        Val::from_rep(with(|b| {
            binary(b, at, Op::Div, Type::F32, Rep::imm(1.0f32.imm()), root)
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
                    &[Slot::reg(hi), Slot::reg(lo)],
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
                let at = Location::caller();
                Val::from_reg(with(|b| {
                    let half = Slot::reg(b.to_reg(at, Type::$ptx, self.rep));
                    arith::widened(b, at, Type::$ptx, half)
                }))
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
                    let pair = [Slot::group(2), Slot::reg(lo), Slot::reg(hi)];
                    b.def(at, Op::Mov, &[Qual::T(Type::B32)], Type::B32, &pair)
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
                    let quals = [Qual::T(Type::B32)];
                    let [lo, hi] = b.defs(at, Op::Mov, &quals, Type::B16, &[Slot::reg(word)]);
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
        if let Some(value) = self.known(Location::caller()) {
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
            let less = binary(b, at, Op::Sub, Type::U32, n.rep, Rep::imm(Imm::Int(1)));
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
                &[Slot::reg(x), other.slot()],
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
            let sources = [Slot::reg(x), high.slot(), selector.slot()];
            b.def(at, Op::Prmt, &[Qual::T(Type::B32)], Type::B32, &sources)
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
            let sources = [Slot::reg(x), Slot::reg(y), acc.slot()];
            b.def(
                at,
                Op::Dp4a,
                &[Qual::T(Type::S32), Qual::T(Type::S32)],
                Type::S32,
                &sources,
            )
        }))
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
