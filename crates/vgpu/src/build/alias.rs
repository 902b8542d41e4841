//! Registers that only rename a special register or a parameter: they share its slot, and their moves are left out.

use super::{Dst, Lowerer};
use crate::{
    analysis::{
        Block, roles,
        uniform::{Uniformity, insts},
    },
    op::{Value, is_clock},
};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId, Stmt, VarId},
    op::Op,
    qual::Qual,
};

impl Lowerer<'_> {
    /// Finds registers that only rename a preset.
    pub(crate) fn find_aliases(&mut self, body: &[Stmt], blocks: &[Block], uniform: &Uniformity) {
        for block in blocks {
            for (_, inst) in insts(block, body) {
                roles::each_def(inst, &mut |reg| self.counts[reg.index()][0] += 1);
                roles::each_use(inst, &mut |reg| self.counts[reg.index()][1] += 1);
            }
            block
                .term
                .each_def(&mut |reg| self.counts[reg.index()][0] += 1);
            block
                .term
                .each_use(&mut |reg| self.counts[reg.index()][1] += 1);
        }
        for block in blocks {
            for (_, inst) in insts(block, body) {
                if let Some((reg, value)) = self.preset_move(inst)
                    && self.counts[reg.index()][0] == 1
                    && uniform.regs[reg.index()] == !matches!(value, Value::Lanes(_))
                {
                    let src = self.preset(value);
                    let alias = Dst {
                        slot: src.slot,
                        uniform: src.uniform,
                    };
                    self.aliases[reg.index()] = Some(alias);
                }
            }
        }
    }

    fn preset_move(&self, inst: &Inst) -> Option<(RegId, Value)> {
        let [Operand::Reg(reg), from] = &inst.operands[..] else {
            return None;
        };
        if inst.guard.is_some() {
            return None;
        }
        let ty = inst.quals.types().next()?;
        match (inst.op, from) {
            (Op::Mov, Operand::Special(special)) => {
                let fits = self.type_of(*reg).bits() == special.ty().bits();
                let uniform = roles::is_uniform_special(*special, self.input.block);
                let value = if uniform {
                    Value::Scalar(*special)
                } else {
                    Value::Lanes(*special)
                };
                (fits && !is_clock(*special)).then_some((*reg, value))
            }
            (Op::Ld, Operand::Addr(address)) if inst.quals.has(Qual::Param) => {
                let warpsmith_ptx::ir::Base::Var(var @ VarId::Param(_)) = address.base else {
                    return None;
                };
                let at = self
                    .input
                    .layout
                    .address(var)?
                    .checked_add_signed(address.offset)?;
                let end = at.checked_add(u64::from(ty.bytes()))?;
                let inside = end <= u64::from(self.input.layout.param_bytes);
                let aligned = at.is_multiple_of(u64::from(ty.bytes()));
                let fits = self.type_of(*reg).bits() <= 64 && ty.bytes() <= 8;
                let value = Value::Param {
                    offset: at as u32,
                    bytes: ty.bytes() as u8,
                    signed: ty.is_signed(),
                };
                (inside && aligned && fits).then_some((*reg, value))
            }
            _ => None,
        }
    }

    pub(crate) fn is_alias(&self, reg: usize) -> bool {
        self.aliases[reg].is_some()
    }

    /// Whether the instruction's only effect is an alias.
    pub(crate) fn is_aliased(&self, inst: &Inst) -> bool {
        matches!(inst.op, Op::Mov | Op::Ld)
            && matches!(inst.operands.first(), Some(Operand::Reg(reg)) if self.is_alias(reg.index()))
    }
}
