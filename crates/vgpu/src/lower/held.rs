//! Registers of products of warp groups that may be read or written before the product was waited for: which instructions
//! are to be looked at when they run.

use super::{Block, Lowerer, roles};
use crate::{analysis::uniform::insts, exec};
use rustc_hash::FxHashMap;
use warpsmith_ptx::{
    ir::{Function, Imm, Inst, Operand, RegId, Stmt},
    op::Op,
    qual::Qual,
};

/// By register: how many groups were committed since its product, where that is not done; `FREE` for others.
type State = Vec<u8>;
const FREE: u8 = u8::MAX;
/// More groups than a wait can leave.
const MOST: u8 = 16;

/// Instructions that may come too early, by their statement, each with the registers of products that it has.
#[derive(Default)]
pub(super) struct Held {
    early: FxHashMap<usize, Vec<RegId>>,
}

/// What an instruction means for registers that are held.
enum Event<'i> {
    /// From here to the next one is a product, as `analysis/warpgroup.rs` writes it.
    Begins,
    Holds(&'i [Operand]),
    Commits,
    /// All but so many groups are done.
    Waits(u8),
    Other,
}

fn event(inst: &Inst) -> Event<'_> {
    let has = |word| inst.quals.has(word);
    if inst.op != Op::Wgmma {
        return Event::Other;
    }
    match inst.operands.first() {
        _ if has(Qual::CommitGroup) => Event::Commits,
        Some(Operand::Imm(Imm::Int(left))) if has(Qual::WaitGroup) => {
            Event::Waits(u8::try_from(*left).unwrap_or(MOST))
        }
        Some(Operand::Vec(items)) if has(Qual::Group) => Event::Holds(items),
        _ if has(Qual::Group) => Event::Begins,
        _ => Event::Other,
    }
}

impl Held {
    pub(super) fn new(function: &Function, body: &[Stmt], blocks: &[Block]) -> Held {
        let mut held = Held::default();
        let is_product = |stmt: &Stmt| {
            let inst = stmt.inst();
            inst.is_some_and(|inst| matches!(event(inst), Event::Holds(_)))
        };
        if !body.iter().any(is_product) {
            return held;
        }
        let mut starts: Vec<Option<State>> = vec![None; blocks.len()];
        if let Some(first) = starts.first_mut() {
            *first = Some(vec![FREE; function.regs.len()]);
        }
        let mut work = vec![0usize];
        while let Some(at) = work.pop() {
            let Some(mut state) = starts[at].clone() else {
                continue;
            };
            held.pass(&blocks[at], body, &mut state);
            for target in blocks[at].term.targets() {
                let known = &mut starts[target as usize];
                let merged: State = match known {
                    Some(known) => known.iter().zip(&state).map(|(a, b)| *a.min(b)).collect(),
                    None => state.clone(),
                };
                if known.as_ref() != Some(&merged) {
                    *known = Some(merged);
                    work.push(target as usize);
                }
            }
        }
        held
    }

    /// Goes through a block, and notes what may be early.
    fn pass(&mut self, block: &Block, body: &[Stmt], state: &mut State) {
        let mut inside = false;
        for (i, inst) in insts(block, body) {
            match event(inst) {
                Event::Begins => inside = true,
                Event::Holds(items) => {
                    inside = false;
                    for item in items {
                        roles::each_reg(item, &mut |reg| state[reg.index()] = 0);
                    }
                }
                Event::Commits => state
                    .iter_mut()
                    .filter(|since| **since != FREE)
                    .for_each(|since| *since = (*since + 1).min(MOST)),
                Event::Waits(left) => state
                    .iter_mut()
                    .filter(|since| **since > left)
                    .for_each(|since| *since = FREE),
                Event::Other if inside => {}
                Event::Other => {
                    let mut early = Vec::new();
                    let mut note = |reg: RegId| {
                        if state[reg.index()] != FREE && !early.contains(&reg) {
                            early.push(reg);
                        }
                    };
                    roles::each_use(inst, &mut note);
                    roles::each_def(inst, &mut note);
                    if !early.is_empty() {
                        self.early.insert(block.stmts.start + i, early);
                    }
                }
            }
        }
    }

    /// Emits what looks at the instruction that is lowered next.
    pub(super) fn before(&self, l: &mut Lowerer<'_>, here: usize) {
        if let Some(regs) = self.early.get(&here) {
            exec::emit_early(l, regs);
        }
    }
}
