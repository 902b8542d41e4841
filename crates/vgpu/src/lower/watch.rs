//! What the builder keeps for checked programs.

use super::Lowerer;
use crate::check::AccessInfo;

impl Lowerer<'_> {
    /// A slot of 32 cells of 32 bits that stays, for what is undefined of a register.
    pub(super) fn shadow_slot(&mut self) -> u32 {
        let slot = self.next.next_multiple_of(64);
        self.next = slot + 128;
        self.shadows.push(slot);
        slot
    }

    /// A scalar slot that stays.
    pub(crate) fn spare_scalar(&mut self) -> u32 {
        self.scalar_slot()
    }

    /// The slot where checks keep the mask.
    pub(crate) fn kept_mask(&mut self) -> u32 {
        match self.kept {
            Some(slot) => slot,
            None => {
                let slot = self.scalar_slot();
                self.kept = Some(slot);
                slot
            }
        }
    }

    /// Adds the description of an access; its number.
    pub(crate) fn describe(&mut self, info: AccessInfo) -> u32 {
        self.accesses.push(info);
        self.accesses.len() as u32 - 1
    }
}
