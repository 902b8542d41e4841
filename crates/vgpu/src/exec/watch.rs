//! How the builder emits what a checked program adds.

use super::{
    AccessId, Flow, MicroOp, Ops, Slot,
    checked::{Check, Checked},
    glance::Glimpse,
    shadows,
};
use crate::{build::Lowerer, check::AccessInfo};
use warpsmith_ptx::ir::RegId;

impl Lowerer<'_> {
    /// Flow handler `F` for the tier, for checks.
    pub(crate) fn watch<F: Flow>(&self, args: F::Args) -> MicroOp {
        MicroOp::watch::<F>(self.tier(), args, self.here())
    }

    /// A slot of 32 cells of 32 bits that stays, for what is undefined of a register.
    pub(crate) fn shadow_slot(&mut self) -> Slot {
        let slot = Slot(self.next.next_multiple_of(64));
        self.next = slot.0 + 128;
        self.watched.shadows.push(slot);
        slot
    }

    /// A slot of 32 cells of 64 bits that stays.
    pub(crate) fn wide_slot(&mut self) -> Slot {
        let slot = Slot(self.next.next_multiple_of(64));
        self.next = slot.0 + 256;
        slot
    }

    /// The slot of what is undefined of a register, if that may be.
    pub(crate) fn shadow_of(&self, reg: RegId) -> Option<Slot> {
        self.watched.shadow_of.get(reg.index()).copied().flatten()
    }

    /// Puts off an op that looks at or changes shadows: such ops keep their order, and nothing else needs them before
    /// the next access, guard or end of a block.
    pub(crate) fn put_off(&mut self, op: MicroOp) {
        self.watched.put_off.push(op);
    }

    /// Emits what was put off, skipped at once where every register is defined.
    pub(crate) fn flush(&mut self) {
        let ops = std::mem::take(&mut self.watched.put_off);
        if ops.len() > 1 {
            shadows::emit_skip(self, ops.len());
        }
        for op in ops {
            self.emit(op);
        }
    }

    /// Emits the check of an access, with what was put off before it where a register may be undefined, and before that
    /// the glance that may save both; where the first stands.
    pub(crate) fn emit_check(&mut self, check: Check, glance: Option<Glimpse>) -> usize {
        let ops = std::mem::take(&mut self.watched.put_off);
        let at = self.ops.len();
        if let Some(glance) = glance {
            let early = usize::from(!ops.is_empty());
            let skip = Ops((early + ops.len() + 1) as u32);
            self.emit(glance.op(self, skip));
        }
        if !ops.is_empty() {
            let mut early = check;
            early.skip = Ops(ops.len() as u32 + 1);
            self.emit(self.watch::<Checked>(early));
            self.ops.extend(ops);
        }
        self.emit(self.watch::<Checked>(check));
        at
    }

    /// Adds the description of an access; its number.
    pub(crate) fn describe(&mut self, info: AccessInfo) -> AccessId {
        self.watched.accesses.push(info);
        AccessId(self.watched.accesses.len() as u32 - 1)
    }
}
