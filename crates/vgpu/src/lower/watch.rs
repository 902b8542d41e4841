//! What the builder keeps for checked programs.

use super::Lowerer;
use crate::{
    check::AccessInfo,
    exec::{Flow, MicroOp, shadows},
    tier,
};
use warpsmith_ptx::ir::RegId;

/// What the builder keeps of it.
#[derive(Default)]
pub(crate) struct Watched {
    pub(super) accesses: Vec<AccessInfo>,
    /// The slots of all shadows, and that of each register.
    pub(super) shadows: Vec<u32>,
    pub(super) shadow_of: Vec<Option<u32>>,
    put_off: Vec<MicroOp>,
}

impl Lowerer<'_> {
    /// Flow handler `F` for the tier, for checks.
    pub(crate) fn watch<F: Flow>(&self) -> MicroOp {
        self.blank(tier::pick_watch::<F>(self.tier()))
    }

    /// A slot of 32 cells of 32 bits that stays, for what is undefined of a register.
    pub(super) fn shadow_slot(&mut self) -> u32 {
        let slot = self.next.next_multiple_of(64);
        self.next = slot + 128;
        self.watched.shadows.push(slot);
        slot
    }

    /// A slot of 32 cells of 64 bits that stays.
    pub(super) fn wide_slot(&mut self) -> u32 {
        let slot = self.next.next_multiple_of(64);
        self.next = slot + 256;
        slot
    }

    /// The slot of what is undefined of a register, if that may be.
    pub(crate) fn shadow_of(&self, reg: RegId) -> Option<u32> {
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
    pub(crate) fn emit_check(&mut self, check: MicroOp, glance: Option<MicroOp>) -> usize {
        let ops = std::mem::take(&mut self.watched.put_off);
        let at = self.ops.len();
        if let Some(mut glance) = glance {
            let early = usize::from(!ops.is_empty());
            glance.more[0] = (early + ops.len() + 1) as u32;
            self.emit(glance);
        }
        if !ops.is_empty() {
            let mut early = check;
            early.more[0] = ops.len() as u32 + 1;
            self.emit(early);
            self.ops.extend(ops);
        }
        self.emit(check);
        at
    }

    /// Adds the description of an access; its number.
    pub(crate) fn describe(&mut self, info: AccessInfo) -> u32 {
        self.watched.accesses.push(info);
        self.watched.accesses.len() as u32 - 1
    }
}
