//! First guesses: plain loads of what a compare-and-swap at the same address then confirms.
//!
//! `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);` is how CUDA's own headers
//! add what no instruction adds. A load that races with other swaps costs a round, nothing else: for the checker it is
//! as strong as the swap.

use crate::analysis::{Block, uniform::insts};
use warpsmith_ptx::{
    ir::{Address, Inst, Operand, RegId, Stmt},
    op::Op,
    qual::Qual,
};

/// Where such loads may be, and what they load to.
#[derive(Default)]
pub(super) struct Guesses(Vec<Guess>);

struct Guess {
    at: Address,
    /// What is loaded is compared, at once or as a copy.
    to: RegId,
    cta_scope: bool,
}

impl Guesses {
    pub(super) fn new(body: &[Stmt], blocks: &[Block]) -> Guesses {
        let all = || blocks.iter().flat_map(|block| insts(block, body));
        let copies: Vec<[RegId; 2]> = all().filter_map(|(_, inst)| copy(inst)).collect();
        let mut guesses = Vec::new();
        for (_, inst) in all() {
            let swaps = inst.op == Op::Atom && inst.quals.has(Qual::Cas);
            let [_, Operand::Addr(at), Operand::Reg(compared), ..] = &inst.operands[..] else {
                continue;
            };
            if !swaps {
                continue;
            }
            let copied = copies.iter().filter(|[to, _]| to == compared);
            let loaded = copied.map(|[_, from]| *from);
            for to in loaded.chain([*compared]) {
                guesses.push(Guess {
                    at: *at,
                    to,
                    cta_scope: inst.quals.has(Qual::Cta),
                });
            }
        }
        Guesses(guesses)
    }

    /// If this is such a load, whether its swap is for the CTA only.
    pub(super) fn scope(&self, inst: &Inst) -> Option<bool> {
        let (Op::Ld, [Operand::Reg(reg), Operand::Addr(at), ..]) = (inst.op, &inst.operands[..])
        else {
            return None;
        };
        let mut own = self.0.iter();
        let guess = own.find(|guess| guess.to == *reg && guess.at == *at)?;
        Some(guess.cta_scope)
    }
}

/// Where a copy of a register goes, and that register.
fn copy(inst: &Inst) -> Option<[RegId; 2]> {
    match (inst.op, &inst.operands[..]) {
        (Op::Mov, [Operand::Reg(to), Operand::Reg(from)]) => Some([*to, *from]),
        _ => None,
    }
}
