//! Code for f16 and bf16, alone and in pairs, with the bits of results that are rounded once.
//!
//! Sums and products of such numbers are made in f32, which has more than twice their digits, so that rounding twice rounds
//! as once (Figueroa, "When is double rounding innocuous?", 1995). A multiply-add takes the interpreter's steps.

use super::{
    kinds::Float2,
    more::{fits, source},
    nodes::{Arg, Code, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::VReg;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};
use warpsmith_x86::{MaskAlu, Vop, vector};

/// What is done with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Two(Float2),
    Fma,
    Neg,
    Abs,
}

/// An operation, of what, and what is done with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Halves {
    op: Operation,
    brain: bool,
    pair: bool,
    clamp: bool,
    relu: bool,
}

/// What an instruction does, if it is of f16 or bf16.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Halves> {
    let q = &inst.quals;
    let mut types = q.types();
    let (brain, pair) = match types.next()? {
        Type::F16 => (false, false),
        Type::BF16 => (true, false),
        Type::F16x2 => (false, true),
        Type::BF16x2 => (true, true),
        _ => return None,
    };
    let odd = [
        Qual::Ftz,
        Qual::Rz,
        Qual::Rm,
        Qual::Rp,
        Qual::NaN,
        Qual::Xorsign,
    ];
    if types.next().is_some() || odd.iter().any(|word| q.has(*word)) {
        return None;
    }
    let op = match inst.op {
        Op::Add => Operation::Two(Float2::Add),
        Op::Sub => Operation::Two(Float2::Sub),
        Op::Mul => Operation::Two(Float2::Mul),
        Op::Min => Operation::Two(Float2::Min),
        Op::Max => Operation::Two(Float2::Max),
        Op::Fma => Operation::Fma,
        Op::Neg => Operation::Neg,
        Op::Abs => Operation::Abs,
        _ => return None,
    };
    let (clamp, relu) = (q.has(Qual::Sat), q.has(Qual::Relu));
    let bits = if pair { 32 } else { 16 };
    let sources: &[u32] = match op {
        Operation::Fma => &[bits, bits, bits],
        Operation::Two(_) => &[bits, bits],
        Operation::Neg | Operation::Abs => &[bits],
    };
    let known = match op {
        Operation::Fma => !(clamp && relu),
        Operation::Two(_) => !relu,
        Operation::Neg | Operation::Abs => !relu && !clamp,
    };
    (known && fits(l, inst, bits, sources)).then_some(Halves {
        op,
        brain,
        pair,
        clamp,
        relu,
    })
}

impl Coder<'_, '_> {
    pub(super) fn halves(&mut self, kind: Halves, inst: &Inst) -> Result<ValueId, Skip> {
        let bits = if kind.pair { 32 } else { 16 };
        match kind.op {
            Operation::Neg | Operation::Abs => {
                let a = self.read(source(inst, 1)?, bits)?;
                let (keep, flip) = match (kind.op == Operation::Neg, kind.pair) {
                    (true, true) => (0xFFFF_FFFF, 0x8000_8000),
                    (true, false) => (0xFFFF, 0x8000),
                    (false, true) => (0x7FFF_7FFF, 0),
                    (false, false) => (0x7FFF, 0),
                };
                self.map([a], true, false, |coder, [a]| {
                    let kept = coder.with_constant(&vector::AND, a, keep);
                    coder.with_constant(&vector::XOR, kept, flip)
                })
            }
            Operation::Two(_) => {
                let args = self.args(inst, bits)?;
                self.map(args, true, false, |coder, args: [VReg; 2]| {
                    coder.in_parts(kind, args)
                })
            }
            Operation::Fma => {
                let args = self.args(inst, bits)?;
                self.map(args, true, false, |coder, args: [VReg; 3]| {
                    coder.in_parts(kind, args)
                })
            }
        }
    }

    /// Of one number in the low half of each cell, or of both.
    fn in_parts<const N: usize>(&mut self, kind: Halves, args: [VReg; N]) -> VReg {
        let low = self.in_singles(kind, args);
        if !kind.pair {
            return low;
        }
        let high = args.map(|a| self.by(&vector::SHR_U32, a, 16));
        let high = self.in_singles(kind, high);
        let high = self.by(&vector::SHL_I32, high, 16);
        self.plain(&vector::OR, high, low)
    }

    fn in_singles<const N: usize>(&mut self, kind: Halves, args: [VReg; N]) -> VReg {
        let args = args.map(|a| {
            if kind.brain {
                self.by(&vector::SHL_I32, a, 16)
            } else {
                self.single_of_half(a)
            }
        });
        let mut found = match (kind.op, &args[..]) {
            (Operation::Two(op), &[a, b]) => match op {
                Float2::Min | Float2::Max => self.extreme(op == Float2::Max, a, b),
                Float2::Sub => self.plain(&vector::SUB_F32, a, b),
                Float2::Mul => self.plain(&vector::MUL_F32, a, b),
                Float2::Add | Float2::Div => self.plain(&vector::ADD_F32, a, b),
            },
            (_, &[a, b, c]) => self.odd_fma(a, b, c),
            _ => unreachable!("there are two or three sources"),
        };
        if kind.relu {
            let zero = self.whole(0);
            let below = self.test(&vector::CMP_F32, 0x11, found, zero);
            found = self.put_number(found, below, 0, false);
        }
        if kind.clamp {
            found = self.finished(false, true, found);
        }
        if kind.brain {
            let v = self.brain(false, found);
            self.by(&vector::SHR_U32, v, 16)
        } else {
            self.narrow_half(found)
        }
    }

    /// `a * b + c` in f32, rounded to odd.
    fn odd_fma(&mut self, a: VReg, b: VReg, c: VReg) -> VReg {
        let low = self.odd_fma_half([a, b, c]);
        let upper = [a, b, c].map(|x| self.upper(x));
        let high = self.odd_fma_half(upper);
        let v = Vector {
            imm: 1,
            ..Vector::two(low, Arg::Reg(high))
        };
        self.vector(&vector::INSERT_256, v)
    }

    /// The same of the lower half of registers: as `odd_fma` and `odd32` of the interpreter, step by step.
    fn odd_fma_half(&mut self, args: [VReg; 3]) -> VReg {
        let [a, b, c] = args.map(|x| self.one(&vector::F64_OF_F32, x));
        let p = self.plain(&vector::MUL_F64, a, b);
        let s = self.plain(&vector::ADD_F64, p, c);
        let t = self.plain(&vector::SUB_F64, s, p);
        let from_p = self.plain(&vector::SUB_F64, s, t);
        let from_p = self.plain(&vector::SUB_F64, p, from_p);
        let from_c = self.plain(&vector::SUB_F64, c, t);
        let error = self.plain(&vector::ADD_F64, from_p, from_c);
        let zero = self.whole_wide(0);
        let inexact = self.test(&vector::CMP_F64, 0x0C, error, zero);
        let size = self.with_wide(&vector::AND_I64, s, u64::MAX >> 1);
        let infinite = self.whole_wide(f64::INFINITY.to_bits());
        let finite = self.test(&vector::CMP_F64, 0x11, size, infinite);
        let one = self.whole_wide(1);
        let even = self.test(&vector::TESTN_I64, 0, s, one);
        let error_up = self.test(&vector::CMP_F64, 0x1E, error, zero);
        let sum_up = self.test(&vector::CMP_F64, 0x1E, s, zero);
        let mut both = |op, a, b| self.nodes.mask(Code::MaskAlu(op), &[a, b]);
        let off = both(MaskAlu::And, inexact, finite);
        let off = both(MaskAlu::And, off, even);
        let toward = both(MaskAlu::Xnor, error_up, sum_up);
        let more = both(MaskAlu::And, off, toward);
        let less = both(MaskAlu::AndNot, toward, off);
        let s = self.stepped(&vector::ADD_I64, s, more, one);
        let s = self.stepped(&vector::SUB_I64, s, less, one);
        self.odd_single(s)
    }

    /// Eight f64 as f32, rounded to odd.
    fn odd_single(&mut self, x: VReg) -> VReg {
        let near = self.one(&vector::F32_OF_F64, x);
        let back = self.one(&vector::F64_OF_F32, near);
        let off = self.test(&vector::CMP_F64, 0x0C, back, x);
        let [size, own] = [back, x].map(|x| self.with_wide(&vector::AND_I64, x, u64::MAX >> 1));
        let up = self.test(&vector::CMP_F64, 0x1E, size, own);
        let one = self.whole(1);
        let even = self.test(&vector::TESTN_I32, 0, near, one);
        let mut both = |op, a, b| self.nodes.mask(Code::MaskAlu(op), &[a, b]);
        let off = both(MaskAlu::And, off, even);
        let less = both(MaskAlu::And, off, up);
        let more = both(MaskAlu::AndNot, up, off);
        let near = self.stepped(&vector::SUB_I32, near, less, one);
        self.stepped(&vector::ADD_I32, near, more, one)
    }

    /// `start`, and in the lanes of a mask a step further.
    fn stepped(&mut self, op: &'static Vop, start: VReg, mask: VReg, by: VReg) -> VReg {
        let v = Vector {
            tied: Some(start),
            mask: Some(mask),
            ..Vector::two(start, Arg::Reg(by))
        };
        self.vector(op, v)
    }
}
