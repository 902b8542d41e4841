//! What a shuffle does not bring: lanes that read from a lane that does not take part get no value.
//!
//! That is no fault as long as nobody needs it: the last steps of many reductions read beyond the end, and drop what they
//! get. So each register that a shuffle's result may reach has a mask of lanes whose value is lost. Arithmetic and
//! selections hand it on; branches, addresses, what is stored, and products of matrices are uses, and are reported.

use super::Lowerer;
use crate::{
    analysis::{Block, Term, roles, uniform::insts},
    error::Error,
    exec::lost,
    op::{MicroOp, Slot},
};
use warpsmith_ptx::{
    ir::{Function, Inst, Operand, RegId, Stmt},
    op::Op,
};

/// The masks of a kernel.
pub(crate) struct Lost {
    /// By register: the slot of its mask.
    slots: Vec<Option<Slot>>,
    /// Ops that are put off, until someone needs what they do.
    later: Vec<MicroOp>,
}

/// Whether an instruction only makes a value of its sources, for each lane alone.
fn is_plain(inst: &Inst) -> bool {
    let whole = matches!(
        inst.op,
        Op::Atom
            | Op::Ld
            | Op::Ldu
            | Op::Ldmatrix
            | Op::Mbarrier
            | Op::Movmatrix
            | Op::Mma
            | Op::Wmma
            | Op::Wgmma
            | Op::Shfl
            | Op::Vote
            | Op::Match
            | Op::Redux
            | Op::Elect
            | Op::Bar
            | Op::Barrier
            | Op::Alloca
            | Op::Tex
            | Op::Tld4
            | Op::Suld
    );
    roles::has_destination(inst) && !whole
}

/// Whether it neither makes a value nor does anything that depends on one.
fn is_idle(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Nanosleep | Op::Prefetch | Op::Prefetchu | Op::Membar | Op::Fence | Op::Pmevent
    )
}

impl Lost {
    /// Gives masks to the registers of a kernel that need them; `None` if it has no shuffles.
    pub(super) fn new(
        l: &mut Lowerer<'_>,
        function: &Function,
        body: &[Stmt],
        blocks: &[Block],
    ) -> Option<Lost> {
        let all = || blocks.iter().flat_map(|block| insts(block, body));
        if !all().any(|(_, inst)| inst.op == Op::Shfl) {
            return None;
        }
        let mut may = vec![false; function.regs.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (_, inst) in all() {
                let mut reaches = inst.op == Op::Shfl;
                if is_plain(inst) {
                    roles::each_use(inst, &mut |reg| reaches |= may[reg.index()]);
                }
                if reaches {
                    each_value(inst, &mut |reg| {
                        changed |= !std::mem::replace(&mut may[reg.index()], true);
                    });
                }
            }
        }
        Some(Lost {
            slots: may.iter().map(|may| may.then(|| l.lost_slot())).collect(),
            later: Vec::new(),
        })
    }

    fn slot(&self, reg: RegId) -> Option<Slot> {
        self.slots.get(reg.index()).copied().flatten()
    }

    fn of(&self, operand: &Operand) -> Option<Slot> {
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) => self.slot(*reg),
            _ => None,
        }
    }

    /// Emits what was put off.
    pub(super) fn flush(&mut self, l: &mut Lowerer<'_>) {
        let ops = std::mem::take(&mut self.later);
        if ops.len() > 1 {
            lost::emit_skip(l, ops.len());
        }
        for op in ops {
            l.emit(op);
        }
    }

    fn used(&mut self, l: &mut Lowerer<'_>, slots: &mut Vec<Slot>) {
        slots.sort_unstable();
        slots.dedup();
        if !slots.is_empty() {
            self.flush(l);
            lost::emit_used(l, slots);
        }
    }

    /// Emits what comes before an instruction.
    pub(super) fn before(&mut self, l: &mut Lowerer<'_>, inst: &Inst) -> Result<(), Error> {
        if inst.op == Op::Shfl {
            self.flush(l);
            let (value, pred) = match inst.operands.first() {
                Some(Operand::Pair(pair)) => (self.of(&pair.0), Some(&pair.1)),
                Some(one) => (self.of(one), None),
                None => (None, None),
            };
            if let Some(value) = value {
                let source = inst.operands.get(1).and_then(|operand| self.of(operand));
                lost::emit_shuffle(l, inst, value, source)?;
            }
            // Whether a lane was in range is known without the other.
            if let Some(slot) = pred.and_then(|pred| self.of(pred)) {
                self.later.push(lost::mix(l, slot, &[]));
            }
            return Ok(());
        }
        if is_plain(inst) || is_idle(inst) {
            return Ok(());
        }
        let mut slots = Vec::new();
        // Under a guard the old value of a destination is none of its sources.
        let skip = usize::from(roles::has_destination(inst));
        for operand in inst.operands.iter().skip(skip) {
            roles::each_reg(operand, &mut |reg| slots.extend(self.slot(reg)));
        }
        slots.extend(inst.guard.and_then(|guard| self.slot(guard.reg)));
        self.used(l, &mut slots);
        Ok(())
    }

    /// Emits what comes after it.
    pub(super) fn after(&mut self, l: &mut Lowerer<'_>, inst: &Inst) -> Result<(), Error> {
        if inst.op == Op::Shfl {
            return Ok(());
        }
        let mut targets = Vec::new();
        roles::each_def(inst, &mut |reg| targets.extend(self.slot(reg)));
        if targets.is_empty() {
            return Ok(());
        }
        let guard = inst.guard.and_then(|guard| self.slot(guard.reg));
        if inst.op == Op::Selp
            && guard.is_none()
            && let [_, a, b, pred] = &inst.operands[..]
        {
            self.flush(l);
            let sources = [self.of(a), self.of(b), self.of(pred)];
            return lost::emit_select(l, targets[0], sources, pred);
        }
        let mut sources: Vec<Slot> = guard.into_iter().collect();
        if is_plain(inst) {
            for operand in inst.operands.iter().skip(1) {
                roles::each_reg(operand, &mut |reg| sources.extend(self.slot(reg)));
            }
        }
        for target in targets {
            self.later.push(lost::mix(l, target, &sources));
        }
        Ok(())
    }

    /// Emits what comes before the end of a block.
    pub(super) fn end_block(&mut self, l: &mut Lowerer<'_>, term: &Term) {
        let mut slots = Vec::new();
        // What a call saves is not used.
        if !matches!(term, Term::Call(_)) {
            term.each_use(&mut |reg| slots.extend(self.slot(reg)));
        }
        self.used(l, &mut slots);
        let mut targets = Vec::new();
        term.each_def(&mut |reg| targets.extend(self.slot(reg)));
        for target in targets {
            self.later.push(lost::mix(l, target, &[]));
        }
        self.flush(l);
    }
}

/// The registers of a result, but the predicate of a shuffle.
fn each_value(inst: &Inst, f: &mut impl FnMut(RegId)) {
    match (inst.op, inst.operands.first()) {
        (Op::Shfl, Some(Operand::Pair(pair))) => roles::each_reg(&pair.0, f),
        _ => roles::each_def(inst, f),
    }
}
