//! Predicates that may be read before they are written: where such a one decides something, the checker says so.
//!
//! Each has a mask of the lanes that have not written it. Logic hands that on as far as the other side leaves it open.

use super::{Lowerer, instrument::bare};
use crate::{
    analysis::{Block, Term, roles, uniform::insts},
    error::Error,
    exec::unset::{self, Logic, Side},
    op::Slot,
};
use rustc_hash::{FxHashMap, FxHashSet};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId, Stmt},
    op::Op,
    qual::Qual,
    types::Type,
};

/// Predicates with masks.
pub(super) struct Preds {
    slots: FxHashMap<RegId, Slot>,
    /// Those that no path to the start of the kernel has written.
    gaps: Vec<RegId>,
    /// Those that all lanes of this block are known to have written.
    seen: FxHashSet<RegId>,
}

/// The kind and the sources of an instruction that makes a predicate of predicates.
fn logic(inst: &Inst) -> Option<(Logic, &[Operand])> {
    if inst.quals.types().next() != Some(Type::Pred) {
        return None;
    }
    let kind = match inst.op {
        Op::And => Logic::And,
        Op::Or => Logic::Or,
        Op::Mov | Op::Not | Op::Xor => Logic::Any,
        _ => return None,
    };
    Some((kind, inst.operands.get(1..)?))
}

/// How a comparison is combined with a predicate, and that.
fn combined(inst: &Inst) -> Option<(Logic, RegId, bool)> {
    let (Op::Setp, Some(last)) = (inst.op, inst.operands.get(3)) else {
        return None;
    };
    let kind = if inst.quals.has(Qual::And) {
        Logic::And
    } else if inst.quals.has(Qual::Or) {
        Logic::Or
    } else {
        Logic::Any
    };
    match last {
        Operand::Reg(reg) => Some((kind, *reg, false)),
        Operand::NotReg(reg) => Some((kind, *reg, true)),
        _ => None,
    }
}

impl Preds {
    /// Gives masks to those that may be unwritten, by the ones that some path reads before it writes them.
    pub(super) fn new(
        l: &mut Lowerer<'_>,
        body: &[Stmt],
        blocks: &[Block],
        gaps: &[RegId],
    ) -> Preds {
        let mut may: FxHashSet<RegId> = gaps.iter().copied().collect();
        let mut changed = !may.is_empty();
        while changed {
            changed = false;
            for (_, inst) in blocks.iter().flat_map(|block| insts(block, body)) {
                let mut unset = false;
                if let Some((_, sources)) = logic(inst) {
                    for source in sources {
                        roles::each_reg(source, &mut |reg| unset |= may.contains(&reg));
                    }
                }
                unset |= combined(inst).is_some_and(|(_, reg, _)| may.contains(&reg));
                if unset {
                    roles::each_def(inst, &mut |reg| changed |= may.insert(reg));
                }
            }
        }
        let mut all: Vec<RegId> = may.into_iter().collect();
        all.sort_unstable();
        Preds {
            slots: all.into_iter().map(|reg| (reg, l.scalar_slot())).collect(),
            gaps: gaps.to_vec(),
            seen: FxHashSet::default(),
        }
    }

    /// The masks that are full at the start of a kernel.
    pub(super) fn unwritten(&self) -> Vec<Slot> {
        let slots = self.gaps.iter().filter_map(|reg| self.slots.get(reg));
        slots.copied().collect()
    }

    pub(super) fn enter_block(&mut self) {
        self.seen.clear();
    }

    /// A predicate decides what the lanes do that run, or run under a guard.
    pub(super) fn decide(&mut self, l: &mut Lowerer<'_>, reg: RegId, under: Option<RegId>) {
        let Some(slot) = self.slots.get(&reg) else {
            return;
        };
        let seen = match under {
            None => !self.seen.insert(reg),
            Some(_) => self.seen.contains(&reg),
        };
        if !seen {
            unset::emit_decides(l, *slot);
        }
    }

    /// Emits what comes before an instruction.
    pub(super) fn before(&mut self, l: &mut Lowerer<'_>, inst: &Inst) -> Result<(), Error> {
        if self.slots.is_empty() {
            return Ok(());
        }
        if let Some((kind, sources)) = logic(inst) {
            let Some(to) = self.target(inst.operands.first()) else {
                return Ok(());
            };
            let mut sides = Vec::new();
            for source in sources {
                let value = l.pred(source)?;
                let mut mask = None;
                roles::each_reg(source, &mut |reg| mask = self.slots.get(&reg).copied());
                sides.push(Side { mask, value });
            }
            unset::emit_logic(l, to, kind, &sides);
            return Ok(());
        }
        let combined = combined(inst);
        if let Some((kind, reg, negated)) = combined
            && let Some(mask) = self.slots.get(&reg)
        {
            // What is in it is of no account, so it is what leaves the comparison to be seen.
            unset::emit_open(l, l.slot_of(reg), *mask, kind, negated);
        }
        let mut used = Vec::new();
        roles::each_use(&bare(inst), &mut |reg| used.push(reg));
        for reg in used {
            if combined.is_none_or(|(_, own, _)| own != reg) {
                self.decide(l, reg, inst.guard.map(|guard| guard.reg));
            }
        }
        Ok(())
    }

    fn target(&self, operand: Option<&Operand>) -> Option<Slot> {
        match operand {
            Some(Operand::Reg(reg)) => self.slots.get(reg).copied(),
            _ => None,
        }
    }

    /// Emits what comes after it.
    pub(super) fn after(&mut self, l: &mut Lowerer<'_>, inst: &Inst) -> Result<(), Error> {
        if self.slots.is_empty() {
            return Ok(());
        }
        let mut defined = Vec::new();
        roles::each_def(inst, &mut |reg| defined.push(reg));
        if logic(inst).is_some() {
            for reg in defined {
                self.seen.remove(&reg);
            }
            return Ok(());
        }
        let combined = combined(inst);
        let of = combined.and_then(|(kind, reg, _)| Some((kind, *self.slots.get(&reg)?)));
        // The one that takes the place of the combined predicate's mask comes last.
        defined.sort_by_key(|reg| combined.is_some_and(|(_, own, _)| own == *reg));
        for reg in defined {
            let Some(slot) = self.slots.get(&reg).copied() else {
                continue;
            };
            match of {
                Some((kind, mask)) => {
                    self.seen.remove(&reg);
                    unset::emit_closed(l, slot, mask, kind, l.slot_of(reg));
                }
                None => {
                    if inst.guard.is_none() {
                        self.seen.insert(reg);
                    }
                    unset::emit_written(l, slot);
                }
            }
        }
        Ok(())
    }

    /// Emits what comes before the end of a block.
    pub(super) fn end_block(&mut self, l: &mut Lowerer<'_>, term: &Term) {
        if self.slots.is_empty() {
            return;
        }
        let mut used = Vec::new();
        match term {
            Term::Call(_) => {}
            Term::Barrier(barrier) if barrier.guard.is_some() => {
                used.extend(barrier.guard.map(|(reg, _)| reg));
            }
            other => other.each_use(&mut |reg| used.push(reg)),
        }
        for reg in used {
            self.decide(l, reg, None);
        }
        term.each_def(&mut |reg| {
            if let Some(slot) = self.slots.get(&reg) {
                unset::emit_written(l, *slot);
            }
        });
    }
}
