//! Code for conversions between numbers of all widths.

use super::{
    kinds::{reads, writes},
    more::source,
    nodes::Code,
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::VReg;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};
use warpsmith_x86::vector;

/// A float that is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    Half,
    Brain,
    Single { flush: bool },
    Double,
}

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Of integers: cut to the narrower of both types, then extended as that type says.
    Whole {
        wide: bool,
        bits: u32,
        signed: bool,
        to_wide: bool,
    },
    /// To f32, or f64 where `double`.
    Float {
        bits: u32,
        signed: bool,
        double: bool,
    },
    /// To an integer; `round` as the machine numbers the directions.
    Integer {
        from: Float,
        bits: u32,
        signed: bool,
        round: u8,
    },
    /// To an integer that stays a float.
    Round { from: Float, round: u8 },
    /// f32 to f32: flushed, or clamped to 0 and 1.
    Same { flush: bool, clamp: bool },
    /// f32 to f64.
    Widen { flush: bool },
    /// f64 to f32.
    Narrow { flush: bool, clamp: bool },
    /// f32 to bf16; negative numbers become 0 where `relu`.
    Brain { relu: bool },
    /// Two f32 to two bf16.
    Brains { relu: bool },
}

/// Toward zero, as the machine numbers it.
const ZERO: u8 = 3;

/// What a conversion does, if it is compiled.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Number> {
    let q = &inst.quals;
    let has = |word| q.has(word);
    let types: Vec<Type> = q.types().collect();
    let (Op::Cvt, [to, from]) = (inst.op, &types[..]) else {
        return None;
    };
    let (to, from) = (*to, *from);
    let odd = [Qual::Rz, Qual::Rm, Qual::Rp, Qual::Satfinite, Qual::Pack];
    if odd.iter().any(|word| has(*word)) {
        return None;
    }
    let (flush, clamp, relu) = (has(Qual::Ftz), has(Qual::Sat), has(Qual::Relu));
    let (dst, src) = (inst.operands.first(), inst.operands.get(1));
    if (to, from) == (Type::BF16x2, Type::F32) {
        let right = inst.operands.len() == 3
            && !flush
            && !clamp
            && writes(l, dst, 32)
            && reads(l, src, 32)
            && reads(l, inst.operands.get(2), 32);
        return right.then_some(Number::Brains { relu });
    }
    let Some(Operand::Reg(reg)) = dst else {
        return None;
    };
    let own = l.type_of(*reg).bits();
    let right = inst.operands.len() == 2
        && writes(l, dst, own)
        && reads(l, src, from.bits())
        && !matches!(src, Some(Operand::Imm(_)));
    if !right || own < to.bits() {
        return None;
    }
    let round = if has(Qual::Rni) {
        Some(0)
    } else if has(Qual::Rmi) {
        Some(1)
    } else if has(Qual::Rpi) {
        Some(2)
    } else if has(Qual::Rzi) {
        Some(ZERO)
    } else {
        None
    };
    if to.is_int() && from.is_int() {
        let decides = if to.bits() <= from.bits() { to } else { from };
        return (!clamp).then_some(Number::Whole {
            wide: from.bits() > 32,
            bits: decides.bits(),
            signed: decides.is_signed(),
            to_wide: own > 32,
        });
    }
    // A wider register would be extended once more.
    if (own > 32) != (to.bits() > 32) {
        return None;
    }
    let float = match from {
        Type::F16 => Some(Float::Half),
        Type::BF16 => Some(Float::Brain),
        Type::F32 => Some(Float::Single { flush }),
        Type::F64 => Some(Float::Double),
        _ => None,
    };
    match (to, from) {
        (Type::F32 | Type::F64, _) if from.is_int() && !clamp => Some(Number::Float {
            bits: from.bits(),
            signed: from.is_signed(),
            double: to == Type::F64,
        }),
        _ if to.is_int() => Some(Number::Integer {
            from: float?,
            bits: to.bits(),
            signed: to.is_signed(),
            round: round?,
        }),
        (Type::F32, Type::F32) | (Type::F64, Type::F64) => match round {
            Some(round) if !clamp => Some(Number::Round {
                from: float?,
                round,
            }),
            None if to == Type::F32 => Some(Number::Same { flush, clamp }),
            Some(_) | None => None,
        },
        (Type::F64, Type::F32) if !clamp => Some(Number::Widen { flush }),
        (Type::F32, Type::F64) => Some(Number::Narrow { flush, clamp }),
        (Type::BF16, Type::F32) if !clamp && !flush => Some(Number::Brain { relu }),
        _ => None,
    }
}

impl Coder<'_, '_> {
    pub(super) fn number(&mut self, number: Number, inst: &Inst) -> Result<ValueId, Skip> {
        let read = |coder: &mut Self, bits: u32| coder.read(source(inst, 1)?, bits);
        match number {
            Number::Whole {
                wide,
                bits,
                signed,
                to_wide,
            } => {
                let a = read(self, if wide { 64 } else { 32 })?;
                if wide && to_wide && bits > 32 {
                    return Ok(a);
                }
                let low = if wide { self.narrowed(a)? } else { a };
                let low = if bits < 32 {
                    self.extended(bits, signed, low)?
                } else {
                    low
                };
                if to_wide {
                    self.widen(signed, low)
                } else {
                    Ok(low)
                }
            }
            Number::Float {
                bits,
                signed,
                double,
            } => {
                let a = read(self, bits)?;
                self.float_of(bits, signed, double, a)
            }
            Number::Integer {
                from,
                bits,
                signed,
                round,
            } => {
                let a = read(self, if from == Float::Double { 64 } else { 32 })?;
                self.integer_of(from, bits, signed, round, a)
            }
            Number::Round {
                from: Float::Double,
                round,
            } => {
                let a = read(self, 64)?;
                self.map_quads([a], |coder, [a]| {
                    let v = coder.by(&vector::ROUND_F64, a, 8 | round);
                    coder.canonical_wide(v)
                })
            }
            Number::Round { from, round } => {
                let a = read(self, 32)?;
                let flush = from == Float::Single { flush: true };
                self.map([a], false, true, |coder, [a]| {
                    let a = if flush { coder.flush(a) } else { a };
                    coder.by(&vector::ROUND_F32, a, 8 | round)
                })
            }
            Number::Same { flush, clamp } => {
                let a = read(self, 32)?;
                // NaNs stay as they are.
                self.map([a], true, false, |coder, [a]| {
                    coder.finished(flush, clamp, a)
                })
            }
            Number::Widen { flush } => {
                let a = read(self, 32)?;
                self.map_up(a, false, |coder, a| {
                    let a = if flush { coder.flush(a) } else { a };
                    let v = coder.one(&vector::F64_OF_F32, a);
                    coder.canonical_wide(v)
                })
            }
            Number::Narrow { flush, clamp } => {
                let a = read(self, 64)?;
                let a = self.map_down([a], true, |coder, [a]| coder.one(&vector::F32_OF_F64, a))?;
                if !flush && !clamp {
                    return Ok(a);
                }
                self.map([a], false, !clamp, |coder, [a]| {
                    coder.finished(flush, clamp, a)
                })
            }
            Number::Brain { relu } => {
                let a = read(self, 32)?;
                self.map([a], true, false, |coder, [a]| {
                    let v = coder.brain(relu, a);
                    coder.by(&vector::SHR_U32, v, 16)
                })
            }
            Number::Brains { relu } => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, [high, low]| {
                    let [high, low] = [high, low].map(|x| coder.brain(relu, x));
                    let low = coder.by(&vector::SHR_U32, low, 16);
                    let mask = coder.whole(0xFFFF_0000);
                    coder.merge(mask, high, low)
                })
            }
        }
    }

    /// The low words of 64 bits.
    fn narrowed(&mut self, a: ValueId) -> Result<ValueId, Skip> {
        if let Some(value) = self.constant_of(a) {
            return Ok(self.constant(value & 0xFFFF_FFFF, false));
        }
        if let Some((base, step)) = self.linear(a)? {
            let base = self.nodes.scalar(Code::Mov(false), &[base]);
            return Ok(self.of_linear(base, step, false));
        }
        let halves = self.quads(a)?.map(|quad| self.narrow_quad(quad));
        let lanes = self.joined(&halves)?;
        Ok(self.of_lanes(lanes, false))
    }

    /// The low 8 or 16 bits with zeros or their sign above.
    pub(super) fn extended(
        &mut self,
        bits: u32,
        signed: bool,
        a: ValueId,
    ) -> Result<ValueId, Skip> {
        if let Some(value) = self.constant_of(a) {
            let up = (value as u32) << (32 - bits);
            let value = if signed {
                (up as i32 >> (32 - bits)) as u32
            } else {
                up >> (32 - bits)
            };
            return Ok(self.constant(u64::from(value), false));
        }
        if self.is_uniform(a) {
            let reg = self.scalar(a)?;
            let reg = self.nodes.scalar(Code::Extend(bits, signed), &[reg]);
            return Ok(self.of_scalar(reg, false));
        }
        let by = 32 - bits as u8;
        self.map([a], true, false, |coder, [a]| {
            if !signed {
                return coder.with_constant(&vector::AND, a, (1 << bits) - 1);
            }
            let up = coder.by(&vector::SHL_I32, a, by);
            coder.by(&vector::SHR_I32, up, by)
        })
    }

    fn float_of(
        &mut self,
        bits: u32,
        signed: bool,
        double: bool,
        a: ValueId,
    ) -> Result<ValueId, Skip> {
        if bits > 32 {
            let op = match (double, signed) {
                (true, true) => &vector::F64_OF_I64,
                (true, false) => &vector::F64_OF_U64,
                (false, true) => &vector::F32_OF_I64,
                (false, false) => &vector::F32_OF_U64,
            };
            return if double {
                self.map_quads([a], |coder, [a]| coder.one(op, a))
            } else {
                self.map_down([a], false, |coder, [a]| coder.one(op, a))
            };
        }
        let a = if bits < 32 {
            self.extended(bits, signed, a)?
        } else {
            a
        };
        if double {
            let op = if signed {
                &vector::F64_OF_I32
            } else {
                &vector::F64_OF_U32
            };
            return self.map_up(a, true, |coder, a| coder.one(op, a));
        }
        let op = if signed {
            &vector::F32_OF_I32
        } else {
            &vector::F32_OF_U32
        };
        self.map([a], true, false, |coder, [a]| coder.one(op, a))
    }

    fn integer_of(
        &mut self,
        from: Float,
        bits: u32,
        signed: bool,
        round: u8,
        a: ValueId,
    ) -> Result<ValueId, Skip> {
        if from == Float::Double {
            let rounded = move |coder: &mut Self, a: VReg| {
                if round == ZERO {
                    a
                } else {
                    coder.by(&vector::ROUND_F64, a, 8 | round)
                }
            };
            if bits > 32 {
                return self.map_quads([a], |coder, [a]| {
                    let a = rounded(coder, a);
                    coder.wide_of_double(signed, a)
                });
            }
            let word = self.map_down([a], false, |coder, [a]| {
                let a = rounded(coder, a);
                coder.word_of_double(bits, signed, a)
            })?;
            return self.clamped(bits, signed, word);
        }
        // What is flushed is below 1: toward zero it is 0 anyway.
        let flush = from == Float::Single { flush: true };
        let single = self.map([a], true, true, |coder, [a]| {
            let a = match from {
                Float::Half => coder.single_of_half(a),
                Float::Brain => coder.by(&vector::SHL_I32, a, 16),
                Float::Single { .. } | Float::Double => a,
            };
            if round == ZERO {
                return a;
            }
            let a = if flush { coder.flush(a) } else { a };
            coder.by(&vector::ROUND_F32, a, 8 | round)
        })?;
        if bits > 32 {
            return self.map_up(single, false, |coder, a| {
                let a = coder.one(&vector::F64_OF_F32, a);
                coder.wide_of_double(signed, a)
            });
        }
        let word = self.map([single], false, false, |coder, [a]| {
            coder.int_of_float(signed, true, a)
        })?;
        self.clamped(bits, signed, word)
    }

    /// f16 in the low halves of cells as f32.
    pub(super) fn single_of_half(&mut self, a: VReg) -> VReg {
        let (op, len) = (&vector::NARROW_I32_I16, warpsmith_x86::Len::L512);
        let half = self
            .nodes
            .reversed(op, regalloc2::RegClass::Float, len, 0, a);
        self.one(&vector::F32_OF_F16, half)
    }

    /// The nearest number of 8 or 16 bits.
    fn clamped(&mut self, bits: u32, signed: bool, a: ValueId) -> Result<ValueId, Skip> {
        if bits >= 32 {
            return Ok(a);
        }
        self.map([a], true, false, |coder, [a]| {
            if !signed {
                return coder.with_constant(&vector::MIN_U32, a, (1 << bits) - 1);
            }
            let most = (1u32 << (bits - 1)) - 1;
            let a = coder.with_constant(&vector::MIN_I32, a, u64::from(most));
            coder.with_constant(&vector::MAX_I32, a, u64::from(!most))
        })
    }

    /// Out of range is the nearest end, NaN has the highest of the bits alone.
    fn word_of_double(&mut self, bits: u32, signed: bool, a: VReg) -> VReg {
        if signed {
            // That is the machine's answer for all that is no number or too small; of NaNs it takes the second.
            let most = self.whole_wide(f64::from(i32::MAX).to_bits());
            let a = self.plain(&vector::MIN_F64, most, a);
            return self.one(&vector::I32_OF_F64_ZERO, a);
        }
        // Below 0 and NaN become 0; the machine's answer for what is too large is all ones.
        let zero = self.whole_wide(0);
        let positive = self.plain(&vector::MAX_F64, a, zero);
        let found = self.one(&vector::U32_OF_F64_ZERO, positive);
        let nan = self.test(&vector::CMP_F64, 3, a, a);
        self.put_number(found, nan, 1 << (bits - 1), false)
    }

    /// Out of range is the nearest end, NaN is the smallest signed number.
    fn wide_of_double(&mut self, signed: bool, a: VReg) -> VReg {
        if signed {
            // That is the machine's answer for all that is no number or too small.
            let found = self.one(&vector::I64_OF_F64_ZERO, a);
            let limit = self.whole_wide(9_223_372_036_854_775_808f64.to_bits());
            let far = self.test(&vector::CMP_F64, 0x1D, a, limit);
            return self.put_number(found, far, i64::MAX as u64, true);
        }
        let zero = self.whole_wide(0);
        let positive = self.plain(&vector::MAX_F64, a, zero);
        let found = self.one(&vector::U64_OF_F64_ZERO, positive);
        let nan = self.test(&vector::CMP_F64, 3, a, a);
        self.put_number(found, nan, 1 << 63, true)
    }

    /// bf16 in the upper halves of cells, rounded to nearest even; the lower ones are not cleared.
    pub(super) fn brain(&mut self, relu: bool, a: VReg) -> VReg {
        let a = if relu {
            let zero = self.whole(0);
            let below = self.test(&vector::CMP_F32, 0x11, a, zero);
            self.put_number(a, below, 0, false)
        } else {
            a
        };
        let odd = self.by(&vector::SHR_U32, a, 16);
        let odd = self.with_constant(&vector::AND, odd, 1);
        let more = self.with_constant(&vector::ADD_I32, odd, 0x7FFF);
        let rounded = self.plain(&vector::ADD_I32, a, more);
        let nan = self.test(&vector::CMP_F32, 3, a, a);
        self.put_number(rounded, nan, 0x7FFF_0000, false)
    }
}
