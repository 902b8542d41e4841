//! Code for integers of 16 bits: they stand in cells of 32, whose upper halves nobody reads.

use super::{
    kinds::Int2,
    more::{fits, source},
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};
use warpsmith_x86::vector;

/// What is done with 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Short {
    /// Of cells as they are.
    Plain(Int2),
    /// Of numbers, which are extended first.
    Extended {
        op: Int2,
        signed: bool,
    },
    Mad,
    /// The product of 32 bits, or its upper half; and a number more.
    MulWide {
        signed: bool,
        high: bool,
        add: bool,
    },
    Quotient {
        signed: bool,
        rest: bool,
    },
    Shift {
        left: bool,
        signed: bool,
    },
    Not,
    Neg,
    Abs,
    Select,
}

/// What an instruction does, if it is of 16 bits.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Short> {
    let q = &inst.quals;
    let has = |word| q.has(word);
    let mut types = q.types();
    let ty = types.next()?;
    let integer = matches!(ty, Type::U16 | Type::S16 | Type::B16);
    let odd = [Qual::Sat, Qual::Cc, Qual::Relu];
    if types.next().is_some() || odd.iter().any(|word| has(*word)) {
        return None;
    }
    if inst.op == Op::Selp && (integer || matches!(ty, Type::F16 | Type::BF16)) {
        let pred = matches!(
            inst.operands.get(3),
            Some(warpsmith_ptx::ir::Operand::Reg(reg) | warpsmith_ptx::ir::Operand::NotReg(reg))
                if l.type_of(*reg) == Type::Pred
        );
        let mut plain = inst.clone();
        plain.operands.truncate(3);
        let right = pred && inst.operands.len() == 4 && fits(l, &plain, 16, &[16, 16]);
        return right.then_some(Short::Select);
    }
    if !integer {
        return None;
    }
    let signed = ty.is_signed();
    let (high, wide) = (has(Qual::Hi), has(Qual::Wide));
    let to = if wide { 32 } else { 16 };
    let plain = |op: Int2| (Short::Plain(op), fits(l, inst, 16, &[16, 16]));
    let (kind, right) = match inst.op {
        Op::Add => plain(Int2::Add),
        Op::Sub => plain(Int2::Sub),
        Op::And => plain(Int2::And),
        Op::Or => plain(Int2::Or),
        Op::Xor => plain(Int2::Xor),
        Op::Mul if high || wide => {
            let add = false;
            let kind = Short::MulWide { signed, high, add };
            (kind, fits(l, inst, to, &[16, 16]))
        }
        Op::Mul => plain(Int2::Mul),
        Op::Mad if high || wide => {
            let add = true;
            let kind = Short::MulWide { signed, high, add };
            (kind, fits(l, inst, to, &[16, 16, to]))
        }
        Op::Mad => (Short::Mad, fits(l, inst, 16, &[16, 16, 16])),
        Op::Min | Op::Max => {
            let op = if inst.op == Op::Min {
                Int2::Min
            } else {
                Int2::Max
            };
            let kind = Short::Extended { op, signed };
            (kind, fits(l, inst, 16, &[16, 16]))
        }
        Op::Div | Op::Rem => {
            let rest = inst.op == Op::Rem;
            let kind = Short::Quotient { signed, rest };
            (kind, fits(l, inst, 16, &[16, 16]))
        }
        Op::Shl | Op::Shr => {
            let left = inst.op == Op::Shl;
            (Short::Shift { left, signed }, fits(l, inst, 16, &[16, 32]))
        }
        Op::Not => (Short::Not, fits(l, inst, 16, &[16])),
        Op::Neg => (Short::Neg, fits(l, inst, 16, &[16])),
        Op::Abs if signed => (Short::Abs, fits(l, inst, 16, &[16])),
        _ => return None,
    };
    right.then_some(kind)
}

impl Coder<'_, '_> {
    pub(super) fn short(&mut self, kind: Short, inst: &Inst) -> Result<ValueId, Skip> {
        let both = |coder: &mut Self, signed: bool| -> Result<[ValueId; 2], Skip> {
            let [a, b] = coder.args(inst, 16)?;
            Ok([
                coder.extended(16, signed, a)?,
                coder.extended(16, signed, b)?,
            ])
        };
        match kind {
            Short::Plain(op) => {
                let [a, b] = self.args(inst, 16)?;
                self.int2(op, false, false, a, b)
            }
            Short::Extended { op, signed } => {
                let [a, b] = both(self, signed)?;
                self.int2(op, false, signed, a, b)
            }
            Short::Mad => {
                let [a, b, c] = self.args(inst, 16)?;
                let product = self.int2(Int2::Mul, false, false, a, b)?;
                self.int2(Int2::Add, false, false, product, c)
            }
            Short::MulWide { signed, high, add } => {
                let [a, b] = both(self, signed)?;
                let mut product = self.int2(Int2::Mul, false, false, a, b)?;
                if high {
                    let by = self.constant(16, false);
                    product = self.shift(false, false, false, product, by)?;
                }
                if !add {
                    return Ok(product);
                }
                let c = self.read(source(inst, 3)?, if high { 16 } else { 32 })?;
                self.int2(Int2::Add, false, false, product, c)
            }
            Short::Quotient { signed, rest } => {
                let [a, b] = both(self, signed)?;
                self.quotient(signed, rest, a, b)
            }
            Short::Shift { left, signed } => {
                let a = self.read(source(inst, 1)?, 16)?;
                let by = self.read(source(inst, 2)?, 32)?;
                let a = if left {
                    a
                } else {
                    self.extended(16, signed, a)?
                };
                self.shift(left, false, signed && !left, a, by)
            }
            Short::Not => {
                let [a] = self.args(inst, 16)?;
                let ones = self.constant(0xFFFF_FFFF, false);
                self.int2(Int2::Xor, false, false, a, ones)
            }
            Short::Neg => {
                let [a] = self.args(inst, 16)?;
                let zero = self.constant(0, false);
                self.int2(Int2::Sub, false, false, zero, a)
            }
            Short::Abs => {
                let [a] = self.args(inst, 16)?;
                let a = self.extended(16, true, a)?;
                self.map([a], true, false, |coder, [a]| {
                    coder.one(&vector::ABS_I32, a)
                })
            }
            Short::Select => self.select(false, inst),
        }
    }
}
