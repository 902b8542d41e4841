//! Code for f32 with subnormals flushed, results clamped or rounded in a direction, and for logarithms, sines and tangents.

use super::{
    kinds::{Float1, Float2},
    more::{fits, source},
    nodes::{Arg, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::VReg;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};
use warpsmith_x86::{Len, vector};

/// An operation on f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Two(Float2),
    One(Float1),
    Fma,
    Log2,
    /// The sine so many right angles further on.
    Sine(u32),
    Tanh,
    /// A sum, difference, product or quotient that is not rounded to nearest.
    Directed(Float2, Len),
    DirectedFma(Len),
    /// A root, or a reciprocal.
    DirectedOne(Float1, Len),
}

/// An operation, and what is done around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flushed {
    op: Operation,
    flush: bool,
    clamp: bool,
}

/// What an instruction does, if it is of f32.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Flushed> {
    let q = &inst.quals;
    let mut types = q.types();
    let plain = types.next() == Some(Type::F32) && types.next().is_none();
    let odd = [Qual::NaN, Qual::Xorsign, Qual::Relu];
    if !plain || odd.iter().any(|word| q.has(*word)) {
        return None;
    }
    let op = match inst.op {
        Op::Add => Operation::Two(Float2::Add),
        Op::Sub => Operation::Two(Float2::Sub),
        Op::Mul => Operation::Two(Float2::Mul),
        Op::Div => Operation::Two(Float2::Div),
        Op::Min => Operation::Two(Float2::Min),
        Op::Max => Operation::Two(Float2::Max),
        Op::Fma | Op::Mad => Operation::Fma,
        Op::Sqrt => Operation::One(Float1::Sqrt),
        Op::Rcp => Operation::One(Float1::Rcp),
        Op::Rsqrt => Operation::One(Float1::Rsqrt),
        Op::Neg => Operation::One(Float1::Neg),
        Op::Abs => Operation::One(Float1::Abs),
        Op::Ex2 => Operation::One(Float1::Exp2),
        Op::Lg2 => Operation::Log2,
        Op::Sin => Operation::Sine(0),
        Op::Cos => Operation::Sine(1),
        Op::Tanh => Operation::Tanh,
        _ => return None,
    };
    let direction = if q.has(Qual::Rz) {
        Some(Len::Zero)
    } else if q.has(Qual::Rm) {
        Some(Len::Down)
    } else if q.has(Qual::Rp) {
        Some(Len::Up)
    } else {
        None
    };
    let op = match (op, direction) {
        (op, None) => op,
        (Operation::Fma, Some(len)) => Operation::DirectedFma(len),
        (
            Operation::Two(op @ (Float2::Add | Float2::Sub | Float2::Mul | Float2::Div)),
            Some(len),
        ) => Operation::Directed(op, len),
        (Operation::One(op @ (Float1::Sqrt | Float1::Rcp)), Some(len)) => {
            Operation::DirectedOne(op, len)
        }
        (_, Some(_)) => return None,
    };
    let sources: &[u32] = match op {
        Operation::Fma | Operation::DirectedFma(_) => &[32, 32, 32],
        Operation::Two(_) | Operation::Directed(..) => &[32, 32],
        Operation::One(_)
        | Operation::DirectedOne(..)
        | Operation::Log2
        | Operation::Sine(_)
        | Operation::Tanh => &[32],
    };
    fits(l, inst, 32, sources).then_some(Flushed {
        op,
        flush: q.has(Qual::Ftz),
        clamp: q.has(Qual::Sat),
    })
}

impl Coder<'_, '_> {
    pub(super) fn flushed(&mut self, kind: Flushed, inst: &Inst) -> Result<ValueId, Skip> {
        let Flushed { op, flush, clamp } = kind;
        let value = match op {
            Operation::Two(op) => {
                let (a, b) = (
                    self.flushed_at(inst, 1, flush)?,
                    self.flushed_at(inst, 2, flush)?,
                );
                self.float2(op, a, b)?
            }
            Operation::Fma => {
                let args = [
                    self.flushed_at(inst, 1, flush)?,
                    self.flushed_at(inst, 2, flush)?,
                    self.flushed_at(inst, 3, flush)?,
                ];
                self.map(args, false, true, |coder, [a, b, c]| coder.fma(a, b, c))?
            }
            Operation::One(op) => {
                let a = self.flushed_at(inst, 1, flush)?;
                let value = self.float1(op, a)?;
                if matches!(op, Float1::Neg | Float1::Abs) {
                    return Ok(value);
                }
                value
            }
            Operation::Directed(op, len) => {
                let args = [
                    self.flushed_at(inst, 1, flush)?,
                    self.flushed_at(inst, 2, flush)?,
                ];
                let op = match op {
                    Float2::Add => &vector::ADD_F32,
                    Float2::Sub => &vector::SUB_F32,
                    Float2::Mul => &vector::MUL_F32,
                    Float2::Div => &vector::DIV_F32,
                    Float2::Min | Float2::Max => return Err(Skip),
                };
                self.map(args, false, true, |coder, [a, b]| {
                    let v = Vector {
                        len,
                        ..Vector::two(a, Arg::Reg(b))
                    };
                    coder.vector(op, v)
                })?
            }
            Operation::DirectedFma(len) => {
                let args = [
                    self.flushed_at(inst, 1, flush)?,
                    self.flushed_at(inst, 2, flush)?,
                    self.flushed_at(inst, 3, flush)?,
                ];
                self.map(args, false, true, |coder, [a, b, c]| {
                    let v = Vector {
                        len,
                        tied: Some(c),
                        ..Vector::two(a, Arg::Reg(b))
                    };
                    coder.vector(&vector::FMA_F32, v)
                })?
            }
            Operation::DirectedOne(op, len) => {
                let a = self.flushed_at(inst, 1, flush)?;
                self.map([a], false, true, |coder, [a]| {
                    if op == Float1::Sqrt {
                        let v = Vector {
                            len,
                            ..Vector::one(Arg::Reg(a))
                        };
                        return coder.vector(&vector::SQRT_F32, v);
                    }
                    let one = coder.whole(u64::from(1f32.to_bits()));
                    let v = Vector {
                        len,
                        ..Vector::two(one, Arg::Reg(a))
                    };
                    coder.vector(&vector::DIV_F32, v)
                })?
            }
            Operation::Log2 => {
                let a = self.flushed_at(inst, 1, flush)?;
                self.map([a], false, true, |coder, [a]| coder.log2(a))?
            }
            Operation::Sine(quarter) => {
                let a = self.flushed_at(inst, 1, flush)?;
                self.map([a], false, true, |coder, [a]| coder.sine(quarter, a))?
            }
            Operation::Tanh => {
                let a = self.flushed_at(inst, 1, flush)?;
                self.map([a], false, true, |coder, [a]| coder.tanh(a))?
            }
        };
        if !flush && !clamp {
            return Ok(value);
        }
        self.map([value], false, !clamp, |coder, [a]| {
            coder.finished(flush, clamp, a)
        })
    }

    /// A source, flushed if asked for. Its NaNs keep their bits.
    fn flushed_at(&mut self, inst: &Inst, index: usize, flush: bool) -> Result<ValueId, Skip> {
        let a = self.read(source(inst, index)?, 32)?;
        if !flush {
            return Ok(a);
        }
        self.map([a], true, false, |coder, [a]| coder.flush(a))
    }

    /// Subnormals become zeros of their sign.
    pub(super) fn flush(&mut self, a: VReg) -> VReg {
        let exponent = self.whole(0x7F80_0000);
        let small = self.test(&vector::TESTN_I32, 0, a, exponent);
        let sign = self.whole(0x8000_0000);
        let v = Vector {
            tied: Some(a),
            mask: Some(small),
            ..Vector::two(a, Arg::Reg(sign))
        };
        self.vector(&vector::AND, v)
    }

    /// A result flushed, and clamped to 0 and 1, where NaN is 0.
    pub(super) fn finished(&mut self, flush: bool, clamp: bool, a: VReg) -> VReg {
        let a = if flush { self.flush(a) } else { a };
        if !clamp {
            return a;
        }
        // Of equal numbers and NaNs the machine gives the second.
        let zero = self.whole(0);
        let low = self.plain(&vector::MAX_F32, a, zero);
        self.with_constant(&vector::MIN_F32, low, u64::from(1f32.to_bits()))
    }

    /// As `log2` of the interpreter, step by step.
    fn log2(&mut self, x: VReg) -> VReg {
        const HALF_ROOT: u64 = 0x3F35_04F3;
        let bits = |x: f32| u64::from(x.to_bits());
        let one = self.whole(bits(1.0));
        let zero = self.whole(0);
        let least = self.whole(bits(f32::MIN_POSITIVE));
        let tiny = self.test(&vector::CMP_F32, 0x11, x, least);
        let factor = self.whole(bits(8_388_608.0));
        let v = Vector {
            tied: Some(x),
            mask: Some(tiny),
            ..Vector::two(x, Arg::Reg(factor))
        };
        let scaled = self.vector(&vector::MUL_F32, v);
        let shifted = self.with_constant(&vector::SUB_I32, scaled, HALF_ROOT);
        let e = self.by(&vector::SHR_I32, shifted, 23);
        let m = self.with_constant(&vector::AND, shifted, 0x7F_FFFF);
        let m = self.with_constant(&vector::ADD_I32, m, HALF_ROOT);
        let below = self.plain(&vector::SUB_F32, m, one);
        let above = self.plain(&vector::ADD_F32, m, one);
        let s = self.plain(&vector::DIV_F32, below, above);
        let z = self.plain(&vector::MUL_F32, s, s);
        let mut p = self.whole(bits(0.320_598_9));
        for c in [0.412_198_57, 0.577_078, 0.961_796_7, 2.885_39] {
            p = self.fma_constant(p, z, c);
        }
        let e = self.one(&vector::F32_OF_I32, e);
        let back = self.whole(bits(23.0));
        let v = Vector {
            tied: Some(e),
            mask: Some(tiny),
            ..Vector::two(e, Arg::Reg(back))
        };
        let e = self.vector(&vector::SUB_F32, v);
        let y = self.fma(s, p, e);
        let infinite = self.whole(bits(f32::INFINITY));
        let most = self.test(&vector::CMP_F32, 0, x, infinite);
        let y = self.put_number(y, most, bits(f32::INFINITY), false);
        let none = self.test(&vector::CMP_F32, 0, x, zero);
        let y = self.put_number(y, none, bits(f32::NEG_INFINITY), false);
        // Below 0, and no number.
        let nan = self.test(&vector::CMP_F32, 0x19, x, zero);
        self.put_number(y, nan, super::encode::NAN, false)
    }

    /// As `sine` of the interpreter, step by step.
    fn sine(&mut self, quarter: u32, x: VReg) -> VReg {
        let low = self.sine_half(quarter, x);
        let upper = self.upper(x);
        let high = self.sine_half(quarter, upper);
        let v = Vector {
            imm: 1,
            ..Vector::two(low, Arg::Reg(high))
        };
        let mut out = self.vector(&vector::INSERT_256, v);
        let bits = |x: f32| u64::from(x.to_bits());
        if quarter == 0 {
            // Zero keeps its sign.
            let zero = self.whole(0);
            let none = self.test(&vector::CMP_F32, 0, x, zero);
            let v = Vector {
                tied: Some(out),
                mask: Some(none),
                ..Vector::one(Arg::Reg(x))
            };
            out = self.vector(&vector::LOAD_I32, v);
        }
        let size = self.with_constant(&vector::AND, x, 0x7FFF_FFFF);
        let infinite = self.whole(bits(f32::INFINITY));
        let nan = self.test(&vector::CMP_F32, 0x15, size, infinite);
        self.put_number(out, nan, super::encode::NAN, false)
    }

    /// Of the eight numbers in the lower half of a register.
    fn sine_half(&mut self, quarter: u32, x: VReg) -> VReg {
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        let y = self.one(&vector::F64_OF_F32, x);
        let size = self.with_wide(&vector::AND_I64, y, u64::MAX >> 1);
        let limit = self.whole_wide(1e15f64.to_bits());
        let inside = self.test(&vector::CMP_F64, 0x11, size, limit);
        let v = Vector {
            mask: Some(inside),
            zero: true,
            ..Vector::one(Arg::Reg(y))
        };
        let safe = self.vector(&vector::LOAD_I64, v);
        let turns = self.whole_wide(std::f64::consts::FRAC_2_PI.to_bits());
        let shifted = self.fma_wide_constant(turns, safe, MAGIC);
        let k = self.with_wide(&vector::SUB_F64, shifted, MAGIC.to_bits());
        let right = self.whole_wide((-std::f64::consts::FRAC_PI_2).to_bits());
        let r = self.fma_wide(k, right, safe);
        let rest = self.whole_wide((-6.123_233_995_736_766e-17f64).to_bits());
        let r = self.fma_wide(k, rest, r);
        let z = self.plain(&vector::MUL_F64, r, r);
        let mut s = self.whole_wide(2.755_731_922_398_589e-6f64.to_bits());
        for c in [
            -1.984_126_984_126_984e-4,
            8.333_333_333_333_333e-3,
            -0.166_666_666_666_666_66,
        ] {
            s = self.fma_wide_constant(s, z, c);
        }
        let s = self.plain(&vector::MUL_F64, s, z);
        let s = self.fma_wide(s, r, r);
        let mut c = self.whole_wide((-2.755_731_922_398_589e-7f64).to_bits());
        for more in [
            2.480_158_730_158_73e-5,
            -1.388_888_888_888_889e-3,
            4.166_666_666_666_666_4e-2,
            -0.5,
            1.0,
        ] {
            c = self.fma_wide_constant(c, z, more);
        }
        let quadrant = self.with_wide(&vector::ADD_I64, shifted, u64::from(quarter));
        let one = self.whole_wide(1);
        let odd = self.test(&vector::TEST_I64, 0, quadrant, one);
        let v = Vector {
            tied: Some(s),
            mask: Some(odd),
            ..Vector::one(Arg::Reg(c))
        };
        let value = self.vector(&vector::LOAD_I64, v);
        let sign = self.by(&vector::SHL_I64, quadrant, 62);
        let sign = self.with_wide(&vector::AND_I64, sign, 1 << 63);
        let value = self.plain(&vector::XOR_I64, value, sign);
        self.one(&vector::F32_OF_F64, value)
    }

    /// `a * b + c`.
    fn fma_wide(&mut self, a: VReg, b: VReg, c: VReg) -> VReg {
        let v = Vector {
            tied: Some(c),
            ..Vector::two(a, Arg::Reg(b))
        };
        self.vector(&vector::FMA_F64, v)
    }

    /// `p * f + c`.
    fn fma_wide_constant(&mut self, p: VReg, f: VReg, c: f64) -> VReg {
        let place = self
            .nodes
            .constant(super::encode::splat_bytes(c.to_bits(), true));
        let v = Vector {
            tied: Some(p),
            ..Vector::two(f, Arg::Mem(place))
        };
        self.vector(&vector::FMA213_F64, v)
    }

    /// As `tanh` of the interpreter, step by step.
    fn tanh(&mut self, x: VReg) -> VReg {
        let bits = |x: f32| u64::from(x.to_bits());
        let size = self.with_constant(&vector::AND, x, 0x7FFF_FFFF);
        let z = self.plain(&vector::MUL_F32, x, x);
        let mut p = self.whole(bits(-0.053_968_254));
        for c in [0.133_333_34, -0.333_333_34] {
            p = self.fma_constant(p, z, c);
        }
        let p = self.plain(&vector::MUL_F32, p, z);
        let small = self.fma(p, x, x);
        let e = self.with_constant(&vector::MUL_F32, size, bits(2.885_390_1));
        let e = self.exp2([e]);
        let e = self.with_constant(&vector::ADD_F32, e, bits(1.0));
        let two = self.whole(bits(2.0));
        let part = self.plain(&vector::DIV_F32, two, e);
        let one = self.whole(bits(1.0));
        let large = self.plain(&vector::SUB_F32, one, part);
        let sign = self.whole(1 << 31);
        let large = self.merge(sign, x, large);
        let quarter = self.whole(bits(0.25));
        let near = self.test(&vector::CMP_F32, 0x11, size, quarter);
        let v = Vector {
            tied: Some(large),
            mask: Some(near),
            ..Vector::one(Arg::Reg(small))
        };
        self.vector(&vector::LOAD_I32, v)
    }
}
