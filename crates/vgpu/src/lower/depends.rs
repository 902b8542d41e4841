//! Which accesses are made only if what was read from memory says so.
//!
//! Who got the last ticket knows that all others have theirs: what an atomic gave orders its thread behind theirs. But
//! where a thread would go on in the same way whatever it got, it could have come before them as well.

use crate::analysis::{Block, Term, roles, uniform::insts};
use warpsmith_ptx::{
    ir::{Function, Inst, Operand, RegId, Stmt},
    op::Op,
    types::Space,
};

/// By register and by block.
pub(super) struct Depends {
    regs: Vec<bool>,
    blocks: Vec<bool>,
}

/// Whether a result is what memory held, or what other threads did.
fn reads(inst: &Inst) -> bool {
    match inst.op {
        Op::Ld | Op::Ldu => !matches!(roles::space(inst), Space::Param | Space::Const),
        Op::Ldmatrix | Op::Atom | Op::Mbarrier | Op::Activemask | Op::Tex | Op::Tld4 | Op::Suld => {
            true
        }
        _ => false,
    }
}

impl Depends {
    pub(super) fn new(function: &Function, body: &[Stmt], blocks: &[Block]) -> Depends {
        let mut all = Depends {
            regs: vec![false; function.regs.len()],
            blocks: vec![false; blocks.len()],
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (at, block) in blocks.iter().enumerate() {
                for (_, inst) in insts(block, body) {
                    let mut read = reads(inst);
                    roles::each_use(inst, &mut |reg| read |= all.regs[reg.index()]);
                    if read {
                        roles::each_def(inst, &mut |reg| changed |= all.mark(reg));
                    }
                }
                let mut read = false;
                block
                    .term
                    .each_use(&mut |reg| read |= all.regs[reg.index()]);
                // Calls save whatever they find.
                let parts = read && !matches!(block.term, Term::Call(_) | Term::Gate { .. });
                if read {
                    block.term.each_def(&mut |reg| changed |= all.mark(reg));
                }
                if parts || all.blocks[at] {
                    for to in block.term.targets() {
                        changed |= !std::mem::replace(&mut all.blocks[to as usize], true);
                    }
                }
            }
        }
        all
    }

    fn mark(&mut self, reg: RegId) -> bool {
        !std::mem::replace(&mut self.regs[reg.index()], true)
    }

    /// Whether it is so of an access in a block.
    pub(super) fn decides(&self, inst: &Inst, block: usize) -> bool {
        let mut read = self.blocks[block];
        let mut look = |reg: RegId| read |= self.regs[reg.index()];
        if let Some(guard) = inst.guard {
            look(guard.reg);
        }
        let addresses = inst.operands.iter();
        for address in addresses.filter(|operand| matches!(operand, Operand::Addr(_))) {
            roles::each_reg(address, &mut look);
        }
        read
    }
}
