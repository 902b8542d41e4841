//! Code for f64: each result has the one NaN, as the interpreter's has.

use super::{
    more::{fits, source},
    nodes::{Arg, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::VReg;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};
use warpsmith_x86::vector;

/// The one NaN of f64.
pub(super) const NAN: u64 = 0x7FF8_0000_0000_0000;
const SIGN: u64 = 1 << 63;

/// What is done with f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Double {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    Fma,
    Sqrt,
    Rcp,
    Rsqrt,
    Neg,
    Abs,
    /// The size of the second, the sign of the first.
    Copysign,
}

/// What an instruction does, if it is of f64 and rounds to nearest.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Double> {
    let q = &inst.quals;
    let mut types = q.types();
    let plain = types.next() == Some(Type::F64) && types.next().is_none();
    let odd = [
        Qual::Sat,
        Qual::Rz,
        Qual::Rm,
        Qual::Rp,
        Qual::NaN,
        Qual::Xorsign,
        Qual::Relu,
    ];
    if !plain || odd.iter().any(|word| q.has(*word)) {
        return None;
    }
    let op = match inst.op {
        Op::Add => Double::Add,
        Op::Sub => Double::Sub,
        Op::Mul => Double::Mul,
        Op::Div => Double::Div,
        Op::Min => Double::Min,
        Op::Max => Double::Max,
        Op::Fma | Op::Mad => Double::Fma,
        Op::Sqrt => Double::Sqrt,
        Op::Rcp => Double::Rcp,
        Op::Rsqrt => Double::Rsqrt,
        Op::Neg => Double::Neg,
        Op::Abs => Double::Abs,
        Op::Copysign => Double::Copysign,
        _ => return None,
    };
    let sources: &[u32] = match op {
        Double::Fma => &[64, 64, 64],
        Double::Sqrt | Double::Rcp | Double::Rsqrt | Double::Neg | Double::Abs => &[64],
        Double::Add
        | Double::Sub
        | Double::Mul
        | Double::Div
        | Double::Min
        | Double::Max
        | Double::Copysign => &[64, 64],
    };
    fits(l, inst, 64, sources).then_some(op)
}

impl Coder<'_, '_> {
    pub(super) fn double(&mut self, op: Double, inst: &Inst) -> Result<ValueId, Skip> {
        let two = match op {
            Double::Add => &vector::ADD_F64,
            Double::Sub => &vector::SUB_F64,
            Double::Mul => &vector::MUL_F64,
            Double::Div => &vector::DIV_F64,
            Double::Min | Double::Max => {
                let args = self.args(inst, 64)?;
                let max = op == Double::Max;
                return self.map_quads(args, |coder, [a, b]| coder.extreme_wide(max, a, b));
            }
            Double::Fma => {
                let args = self.args(inst, 64)?;
                return self.map_quads(args, |coder, [a, b, c]| {
                    let v = Vector {
                        tied: Some(c),
                        ..Vector::two(a, Arg::Reg(b))
                    };
                    let v = coder.vector(&vector::FMA_F64, v);
                    coder.canonical_wide(v)
                });
            }
            Double::Copysign => {
                let args = self.args(inst, 64)?;
                return self.map_quads(args, |coder, [a, b]| {
                    let sign = coder.whole_wide(SIGN);
                    coder.merge(sign, a, b)
                });
            }
            Double::Sqrt | Double::Rcp | Double::Rsqrt | Double::Neg | Double::Abs => {
                let a = self.read(source(inst, 1)?, 64)?;
                return self.map_quads([a], |coder, [a]| coder.double1(op, a));
            }
        };
        let args = self.args(inst, 64)?;
        self.map_quads(args, |coder, [a, b]| {
            let v = coder.plain(two, a, b);
            coder.canonical_wide(v)
        })
    }

    fn double1(&mut self, op: Double, a: VReg) -> VReg {
        if op == Double::Neg {
            return self.with_wide(&vector::XOR_I64, a, SIGN);
        }
        if op == Double::Abs {
            return self.with_wide(&vector::AND_I64, a, !SIGN);
        }
        let a = if op == Double::Rcp {
            a
        } else {
            self.one(&vector::SQRT_F64, a)
        };
        let v = if op == Double::Sqrt {
            a
        } else {
            let one = self.whole_wide(1f64.to_bits());
            self.plain(&vector::DIV_F64, one, a)
        };
        self.canonical_wide(v)
    }

    /// NaNs become the one NaN.
    pub(super) fn canonical_wide(&mut self, v: VReg) -> VReg {
        let nan = self.test(&vector::CMP_F64, 3, v, v);
        self.put_number(v, nan, NAN, true)
    }

    /// The smaller or larger of two numbers: a NaN loses, -0 is below +0.
    fn extreme_wide(&mut self, max: bool, a: VReg, b: VReg) -> VReg {
        let (op, zeros) = if max {
            (&vector::MAX_F64, &vector::AND_I64)
        } else {
            (&vector::MIN_F64, &vector::OR_I64)
        };
        // It is b where one of them is NaN.
        let found = self.plain(op, a, b);
        let same = self.test(&vector::CMP_F64, 0, a, b);
        let v = Vector {
            tied: Some(found),
            mask: Some(same),
            ..Vector::two(a, Arg::Reg(b))
        };
        let found = self.vector(zeros, v);
        let missing = self.test(&vector::CMP_F64, 3, b, b);
        let v = Vector {
            tied: Some(found),
            mask: Some(missing),
            ..Vector::one(Arg::Reg(a))
        };
        let found = self.vector(&vector::LOAD_I64, v);
        self.canonical_wide(found)
    }
}
