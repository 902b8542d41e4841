//! What the compiler asks of a lowered kernel: which ops are whose, and where everything lies.

use super::{Dst, Lowerer};
use crate::{
    analysis::roles,
    op::{Slot, Value},
};
use warpsmith_ptx::{ir::RegId, special::Special};

/// An instruction of a block and its ops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Its statement.
    pub(crate) stmt: u32,
    /// Its first op, and the one behind its last.
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl Lowerer<'_> {
    /// Whether instructions may share an op: in what is compiled, each has its own.
    pub(crate) fn fuses(&self) -> bool {
        self.input.compile.is_none()
    }

    /// An instruction has been lowered, its ops beginning with `first`.
    pub(crate) fn piece(&mut self, stmt: usize, first: u32) {
        let end = self.ops.len() as u32;
        if let Some(pieces) = self.pieces.last_mut() {
            pieces.push(Piece {
                stmt: stmt as u32,
                first,
                end,
            });
        }
    }

    /// How many registers the kernel has.
    pub(crate) fn register_count(&self) -> usize {
        self.regs.len()
    }

    /// Where a register is.
    pub(crate) fn dst_of(&self, reg: RegId) -> Dst {
        self.regs[reg.index()]
    }

    /// The block's shape.
    pub(crate) fn block(&self) -> [u32; 3] {
        self.input.block
    }

    /// Where a special register is, if an instruction has read it.
    pub(crate) fn special_home(&self, special: Special) -> Option<Dst> {
        let uniform = roles::is_uniform_special(special, self.input.block);
        let value = if uniform {
            Value::Scalar(special)
        } else {
            Value::Lanes(special)
        };
        let slot = *self.presets.get(&value)?;
        Some(Dst { slot, uniform })
    }

    /// What is set from outside at a slot.
    pub(crate) fn preset_at(&self, slot: Slot) -> Option<Value> {
        let mut all = self.per_launch.iter().chain(&self.per_cta);
        all.find(|preset| preset.slot == slot)
            .map(|preset| preset.value)
    }
}
