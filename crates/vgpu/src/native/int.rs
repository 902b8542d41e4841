//! Code for integers.

use super::{
    encode::shift_of,
    kinds::Int2,
    nodes::{Arg, Code, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::{RegClass, VReg};
use warpsmith_x86::{Alu, Cond, Len, Shift, Vop, vector};

impl Coder<'_, '_> {
    /// Lane 0 and the step of a value that grows evenly, or is the same for all lanes.
    pub(super) fn linear(&mut self, id: ValueId) -> Result<Option<(VReg, i64)>, Skip> {
        if self.is_uniform(id) {
            return Ok(Some((self.scalar(id)?, 0)));
        }
        Ok(self.affine(id))
    }

    pub(super) fn of_linear(&mut self, base: VReg, step: i64, wide: bool) -> ValueId {
        let step = if wide { step } else { i64::from(step as i32) };
        if step == 0 {
            self.of_scalar(base, wide)
        } else {
            self.of_affine(base, step, wide)
        }
    }

    /// A constant as an immediate of a scalar instruction.
    pub(super) fn small(&self, id: ValueId, wide: bool) -> Option<i32> {
        let value = self.constant_of(id)?;
        if wide {
            i32::try_from(value as i64).ok()
        } else {
            Some(value as u32 as i32)
        }
    }

    pub(super) fn int2(
        &mut self,
        op: Int2,
        wide: bool,
        signed: bool,
        a: ValueId,
        b: ValueId,
    ) -> Result<ValueId, Skip> {
        if let Some(done) = self.scalar2(op, wide, signed, a, b)? {
            return Ok(done);
        }
        let by_width =
            |narrow: &'static Vop, wider: &'static Vop| if wide { wider } else { narrow };
        let vop = match (op, signed) {
            (Int2::Add, _) => by_width(&vector::ADD_I32, &vector::ADD_I64),
            (Int2::Sub, _) => by_width(&vector::SUB_I32, &vector::SUB_I64),
            (Int2::Mul, _) => by_width(&vector::MUL_I32, &vector::MUL_I64),
            (Int2::And, _) => &vector::AND,
            (Int2::Or, _) => &vector::OR,
            (Int2::Xor, _) => &vector::XOR,
            (Int2::Min, false) => by_width(&vector::MIN_U32, &vector::MIN_U64),
            (Int2::Max, false) => by_width(&vector::MAX_U32, &vector::MAX_U64),
            (Int2::Min, true) => by_width(&vector::MIN_I32, &vector::MIN_I64),
            (Int2::Max, true) => by_width(&vector::MAX_I32, &vector::MAX_I64),
        };
        if wide {
            return self.map_wide(vop, a, b);
        }
        // A constant is an operand in memory.
        let (a, b) = match self.constant_of(a) {
            Some(_) if op != Int2::Sub => (b, a),
            _ => (a, b),
        };
        if let Some(value) = self.constant_of(b) {
            return self.map([a], true, false, |coder, [a]| {
                coder.with_constant(vop, a, value)
            });
        }
        self.map([a, b], true, false, |coder, [a, b]| coder.plain(vop, a, b))
    }

    pub(super) fn map_wide(
        &mut self,
        op: &'static Vop,
        a: ValueId,
        b: ValueId,
    ) -> Result<ValueId, Skip> {
        let (a, b) = (self.quads(a)?, self.quads(b)?);
        let regs = [0, 1, 2, 3].map(|j| self.plain(op, a[j], b[j]));
        Ok(self.of_quads(regs))
    }

    /// The same in general registers, where that can be.
    pub(super) fn scalar2(
        &mut self,
        op: Int2,
        wide: bool,
        signed: bool,
        a: ValueId,
        b: ValueId,
    ) -> Result<Option<ValueId>, Skip> {
        let (a, b) = match (op, self.constant_of(a)) {
            (Int2::Sub, _) | (_, None) => (a, b),
            (_, Some(_)) => (b, a),
        };
        let both = self.is_uniform(a) && self.is_uniform(b);
        let alu = match op {
            Int2::Add => Alu::Add,
            Int2::Sub => Alu::Sub,
            Int2::And => Alu::And,
            Int2::Or => Alu::Or,
            Int2::Xor => Alu::Xor,
            Int2::Mul => {
                let (Some((base, step)), Some((factor, other))) =
                    (self.linear(a)?, self.linear(b)?)
                else {
                    return Ok(None);
                };
                let constant = self.small(b, wide);
                if other != 0 || step != 0 && constant.is_none() {
                    return Ok(None);
                }
                let product = match constant {
                    Some(value) => self.nodes.scalar(Code::ImulImm(wide, value), &[base]),
                    None => self.nodes.change(Code::Imul(wide), base, &[factor]),
                };
                let step = step.wrapping_mul(i64::from(constant.unwrap_or(0)));
                return Ok(Some(self.of_linear(product, step, wide)));
            }
            Int2::Min | Int2::Max => {
                if !both {
                    return Ok(None);
                }
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                let cond = match (op == Int2::Min, signed) {
                    (true, false) => Cond::Above,
                    (true, true) => Cond::Greater,
                    (false, false) => Cond::Below,
                    (false, true) => Cond::Less,
                };
                self.nodes.effect(Code::Compare(wide), &[a, b]);
                let reg = self.nodes.change(Code::Cmov(cond, wide), a, &[b]);
                return Ok(Some(self.of_scalar(reg, wide)));
            }
        };
        let linear = matches!(op, Int2::Add | Int2::Sub);
        if !both && !linear {
            return Ok(None);
        }
        let (Some((x, step)), Some((y, more))) = (self.linear(a)?, self.linear(b)?) else {
            return Ok(None);
        };
        let reg = match self.small(b, wide) {
            Some(value) => self.nodes.change(Code::AluImm(alu, wide, value), x, &[]),
            None => self.nodes.change(Code::Alu(alu, wide), x, &[y]),
        };
        let step = match op {
            Int2::Sub => step.wrapping_sub(more),
            _ => step.wrapping_add(more),
        };
        Ok(Some(self.of_linear(reg, step, wide)))
    }

    /// 32 bits extended to 64.
    pub(super) fn widen(&mut self, signed: bool, a: ValueId) -> Result<ValueId, Skip> {
        if let Some(value) = self.constant_of(a) {
            let value = if signed {
                value as u32 as i32 as i64 as u64
            } else {
                u64::from(value as u32)
            };
            return Ok(self.constant(value, true));
        }
        if let Some((base, step)) = self.linear(a)?
            && (step >= 0 || signed)
        {
            let base = if signed {
                self.nodes.scalar(Code::ExtendSign, &[base])
            } else {
                self.nodes.scalar(Code::Mov(false), &[base])
            };
            if step == 0 {
                return Ok(self.of_scalar(base, true));
            }
            // The lanes grow evenly as long as none wraps around.
            let last = self.add_imm(base, 31 * step);
            if signed {
                let own = self.nodes.scalar(Code::ExtendSign, &[last]);
                self.nodes.effect(Code::Compare(true), &[last, own]);
                self.exit_if(Cond::NotEqual);
            } else {
                let zero = Code::Shift(Shift::Right, true, 32);
                self.nodes.change(zero, last, &[]);
                self.exit_if(Cond::NotEqual);
            }
            return Ok(self.of_affine(base, step, true));
        }
        let lanes = self.lanes_exact(a)?;
        let op = if signed {
            &vector::SIGN_I32_I64
        } else {
            &vector::ZERO_I32_I64
        };
        let mut quads = Vec::with_capacity(4);
        for lane in lanes {
            quads.push(self.vector(op, Vector::one(Arg::Reg(lane))));
            let high =
                self.nodes
                    .reversed(&vector::EXTRACT_256, RegClass::Float, Len::L512, 1, lane);
            quads.push(self.vector(op, Vector::one(Arg::Reg(high))));
        }
        let quads = quads.try_into().map_err(|_| Skip)?;
        Ok(self.of_quads(quads))
    }

    pub(super) fn mul_wide(
        &mut self,
        signed: bool,
        a: ValueId,
        b: ValueId,
    ) -> Result<ValueId, Skip> {
        let (a, b) = (self.widen(signed, a)?, self.widen(signed, b)?);
        if let Some(done) = self.scalar2(Int2::Mul, true, signed, a, b)? {
            return Ok(done);
        }
        let op = if signed {
            &vector::MUL_I32_I64
        } else {
            &vector::MUL_U32_U64
        };
        self.map_wide(op, a, b)
    }

    pub(super) fn shift(
        &mut self,
        left: bool,
        wide: bool,
        signed: bool,
        a: ValueId,
        by: ValueId,
    ) -> Result<ValueId, Skip> {
        let bits: u64 = if wide { 64 } else { 32 };
        if let Some(count) = self.constant_of(by) {
            // What is shifted by more than all bits is 0, or the sign.
            let all_out = count >= bits && !signed;
            let count = count.min(bits - 1) as u8;
            if all_out {
                return Ok(self.constant(0, wide));
            }
            if self.is_uniform(a) || left && self.affine(a).is_some() {
                let Some((base, step)) = self.linear(a)? else {
                    return Err(Skip);
                };
                let code = Code::Shift(shift_of(left, signed), wide, count);
                let reg = self.nodes.change(code, base, &[]);
                return Ok(self.of_linear(reg, step.wrapping_shl(count.into()), wide));
            }
            let op = match (left, signed, wide) {
                (true, _, false) => &vector::SHL_I32,
                (true, _, true) => &vector::SHL_I64,
                (false, false, false) => &vector::SHR_U32,
                (false, false, true) => &vector::SHR_U64,
                (false, true, false) => &vector::SHR_I32,
                (false, true, true) => &vector::SHR_I64,
            };
            let one = |coder: &mut Self, a: VReg| {
                let v = Vector {
                    imm: count,
                    ..Vector::one(Arg::Reg(a))
                };
                coder.vector(op, v)
            };
            if wide {
                let regs = self.quads(a)?.map(|a| one(self, a));
                return Ok(self.of_quads(regs));
            }
            return self.map([a], true, false, |coder, [a]| one(coder, a));
        }
        let op = match (left, signed, wide) {
            (true, _, false) => &vector::SHLV_I32,
            (true, _, true) => &vector::SHLV_I64,
            (false, false, false) => &vector::SHRV_U32,
            (false, false, true) => &vector::SHRV_U64,
            (false, true, false) => &vector::SHRV_I32,
            (false, true, true) => &vector::SHRV_I64,
        };
        if wide {
            let by = self.widen(false, by)?;
            return self.map_quads([a, by], |coder, [a, by]| coder.plain(op, a, by));
        }
        self.map([a, by], true, false, |coder, [a, by]| {
            coder.plain(op, a, by)
        })
    }
}
