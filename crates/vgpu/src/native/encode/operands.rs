//! What a node works on.

use regalloc2::Allocation;
use warpsmith_x86::Gpr;

/// The registers of a node, one after another.
pub(super) struct Operands<'a> {
    pub(super) allocs: &'a [Allocation],
    pub(super) at: usize,
}

impl Operands<'_> {
    pub(super) fn number(&mut self) -> u8 {
        let alloc = self.allocs[self.at];
        self.at += 1;
        let reg = alloc.as_reg().expect("nodes work on registers");
        reg.hw_enc() as u8
    }

    /// Wherever it is.
    pub(super) fn next(&mut self) -> Allocation {
        self.at += 1;
        self.allocs[self.at - 1]
    }

    pub(super) fn general(&mut self) -> Gpr {
        Gpr(self.number())
    }

    /// A register that is changed: it stands twice.
    pub(super) fn changed(&mut self) -> Gpr {
        let dst = self.number();
        let start = self.number();
        debug_assert_eq!(dst, start, "a changed register is one");
        Gpr(dst)
    }
}
