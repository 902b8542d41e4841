//! Arithmetic instructions: their qualifiers by type, and those on f16 and bf16 by what a target has.
//!
//! Each operation on halves is rounded once to nearest even. Where a target lacks an instruction, f32 stands in: it has more than
//! twice the bits of either half and two more, so that rounding a sum, difference, product or quotient to f32 first
//! changes nothing (Figueroa, "When is double rounding innocuous?", 1995).

use crate::{
    build::{Builder, Rep},
    slot::Slot,
};
use half::bf16;
use std::panic::Location;
use warpsmith_ptx::{
    ir::{Imm, RegId},
    op::Op,
    qual::Qual,
    types::Type,
};

type At = &'static Location<'static>;

/// The qualifiers of an arithmetic instruction on `ty`: rounding is always spelt, so that nothing is contracted.
pub(crate) fn arith(op: Op, ty: Type) -> ([Qual; 2], usize) {
    let t = Qual::T(ty);
    match (op, ty) {
        (
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Fma,
            Type::F32 | Type::F64 | Type::F16 | Type::BF16,
        ) => ([Qual::Rn, t], 2),
        (Op::Mul | Op::Mad, _) => ([Qual::Lo, t], 2),
        (Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl, _) => ([Qual::T(bits_of(ty)), t], 1),
        _ => ([t, t], 1),
    }
}

/// The type of bits of the same width.
pub(crate) fn bits_of(ty: Type) -> Type {
    match (ty, ty.bits()) {
        (Type::Pred, _) => Type::Pred,
        (_, 64) => Type::B64,
        (_, 32) => Type::B32,
        _ => Type::B16,
    }
}

/// Whether arithmetic on `ty` takes registers only, and differs by target.
pub(crate) fn is_half(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::BF16)
}

/// `add`, `sub`, `mul`, `div`, `min` or `max` of two halves.
pub(crate) fn of_halves(b: &mut Builder, at: At, op: Op, ty: Type, x: Rep, y: Rep) -> Rep {
    let x = Slot::reg(b.to_reg(at, ty, x));
    let y = Slot::reg(b.to_reg(at, ty, y));
    let exact = matches!(op, Op::Add | Op::Sub | Op::Mul);
    let native = match op {
        Op::Min | Op::Max => b.target.sm >= 80,
        _ => exact && (ty == Type::F16 || b.target.sm >= 90),
    };
    if native {
        let (quals, n) = arith(op, ty);
        return Rep::Reg(b.def(at, op, &quals[..n], ty, &[x, y]));
    }
    if exact && b.target.sm >= 80 {
        // Of bf16 sm_80 has one instruction that adds and multiplies.
        let mut constant =
            |value: bf16| Slot::reg(b.to_reg(at, ty, Rep::imm(Imm::Int(value.to_bits().into()))));
        let sources = match op {
            Op::Add => [x, constant(bf16::ONE), y],
            Op::Sub => [y, constant(bf16::NEG_ONE), x],
            // A product of zero keeps its sign.
            _ => [x, y, constant(bf16::NEG_ZERO)],
        };
        let (quals, n) = arith(Op::Fma, ty);
        return Rep::Reg(b.def(at, Op::Fma, &quals[..n], ty, &sources));
    }
    let x = Slot::reg(widened(b, at, ty, x));
    let y = Slot::reg(widened(b, at, ty, y));
    let (quals, n) = arith(op, Type::F32);
    let wide = b.def(at, op, &quals[..n], Type::F32, &[x, y]);
    let quals = [Qual::Rn, Qual::T(ty), Qual::T(Type::F32)];
    Rep::Reg(b.def(at, Op::Cvt, &quals, ty, &[Slot::reg(wide)]))
}

/// A half as an f32, exactly.
pub(crate) fn widened(b: &mut Builder, at: At, ty: Type, x: Slot) -> RegId {
    // `cvt.f32.bf16` is new in sm_90; a bf16 is the upper half of its f32.
    if ty == Type::BF16 && b.target.sm < 90 {
        let none = b.to_reg(at, Type::B16, Rep::imm(Imm::Int(0)));
        let pair = [Slot::group(2), Slot::reg(none), x];
        let word = b.def(at, Op::Mov, &[Qual::T(Type::B32)], Type::B32, &pair);
        let quals = [Qual::T(Type::B32)];
        return b.def(at, Op::Mov, &quals, Type::F32, &[Slot::reg(word)]);
    }
    let quals = [Qual::T(Type::F32), Qual::T(ty)];
    b.def(at, Op::Cvt, &quals, Type::F32, &[x])
}

/// Whether two of a type are compared as f32: `setp.bf16` is new in sm_90.
pub(crate) fn compares_in_f32(b: &Builder, ty: Type) -> bool {
    ty == Type::BF16 && b.target.sm < 90
}
