//! Which registers hold one value for a whole warp, and which blocks a warp runs together.
//!
//! A block is convergent if all lanes that have not left the kernel run it together, provided that
//! lanes that split at a branch wait for each other at its immediate post-dominator, as they do
//! where pending blocks run in the order of [`Cfg::blocks`]. Lanes that wait in a block that only
//! returns count as having left: nothing they could read matters any more.
//!
//! A register is uniform if every definition computes the same value for all lanes that run it, and
//! either it has one definition and no use outside the definition's block or before it, or every
//! definition is in a convergent block.

use crate::{
    cfg::{self, Cfg},
    ir::{Base, Function, FunctionKind, Imm, Inst, Operand, RegId, StmtKind, VarId},
    isa::{self, Access, Lanes},
    op::Op,
    qual::Qual,
    special::Special,
    types::Space,
    visit::Registers,
};
use smallvec::SmallVec;

/// The result of [`analyze`].
#[derive(Clone, Debug)]
pub struct Uniformity {
    regs: Vec<bool>,
    blocks: Vec<bool>,
}

impl Uniformity {
    /// Whether a register holds one value for all lanes of a warp that can read it.
    pub fn reg(&self, reg: RegId) -> bool {
        self.regs.get(reg.index()).copied().unwrap_or(false)
    }

    /// Whether a block is run by all lanes that have not left, together.
    pub fn convergent(&self, block: usize) -> bool {
        self.blocks.get(block).copied().unwrap_or(false)
    }
}

/// For any block shape.
pub fn analyze(function: &Function, cfg: &Cfg) -> Uniformity {
    analyze_for(function, cfg, None)
}

/// For launches with this block shape.
pub fn analyze_for(function: &Function, cfg: &Cfg, shape: Option<[u32; 3]>) -> Uniformity {
    let registers = Registers::new(function.body.as_deref().unwrap_or(&[]));
    let facts = facts(function, cfg, &registers);
    let mut run = Run {
        function,
        cfg,
        shape,
        // Without a definition a register holds nothing: it may as well be uniform.
        state: Uniformity {
            regs: vec![true; function.regs.len()],
            blocks: vec![true; cfg.blocks.len()],
        },
        flow: Flow::new(function, cfg),
        varying_branch: vec![false; cfg.blocks.len()],
    };
    while run.pass(&facts, &registers) {}
    run.state
}

/// Whether a `shfl` gives every lane of a full warp the value of one lane.
pub fn broadcasts(inst: &Inst) -> bool {
    let full = [Imm::Int(-1), Imm::Int(0xffff_ffff), Imm::Uint(0xffff_ffff)];
    let whole = [Imm::Int(31), Imm::Uint(31)];
    inst.op == Op::Shfl
        && inst.quals.has(Qual::Sync)
        && inst.quals.has(Qual::Idx)
        && match &inst.operands[..] {
            [
                _,
                _,
                Operand::Imm(_),
                Operand::Imm(ends),
                Operand::Imm(members),
            ] => whole.contains(ends) && full.contains(members),
            _ => false,
        }
}

/// What is known of a register before the analysis.
#[derive(Clone, Copy, Default)]
struct Fact {
    definitions: u32,
    /// The block of the definition, and whether a use stands elsewhere or before it.
    block: usize,
    defined: bool,
    escapes: bool,
}

fn facts(function: &Function, cfg: &Cfg, registers: &Registers) -> Vec<Fact> {
    let mut facts = vec![Fact::default(); function.regs.len()];
    for (at, block) in cfg.blocks.iter().enumerate() {
        for stmt in block.stmts.clone() {
            // Operands are read before results are written.
            for reg in registers.read(stmt) {
                if let Some(fact) = facts.get_mut(reg.index()) {
                    fact.escapes |= !(fact.defined && fact.block == at);
                }
            }
            for reg in registers.written(stmt) {
                if let Some(fact) = facts.get_mut(reg.index()) {
                    fact.definitions += 1;
                    fact.block = at;
                    fact.defined = true;
                }
            }
        }
    }
    facts
}

/// The graph without the edges by which lanes leave.
pub(crate) struct Flow {
    edges: Vec<SmallVec<[usize; 2]>>,
    post: Vec<Option<usize>>,
}

impl Flow {
    pub(crate) fn new(function: &Function, cfg: &Cfg) -> Flow {
        let body = function.body.as_deref().unwrap_or(&[]);
        let only_leaves: Vec<bool> = cfg
            .blocks
            .iter()
            .map(|block| {
                block.successors.is_empty()
                    && body[block.stmts.clone()]
                        .iter()
                        .all(|stmt| match &stmt.kind {
                            StmtKind::Inst(inst) => matches!(inst.op, Op::Ret | Op::Exit),
                            _ => true,
                        })
            })
            .collect();
        let mut edges = Vec::with_capacity(cfg.blocks.len());
        let mut leaves = Vec::with_capacity(cfg.blocks.len());
        for block in &cfg.blocks {
            let stays: SmallVec<[usize; 2]> = block
                .successors
                .iter()
                .copied()
                .filter(|next| !only_leaves[*next])
                .collect();
            leaves.push(stays.is_empty());
            edges.push(stays);
        }
        let post = cfg::post_dominators(&edges, &leaves);
        Flow { edges, post }
    }

    /// Whether the lanes of a block may go on to several.
    pub(crate) fn splits(&self, block: usize) -> bool {
        self.edges[block].len() > 1
    }

    /// The blocks between a branch and where its lanes meet again.
    pub(crate) fn between(&self, branch: usize) -> Vec<usize> {
        let meet = self.post[branch];
        let mut seen = vec![false; self.edges.len()];
        let mut work: Vec<usize> = self.edges[branch].to_vec();
        let mut out = Vec::new();
        while let Some(block) = work.pop() {
            if Some(block) == meet || std::mem::replace(&mut seen[block], true) {
                continue;
            }
            out.push(block);
            work.extend(self.edges[block].iter().copied());
        }
        out
    }
}

struct Run<'f> {
    function: &'f Function,
    cfg: &'f Cfg,
    shape: Option<[u32; 3]>,
    state: Uniformity,
    flow: Flow,
    varying_branch: Vec<bool>,
}

impl Run<'_> {
    /// One sweep; whether anything became varying.
    fn pass(&mut self, facts: &[Fact], registers: &Registers) -> bool {
        let mut changed = false;
        let body = self.function.body.as_deref().unwrap_or(&[]);
        for at in 0..self.cfg.blocks.len() {
            let range = self.cfg.blocks[at].stmts.clone();
            for stmt in range {
                if let StmtKind::Inst(inst) = &body[stmt].kind {
                    changed |= self.define(inst, registers.written(stmt), at, facts);
                    changed |= self.branch(inst, at);
                }
            }
        }
        changed
    }

    fn define(
        &mut self,
        inst: &Inst,
        written: impl Iterator<Item = RegId>,
        block: usize,
        facts: &[Fact],
    ) -> bool {
        let convergent = self.state.blocks[block];
        let guard = inst.guard.is_none_or(|guard| self.state.reg(guard.reg));
        let uniform = guard && self.value(inst, convergent);
        let regs = &mut self.state.regs;
        let mut changed = false;
        for reg in written {
            let (Some(state), Some(fact)) = (regs.get_mut(reg.index()), facts.get(reg.index()))
            else {
                continue;
            };
            let local = fact.definitions == 1 && !fact.escapes;
            if *state && !(uniform && (local || convergent)) {
                *state = false;
                changed = true;
            }
        }
        changed
    }

    fn branch(&mut self, inst: &Inst, block: usize) -> bool {
        if !matches!(inst.op, Op::Bra | Op::Brx) || self.varying_branch[block] {
            return false;
        }
        let guard = inst.guard.is_none_or(|guard| self.state.reg(guard.reg));
        if guard && inst.operands.iter().all(|operand| self.operand(operand)) {
            return false;
        }
        self.varying_branch[block] = true;
        if self.flow.edges[block].len() > 1 {
            for between in self.flow.between(block) {
                self.state.blocks[between] = false;
            }
        }
        // Lanes that went to a block that only returns do not run it with the others.
        for next in &self.cfg.blocks[block].successors {
            if !self.flow.edges[block].contains(next) {
                self.state.blocks[*next] = false;
            }
        }
        true
    }

    /// Whether all lanes that run an instruction get the same result.
    fn value(&self, inst: &Inst, convergent: bool) -> bool {
        let Some(form) = isa::form(inst.op, &inst.quals) else {
            return false;
        };
        let lanes = form.facts().lanes;
        let decided = match (inst.op, lanes) {
            (Op::Shfl, _) => convergent && broadcasts(inst),
            (Op::Activemask, _) => true,
            (_, Lanes::Own) => false,
            (_, Lanes::Together) => convergent,
            (Op::Ld | Op::Ldu, Lanes::Sources) => self.load(inst, form.space()),
            (_, Lanes::Sources) => true,
        };
        // What lanes compute together does not depend on each one's operand.
        let reads_all = lanes == Lanes::Together || inst.op == Op::Shfl;
        decided && (reads_all || self.sources(inst))
    }

    fn load(&self, inst: &Inst, space: Space) -> bool {
        match space {
            Space::Global | Space::Shared | Space::Const => true,
            Space::Param => {
                self.function.kind == FunctionKind::Entry
                    && !inst.operands.iter().any(|operand| match operand {
                        Operand::Addr(address) => {
                            matches!(address.base, Base::Var(VarId::Function(_)))
                        }
                        _ => false,
                    })
            }
            // A generic address may point into a thread's own memory.
            Space::Generic | Space::Local => false,
        }
    }

    fn sources(&self, inst: &Inst) -> bool {
        let Some(slots) =
            isa::form(inst.op, &inst.quals).and_then(|form| form.assign(inst.operands.len()))
        else {
            return false;
        };
        inst.operands
            .iter()
            .zip(slots)
            .filter(|(operand, slot)| {
                slot.access == Access::Read || matches!(operand, Operand::Addr(_))
            })
            .all(|(operand, _)| self.operand(operand))
    }

    fn operand(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Reg(reg) | Operand::NotReg(reg) => self.state.reg(*reg),
            Operand::Special(special) => self.special(*special),
            Operand::Addr(address) => match address.base {
                Base::Reg(reg) => self.state.reg(reg),
                Base::Var(_) | Base::Absolute => true,
            },
            Operand::Vec(items) | Operand::List(items) => {
                items.iter().all(|item| self.operand(item))
            }
            Operand::Pair(pair) => self.operand(&pair.0) && self.operand(&pair.1),
            Operand::Imm(_)
            | Operand::Var(..)
            | Operand::Label(_)
            | Operand::Func(_)
            | Operand::Sink => true,
        }
    }

    fn special(&self, special: Special) -> bool {
        match special {
            Special::TidX => self.shape.is_some_and(|[x, _, _]| x == 1),
            Special::TidY => self
                .shape
                .is_some_and(|[x, y, _]| y == 1 || x.is_multiple_of(32)),
            Special::TidZ => self
                .shape
                .is_some_and(|[x, y, z]| z == 1 || x.saturating_mul(y).is_multiple_of(32)),
            Special::Laneid
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt => false,
            _ => true,
        }
    }
}
