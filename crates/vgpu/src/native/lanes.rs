//! Code for what lanes decide and exchange: comparisons, selection, logic of predicates, shuffles, votes.

use super::{
    kinds::{Relation, Vote},
    nodes::{Arg, Code, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::exec::{Mode, source};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId},
    op::Op,
};
use warpsmith_x86::{Cond, MaskAlu, vector};

impl Coder<'_, '_> {
    pub(super) fn compare(&mut self, relation: Relation, inst: &Inst) -> Result<ValueId, Skip> {
        let wide = matches!(relation, Relation::Int { wide: true, .. });
        let [a, b] = self.args(inst, if wide { 64 } else { 32 })?;
        self.compare_values(relation, a, b)
    }

    pub(super) fn compare_values(
        &mut self,
        relation: Relation,
        a: ValueId,
        b: ValueId,
    ) -> Result<ValueId, Skip> {
        match relation {
            Relation::Int {
                imm,
                cond,
                wide,
                signed,
            } => {
                if self.is_uniform(a) && self.is_uniform(b) {
                    let x = self.scalar(a)?;
                    match self.small(b, wide) {
                        Some(value) => self.nodes.effect(Code::CompareImm(wide, value), &[x]),
                        None => {
                            let y = self.scalar(b)?;
                            self.nodes.effect(Code::Compare(wide), &[x, y]);
                        }
                    }
                    let reg = self.nodes.scalar(Code::SetAll(cond), &[]);
                    return Ok(self.of_scalar(reg, false));
                }
                let op = match (wide, signed) {
                    (false, false) => &vector::CMP_U32,
                    (false, true) => &vector::CMP_I32,
                    (true, false) => &vector::CMP_U64,
                    (true, true) => &vector::CMP_I64,
                };
                let test = |coder: &mut Self, a: VReg, b: VReg| {
                    let v = Vector {
                        imm,
                        ..Vector::two(a, Arg::Reg(b))
                    };
                    coder.nodes.vector(op, RegClass::Vector, v)
                };
                let mask = if wide {
                    let (a, b) = (self.quads(a)?, self.quads(b)?);
                    let parts = [0, 1, 2, 3].map(|j| test(self, a[j], b[j]));
                    let low = self.nodes.mask(Code::MaskJoin8, &[parts[1], parts[0]]);
                    let high = self.nodes.mask(Code::MaskJoin8, &[parts[3], parts[2]]);
                    self.nodes.mask(Code::MaskJoin, &[high, low])
                } else {
                    let (a, b) = (self.lanes_exact(a)?, self.lanes_exact(b)?);
                    let parts = [0, 1].map(|j| test(self, a[j], b[j]));
                    self.nodes.mask(Code::MaskJoin, &[parts[1], parts[0]])
                };
                Ok(self.of_mask(mask))
            }
            Relation::Float(imm) => {
                let (a, b) = (self.lanes(a)?, self.lanes(b)?);
                let parts = [0, 1].map(|j| {
                    let v = Vector {
                        imm,
                        ..Vector::two(a[j], Arg::Reg(b[j]))
                    };
                    self.nodes.vector(&vector::CMP_F32, RegClass::Vector, v)
                });
                let mask = self.nodes.mask(Code::MaskJoin, &[parts[1], parts[0]]);
                Ok(self.of_mask(mask))
            }
        }
    }

    /// The predicate of an operand, and whether it is negated.
    pub(super) fn predicate(&mut self, operand: Option<&Operand>) -> Result<(ValueId, bool), Skip> {
        match operand {
            Some(Operand::Reg(reg)) => Ok((self.read_reg(*reg), false)),
            Some(Operand::NotReg(reg)) => Ok((self.read_reg(*reg), true)),
            _ => Err(Skip),
        }
    }

    pub(super) fn select(&mut self, wide: bool, inst: &Inst) -> Result<ValueId, Skip> {
        let [a, b] = self.args(inst, if wide { 64 } else { 32 })?;
        let (pred, negated) = self.predicate(inst.operands.get(3))?;
        let Some(Operand::Reg(to)) = inst.operands.first() else {
            return Err(Skip);
        };
        self.chosen(*to, (pred, negated), [a, b], wide)
    }

    /// One of two values, by a predicate that may be negated, for a register.
    pub(super) fn chosen(
        &mut self,
        to: RegId,
        (pred, negated): (ValueId, bool),
        [a, b]: [ValueId; 2],
        wide: bool,
    ) -> Result<ValueId, Skip> {
        let both = self.is_uniform(a) && self.is_uniform(b);
        if both && (self.l.dst_of(to).uniform || self.has_scalar(pred)) {
            let test = match self.active {
                None => self.scalar(pred)?,
                Some(active) => {
                    let pred = self.mask(pred, false)?;
                    let and = Code::MaskAlu(MaskAlu::And);
                    let here = self.nodes.mask(and, &[pred, active]);
                    self.nodes.scalar(Code::MaskTo, &[here])
                }
            };
            let (x, y) = (self.scalar(a)?, self.scalar(b)?);
            let (yes, no) = if negated { (y, x) } else { (x, y) };
            self.nodes.effect(Code::CompareImm(false, 0), &[test]);
            let code = Code::Cmov(Cond::NotEqual, wide);
            let reg = self.nodes.change(code, no, &[yes]);
            return Ok(self.of_scalar(reg, wide));
        }
        let mask = self.mask(pred, negated)?;
        self.choose(mask, a, b)
    }

    pub(super) fn logic(&mut self, op: Op, inst: &Inst) -> Result<ValueId, Skip> {
        let (a, not_a) = self.predicate(inst.operands.get(1))?;
        let (b, not_b) = self.predicate(inst.operands.get(2))?;
        let (a, b) = (self.mask(a, not_a)?, self.mask(b, not_b)?);
        let op = match op {
            Op::And => MaskAlu::And,
            Op::Or => MaskAlu::Or,
            _ => MaskAlu::Xor,
        };
        let mask = self.nodes.mask(Code::MaskAlu(op), &[a, b]);
        Ok(self.of_mask(mask))
    }

    /// An exchange of all lanes.
    pub(super) fn shuffle(
        &mut self,
        mode: Mode,
        by: Option<u32>,
        ends: u32,
        inst: &Inst,
    ) -> Result<(), Skip> {
        let (to, pred) = match inst.operands.first().ok_or(Skip)? {
            Operand::Pair(pair) => (&pair.0, Some(&pair.1)),
            to => (to, None),
        };
        let [a] = self.args(inst, 32)?;
        let Some(by) = by else {
            let index = self.read(inst.operands.get(2).ok_or(Skip)?, 32)?;
            let lanes = self.lanes_exact(a)?;
            // The permutation looks at the low five bits of its index alone.
            let value = self.map([index], true, false, |coder, [index]| {
                coder.vector(
                    &vector::PERMUTE2_I32,
                    Vector {
                        tied: Some(index),
                        ..Vector::two(lanes[0], Arg::Reg(lanes[1]))
                    },
                )
            })?;
            return self.put(to, value);
        };
        let from: [u32; 32] = std::array::from_fn(|i| source(mode, i as u32, by, ends).0);
        let value = if self.is_uniform(a) {
            a
        } else if from.iter().all(|lane| *lane == from[0]) {
            let lanes = self.lanes_exact(a)?;
            let v = self.permuted(lanes, [from[0]; 16]);
            self.of_splat(v, false)
        } else {
            let lanes = self.lanes_exact(a)?;
            let half = |j: usize| std::array::from_fn(|i| from[16 * j + i]);
            let regs = [self.permuted(lanes, half(0)), self.permuted(lanes, half(1))];
            self.of_lanes(regs, false)
        };
        self.put(to, value)?;
        if let Some(pred @ Operand::Reg(_)) = pred {
            let fine = (0..32).filter(|i| source(mode, *i, by, ends).1);
            let fine = fine.fold(0u32, |all, i| all | 1 << i);
            let bits = self.nodes.scalar(Code::MovImm(u64::from(fine)), &[]);
            let mask = self.nodes.mask(Code::MaskFrom, &[bits]);
            let value = self.of_mask(mask);
            self.put(pred, value)?;
        }
        Ok(())
    }

    /// Sixteen of 32 lanes, by their numbers.
    pub(super) fn permuted(&mut self, lanes: [VReg; 2], from: [u32; 16]) -> VReg {
        let own = lanes[(from[0] >> 4) as usize];
        let one = from.iter().all(|lane| lane >> 4 == from[0] >> 4);
        let at = |i: usize| from[i] & 15;
        let quads = (0..16).all(|i| at(i) & 3 == i as u32 & 3 && at(i) >> 2 == at(i & 12) >> 2);
        let inside = (0..16).all(|i| at(i) >> 2 == i as u32 >> 2 && at(i) & 3 == at(i & 3) & 3);
        let imm = |step: usize, shift: u32| {
            (0..4).fold(0, |all, k| {
                all | ((at(step * k) >> shift & 3) as u8) << (2 * k)
            })
        };
        if one && (0..16).all(|i| at(i) == i as u32) {
            return own;
        }
        if one && inside {
            let v = Vector {
                imm: imm(1, 0),
                ..Vector::one(Arg::Reg(own))
            };
            return self.vector(&vector::SHUFFLE_I32, v);
        }
        if one && quads {
            let v = Vector {
                imm: imm(4, 2),
                ..Vector::two(own, Arg::Reg(own))
            };
            return self.vector(&vector::SHUFFLE_128, v);
        }
        let mut index = [0; 64];
        for (cell, lane) in index.chunks_mut(4).zip(from) {
            cell.copy_from_slice(&lane.to_le_bytes());
        }
        let place = self.nodes.constant(index);
        let index = self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)));
        if one {
            return self.plain(&vector::PERMUTE_I32, index, own);
        }
        self.vector(
            &vector::PERMUTE2_I32,
            Vector {
                tied: Some(index),
                ..Vector::two(lanes[0], Arg::Reg(lanes[1]))
            },
        )
    }

    /// A vote of all lanes.
    pub(super) fn vote(&mut self, vote: Vote, inst: &Inst) -> Result<ValueId, Skip> {
        let (pred, negated) = self.predicate(inst.operands.get(1))?;
        let mask = self.mask(pred, negated)?;
        let lanes = self.nodes.scalar(Code::MaskTo, &[mask]);
        let (value, cond) = match vote {
            Vote::Ballot => return Ok(self.of_scalar(lanes, false)),
            Vote::All => (-1, Cond::Equal),
            Vote::Any => (0, Cond::NotEqual),
        };
        self.nodes.effect(Code::CompareImm(false, value), &[lanes]);
        let reg = self.nodes.scalar(Code::SetAll(cond), &[]);
        Ok(self.of_scalar(reg, false))
    }
}
