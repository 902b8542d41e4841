//! Code for predicates: comparisons of all types, alone, in pairs and with another predicate, and numbers made of them.

use super::{
    kinds::{Relation, is_pred, reads, writes},
    more::source,
    nodes::Code,
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::VReg;
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};
use warpsmith_x86::{Cond, MaskAlu, vector};

/// What two numbers are compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// As words, or as f32.
    Plain(Relation),
    /// 16 bits, which are extended first.
    Short {
        relation: Relation,
        signed: bool,
    },
    /// f32, flushed.
    Flushed(u8),
    Half(u8),
    Brain(u8),
    Double(u8),
}

/// What is done with predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predicates {
    /// A comparison, and what joins it to a third operand.
    Compare {
        test: Test,
        with: Option<MaskAlu>,
    },
    /// The same as a number.
    Number {
        test: Test,
        with: Option<MaskAlu>,
        yes: u32,
    },
    Move,
    Not,
}

/// What an instruction does, if it is of predicates.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Predicates> {
    let o = |at: usize| inst.operands.get(at);
    let q = inst.quals.as_slice();
    let types: Vec<Type> = inst.quals.types().collect();
    let target = |operand: &Operand| match operand {
        Operand::Reg(reg) => l.type_of(*reg) == Type::Pred,
        Operand::Sink => true,
        _ => false,
    };
    match inst.op {
        Op::Mov if types == [Type::Pred] => {
            let from = matches!(o(1), Some(Operand::Imm(Imm::Int(_)))) || is_pred(l, o(1));
            (from && target(o(0)?)).then_some(Predicates::Move)
        }
        Op::Not if types == [Type::Pred] => {
            (is_pred(l, o(1)) && target(o(0)?)).then_some(Predicates::Not)
        }
        Op::Set | Op::Setp => {
            let with = q.iter().skip(1).find_map(|word| match word {
                Qual::And => Some(MaskAlu::And),
                Qual::Or => Some(MaskAlu::Or),
                Qual::Xor => Some(MaskAlu::Xor),
                _ => None,
            });
            let ty = *types.last()?;
            let test = test(*q.first()?, ty, inst.quals.has(Qual::Ftz))?;
            let sources = reads(l, o(1), ty.bits()) && reads(l, o(2), ty.bits());
            let third = match with {
                Some(_) => inst.operands.len() == 4 && is_pred(l, o(3)),
                None => inst.operands.len() == 3,
            };
            if !sources || !third {
                return None;
            }
            if inst.op == Op::Setp {
                let right = match o(0)? {
                    Operand::Pair(pair) => target(&pair.0) && target(&pair.1),
                    one => target(one),
                };
                return (right && types.len() == 1).then_some(Predicates::Compare { test, with });
            }
            let yes = match (types.first()?, types.len()) {
                (Type::U32 | Type::S32, 2) => 0xFFFF_FFFF,
                (Type::F32, 2) => 1f32.to_bits(),
                _ => return None,
            };
            writes(l, o(0), 32).then_some(Predicates::Number { test, with, yes })
        }
        _ => None,
    }
}

/// A relation of floats as the machine numbers it.
pub(super) fn of_floats(how: Qual) -> Option<u8> {
    Some(match how {
        Qual::Eq => 0x00,
        Qual::Ne => 0x0C,
        Qual::Lt => 0x11,
        Qual::Le => 0x12,
        Qual::Gt => 0x1E,
        Qual::Ge => 0x1D,
        Qual::Equ => 0x08,
        Qual::Neu => 0x04,
        Qual::Ltu => 0x19,
        Qual::Leu => 0x1A,
        Qual::Gtu => 0x16,
        Qual::Geu => 0x15,
        Qual::Num => 0x07,
        Qual::Nan => 0x03,
        _ => return None,
    })
}

/// A relation of integers.
pub(super) fn of_integers(how: Qual, signed: bool, wide: bool) -> Option<Relation> {
    let (imm, cond) = match (how, signed) {
        (Qual::Eq, _) => (0, Cond::Equal),
        (Qual::Ne, _) => (4, Cond::NotEqual),
        (Qual::Lt | Qual::Lo, true) => (1, Cond::Less),
        (Qual::Lt | Qual::Lo, false) => (1, Cond::Below),
        (Qual::Le | Qual::Ls, true) => (2, Cond::LessEqual),
        (Qual::Le | Qual::Ls, false) => (2, Cond::BelowEqual),
        (Qual::Ge | Qual::Hs, true) => (5, Cond::GreaterEqual),
        (Qual::Ge | Qual::Hs, false) => (5, Cond::AboveEqual),
        (Qual::Gt | Qual::Hi, true) => (6, Cond::Greater),
        (Qual::Gt | Qual::Hi, false) => (6, Cond::Above),
        _ => return None,
    };
    Some(Relation::Int {
        imm,
        cond,
        wide,
        signed,
    })
}

fn test(how: Qual, ty: Type, flush: bool) -> Option<Test> {
    Some(match ty {
        Type::U16 | Type::S16 | Type::B16 => {
            let signed = ty.is_signed();
            let relation = of_integers(how, signed, false)?;
            Test::Short { relation, signed }
        }
        Type::U32 | Type::S32 | Type::B32 | Type::U64 | Type::S64 | Type::B64 => {
            Test::Plain(of_integers(how, ty.is_signed(), ty.bits() > 32)?)
        }
        // Whether there are two numbers does not depend on flushing.
        Type::F32 if flush => Test::Flushed(of_floats(how)?),
        Type::F32 => Test::Plain(Relation::Float(of_floats(how)?)),
        Type::F64 => Test::Double(of_floats(how)?),
        Type::F16 if !flush => Test::Half(of_floats(how)?),
        Type::BF16 => Test::Brain(of_floats(how)?),
        _ => return None,
    })
}

impl Coder<'_, '_> {
    pub(super) fn predicates(&mut self, kind: Predicates, inst: &Inst) -> Result<(), Skip> {
        match kind {
            Predicates::Move | Predicates::Not => {
                let value = match source(inst, 1)? {
                    Operand::Imm(Imm::Int(value)) => {
                        let lanes = if *value == 0 { 0 } else { 0xFFFF_FFFF };
                        self.constant(lanes, false)
                    }
                    operand => {
                        let (from, negated) = self.predicate(Some(operand))?;
                        let mask = self.mask(from, negated != (kind == Predicates::Not))?;
                        self.of_mask(mask)
                    }
                };
                self.put(source(inst, 0)?, value)
            }
            Predicates::Compare { test, with } => {
                let found = self.tested(test, inst)?;
                let (p, q) = match source(inst, 0)? {
                    Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
                    one => (one, None),
                };
                // Both read the third operand, which may be one of them.
                let yes = self.joined_with(found, false, with, inst)?;
                let no = match q {
                    Some(Operand::Reg(_)) => Some(self.joined_with(found, true, with, inst)?),
                    Some(_) | None => None,
                };
                self.put(p, yes)?;
                match (q, no) {
                    (Some(q), Some(no)) => self.put(q, no),
                    _ => Ok(()),
                }
            }
            Predicates::Number { test, with, yes } => {
                let found = self.tested(test, inst)?;
                let found = self.joined_with(found, false, with, inst)?;
                let Operand::Reg(to) = source(inst, 0)? else {
                    return Err(Skip);
                };
                let both = [u64::from(yes), 0].map(|value| self.constant(value, false));
                let value = self.chosen(*to, (found, false), both, false)?;
                self.put(source(inst, 0)?, value)
            }
        }
    }

    /// A comparison or its opposite, and the third operand.
    fn joined_with(
        &mut self,
        found: ValueId,
        negated: bool,
        with: Option<MaskAlu>,
        inst: &Inst,
    ) -> Result<ValueId, Skip> {
        let Some(op) = with else {
            if !negated {
                return Ok(found);
            }
            let mask = self.mask(found, true)?;
            return Ok(self.of_mask(mask));
        };
        let (third, third_negated) = self.predicate(inst.operands.get(3))?;
        let (a, b) = (self.mask(found, negated)?, self.mask(third, third_negated)?);
        let mask = self.nodes.mask(Code::MaskAlu(op), &[a, b]);
        Ok(self.of_mask(mask))
    }

    fn tested(&mut self, test: Test, inst: &Inst) -> Result<ValueId, Skip> {
        match test {
            Test::Plain(relation) => self.compare(relation, inst),
            Test::Short { relation, signed } => {
                let [a, b] = self.args(inst, 16)?;
                let a = self.extended(16, signed, a)?;
                let b = self.extended(16, signed, b)?;
                self.compare_values(relation, a, b)
            }
            Test::Flushed(imm) => self.compare_singles(inst, 32, imm, |coder, a| coder.flush(a)),
            Test::Half(imm) => {
                self.compare_singles(inst, 16, imm, |coder, a| coder.single_of_half(a))
            }
            Test::Brain(imm) => {
                self.compare_singles(inst, 16, imm, |coder, a| coder.by(&vector::SHL_I32, a, 16))
            }
            Test::Double(imm) => {
                let [a, b] = self.args(inst, 64)?;
                let (a, b) = (self.quads(a)?, self.quads(b)?);
                let parts = [0, 1, 2, 3].map(|j| self.test(&vector::CMP_F64, imm, a[j], b[j]));
                let low = self.nodes.mask(Code::MaskJoin8, &[parts[1], parts[0]]);
                let high = self.nodes.mask(Code::MaskJoin8, &[parts[3], parts[2]]);
                let mask = self.nodes.mask(Code::MaskJoin, &[high, low]);
                Ok(self.of_mask(mask))
            }
        }
    }

    /// A comparison of what a function makes f32 of.
    fn compare_singles(
        &mut self,
        inst: &Inst,
        bits: u32,
        imm: u8,
        f: impl Fn(&mut Self, VReg) -> VReg,
    ) -> Result<ValueId, Skip> {
        let [a, b] = self.args(inst, bits)?;
        let a = self.map([a], true, true, |coder, [a]| f(coder, a))?;
        let b = self.map([b], true, true, |coder, [b]| f(coder, b))?;
        self.compare_values(Relation::Float(imm), a, b)
    }
}
