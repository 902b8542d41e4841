//! Which registers hold one value for the whole warp, and which blocks all live lanes run together.
//!
//! A register may live in a scalar slot if its definitions have uniform operands and
//! (a) it has one definition and is read only below it in the same block, or
//! (b) all definitions stand in convergent blocks, or
//! (c) it has one definition that gives the same value whenever it runs.
//! The executor keeps the promise of (b): a convergent block runs with all live lanes or not yet.

use super::{
    cfg::{Block, Term},
    roles::{self, Outcome},
};
use warpsmith_ptx::{
    ir::{Function, Inst, Operand, RegId, Stmt, StmtKind},
    op::Op,
    qual::Qual,
    special::Special,
    types::Space,
};

/// The result of the analysis.
#[derive(Debug)]
pub(crate) struct Uniformity {
    /// By register.
    pub(crate) regs: Vec<bool>,
    /// By block.
    pub(crate) convergent: Vec<bool>,
}

/// The instructions of a block.
pub(crate) fn insts<'a>(
    block: &Block,
    body: &'a [Stmt],
) -> impl DoubleEndedIterator<Item = (usize, &'a Inst)> {
    body[block.stmts.clone()]
        .iter()
        .enumerate()
        .filter_map(|(i, stmt)| match &stmt.kind {
            StmtKind::Inst(inst) => Some((i, inst)),
            _ => None,
        })
}

struct Analysis<'a> {
    body: &'a [Stmt],
    blocks: &'a [Block],
    dims: [u32; 3],
    has_local: bool,
    varying: Vec<bool>,
    divergent: Vec<bool>,
    post: Vec<u32>,
    changed: bool,
}

/// How a kernel is run.
#[derive(Clone, Copy)]
pub(crate) struct LaunchShape {
    /// Threads of a block.
    pub(crate) dims: [u32; 3],
    pub(crate) has_local: bool,
    /// Lanes of a warp come in any order.
    pub(crate) apart: bool,
}

/// Analyses a kernel for a block shape.
pub(crate) fn analyze(
    function: &Function,
    body: &[Stmt],
    blocks: &[Block],
    shape: LaunchShape,
) -> Uniformity {
    let LaunchShape {
        dims,
        has_local,
        apart,
    } = shape;
    let places = Places::new(function, body, blocks);
    let mut a = Analysis {
        body,
        blocks,
        dims,
        has_local,
        varying: vec![false; function.regs.len()],
        divergent: vec![false; blocks.len()],
        post: post_dominators(blocks),
        changed: true,
    };
    // Lanes come back from calls when each is done.
    if apart || blocks.iter().any(|b| matches!(b.term, Term::Call(_))) {
        a.divergent.fill(true);
    }
    while a.changed {
        a.changed = false;
        a.values();
        a.control();
        a.storage(&places);
        if a.divergent.contains(&false) && a.may_lock(&a.elected(&places)) {
            a.divergent.fill(true);
            a.changed = true;
        }
    }
    Uniformity {
        regs: a.varying.iter().map(|v| !v).collect(),
        convergent: a.divergent.iter().map(|d| !d).collect(),
    }
}

impl Analysis<'_> {
    fn mark(&mut self, reg: RegId) {
        if !std::mem::replace(&mut self.varying[reg.index()], true) {
            self.changed = true;
        }
    }

    fn values(&mut self) {
        for at in 0..self.blocks.len() {
            let block = &self.blocks[at];
            for (_, inst) in insts(block, self.body) {
                let mut varies = match roles::outcome(inst, self.has_local) {
                    Outcome::Sources => false,
                    Outcome::Varying => true,
                    Outcome::Together => self.divergent[at],
                };
                if roles::outcome(inst, self.has_local) != Outcome::Together {
                    roles::each_use(inst, &mut |reg| varies |= self.varying[reg.index()]);
                } else if let Some(guard) = inst.guard {
                    varies |= self.varying[guard.reg.index()];
                }
                varies |= inst.operands.iter().any(|operand| match operand {
                    Operand::Special(s) => !roles::is_uniform_special(*s, self.dims),
                    _ => false,
                });
                if varies {
                    roles::each_def(inst, &mut |reg| self.mark(reg));
                }
            }
            self.blocks[at].term.each_def(&mut |reg| self.mark(reg));
        }
    }

    fn control(&mut self) {
        for at in 0..self.blocks.len() {
            let varies = match &self.blocks[at].term {
                Term::Branch { pred, .. } => self.varying[pred.index()],
                Term::Switch { index, .. } => {
                    let mut varies = false;
                    roles::each_reg(index, &mut |reg| varies |= self.varying[reg.index()]);
                    varies
                }
                Term::Jump(_)
                | Term::Exit
                | Term::ExitIf { .. }
                | Term::Trap { .. }
                | Term::Gate { .. }
                | Term::Barrier(_)
                | Term::Call(_)
                | Term::Return { .. } => false,
            };
            if varies {
                self.part(at);
            }
        }
    }

    /// Marks what lanes may run apart after the branch at the end of `at`.
    fn part(&mut self, at: usize) {
        let join = self.post[at];
        let mut seen = vec![false; self.blocks.len()];
        let mut work = self.blocks[at].term.targets();
        while let Some(block) = work.pop() {
            if block == join || std::mem::replace(&mut seen[block as usize], true) {
                continue;
            }
            if !std::mem::replace(&mut self.divergent[block as usize], true) {
                self.changed = true;
            }
            work.extend(self.blocks[block as usize].term.targets());
        }
    }

    fn storage(&mut self, places: &Places) {
        for reg in 0..self.varying.len() {
            if self.varying[reg] || places.same[reg] {
                continue;
            }
            let ok = places.narrow[reg]
                || places.defs[reg]
                    .iter()
                    .all(|block| !self.divergent[*block as usize]);
            if !ok {
                self.mark(RegId(reg as u32));
            }
        }
    }

    /// Blocks that one lane of the warp runs alone: it was told from the others by a comparison for
    /// equality. Nobody else can be in a loop there.
    fn elected(&self, places: &Places) -> Vec<bool> {
        let mut alone = vec![false; self.blocks.len()];
        for (at, block) in self.blocks.iter().enumerate() {
            let Term::Branch {
                pred,
                negated,
                then,
                other,
            } = block.term
            else {
                continue;
            };
            let Some(equal) = places.elects[pred.index()] else {
                continue;
            };
            let mut work = vec![if equal == (negated == 0) { then } else { other }];
            while let Some(block) = work.pop() {
                if block != self.post[at] && !std::mem::replace(&mut alone[block as usize], true) {
                    work.extend(self.blocks[block as usize].term.targets());
                }
            }
        }
        alone
    }

    /// Whether lanes may wait in a divergent loop for what another lane of the warp does after it.
    fn may_lock(&self, alone: &[bool]) -> bool {
        let locks = |block: &Block| insts(block, self.body).any(|(_, i)| roles::may_lock(i));
        self.blocks.iter().enumerate().any(|(at, block)| {
            self.divergent[at]
                && !alone[at]
                && block.term.targets().iter().any(|to| {
                    *to as usize <= at && self.blocks[*to as usize..=at].iter().any(locks)
                })
        })
    }
}

/// Where registers are defined and read.
struct Places {
    defs: Vec<Vec<u32>>,
    /// Predicates defined once, by a comparison of a lane's number or the like with one value: whether
    /// they hold for the lane that is equal.
    elects: Vec<Option<bool>>,
    /// Rule (a).
    narrow: Vec<bool>,
    /// Rule (c).
    same: Vec<bool>,
}

impl Places {
    fn new(function: &Function, body: &[Stmt], blocks: &[Block]) -> Places {
        let count = function.regs.len();
        let mut defs: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut at = vec![(u32::MAX, 0usize); count];
        for (b, block) in blocks.iter().enumerate() {
            for (i, inst) in insts(block, body) {
                roles::each_def(inst, &mut |reg| {
                    defs[reg.index()].push(b as u32);
                    at[reg.index()] = (b as u32, i);
                });
            }
            block.term.each_def(&mut |reg| {
                defs[reg.index()].push(b as u32);
                at[reg.index()] = (u32::MAX, 0);
            });
        }
        let mut narrow: Vec<bool> = defs.iter().map(|d| d.len() == 1).collect();
        for (b, block) in blocks.iter().enumerate() {
            for (i, inst) in insts(block, body) {
                roles::each_use(inst, &mut |reg| {
                    let (db, di) = at[reg.index()];
                    narrow[reg.index()] &= db == b as u32 && di < i;
                });
            }
            block.term.each_use(&mut |reg| {
                narrow[reg.index()] &= at[reg.index()].0 == b as u32;
            });
        }
        let mut same = vec![false; count];
        let mut changed = true;
        while changed {
            changed = false;
            for block in blocks {
                for (_, inst) in insts(block, body) {
                    let mut ok = inst.guard.is_none() && is_repeatable(inst);
                    roles::each_use(inst, &mut |reg| ok &= same[reg.index()]);
                    if ok {
                        roles::each_def(inst, &mut |reg| {
                            let i = reg.index();
                            if defs[i].len() == 1 && !same[i] {
                                same[i] = true;
                                changed = true;
                            }
                        });
                    }
                }
            }
        }
        let mut elects = vec![None; count];
        for block in blocks {
            for (_, inst) in insts(block, body) {
                if let (Op::Setp, [Operand::Reg(reg), Operand::Reg(own), _]) =
                    (inst.op, &inst.operands[..])
                    && defs[reg.index()].len() == 1
                    && same[own.index()]
                    && inst.guard.is_none()
                {
                    elects[reg.index()] = match inst.quals.as_slice().first() {
                        Some(Qual::Eq) => Some(true),
                        Some(Qual::Ne) => Some(false),
                        _ => None,
                    };
                }
            }
        }
        Places {
            defs,
            elects,
            narrow,
            same,
        }
    }
}

/// Whether it gives the same result for the same operands whenever it runs.
fn is_repeatable(inst: &Inst) -> bool {
    let steady = inst.operands.iter().all(|operand| match operand {
        Operand::Special(special) => !matches!(
            special,
            Special::Clock
                | Special::ClockHi
                | Special::Clock64
                | Special::Globaltimer
                | Special::GlobaltimerLo
                | Special::GlobaltimerHi
        ),
        _ => true,
    });
    let pure = match inst.op {
        Op::Ld | Op::Ldu => matches!(roles::space(inst), Space::Param | Space::Const),
        _ => true,
    };
    steady && pure && roles::outcome(inst, true) == Outcome::Sources
}

/// The immediate post-dominator of each block; `u32::MAX` is the exit. Lanes that leave early are waited for nowhere, so a
/// conditional exit only goes on.
fn post_dominators(blocks: &[Block]) -> Vec<u32> {
    let targets = blocks.iter().map(|block| block.term.targets());
    let edges: Vec<Vec<usize>> = targets
        .map(|all| all.into_iter().map(|to| to as usize).collect())
        .collect();
    let leaves: Vec<bool> = edges.iter().map(Vec::is_empty).collect();
    let post = warpsmith_ptx::cfg::post_dominators(&edges, &leaves);
    post.into_iter()
        .map(|block| block.map_or(u32::MAX, |block| block as u32))
        .collect()
}
