//! Basic blocks of a kernel as the executor needs them: also cut at barriers and before `.sync` ops.

use super::roles::{self, Members};
use crate::error::Error;
use rustc_hash::{FxHashMap, FxHasher};
use std::{
    hash::{Hash, Hasher},
    ops::Range,
};
use warpsmith_ptx::{
    ir::{FuncId, Function, Imm, Inst, LabelId, Operand, RegId, Span, Stmt, StmtKind},
    op::Op,
    qual::Qual,
};

/// A straight run of statements and its end.
#[derive(Debug)]
pub(crate) struct Block {
    /// Statements; labels and directives among them are skipped.
    pub(crate) stmts: Range<usize>,
    /// Where it goes.
    pub(crate) term: Term,
    /// Where the terminator stands.
    pub(crate) span: Span,
}

/// What lanes wait for each other for: those of one class may meet though they wait at several places.
pub(crate) mod class {
    /// An instruction of the whole warp.
    pub(crate) const WHOLE: u32 = 0;
    /// `bar.warp.sync`, which orders what lanes did with what they do.
    pub(crate) const WARP: u32 = 1;
    /// A barrier, to which lanes come together if they can.
    pub(crate) const BARRIER: u32 = 2;
    /// From here on exchanges, by their instruction.
    pub(crate) const EXCHANGE: u32 = 3;
}

/// The end of a block. Targets are indices into the blocks.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Jump(u32),
    /// To `then` where `pred ^ negated`.
    Branch {
        pred: RegId,
        negated: u32,
        then: u32,
        other: u32,
    },
    /// `brx.idx`.
    Switch {
        index: Operand,
        targets: Vec<u32>,
    },
    Exit,
    ExitIf {
        pred: RegId,
        negated: u32,
        next: u32,
    },
    Trap {
        guard: Option<(RegId, u32)>,
        /// The function for which the stack has no room, where it is that.
        function: Option<FuncId>,
        next: u32,
    },
    /// The next block runs once its members are together.
    Gate {
        members: Option<Operand>,
        class: u32,
        next: u32,
    },
    Barrier(Box<BarrierTerm>),
    Call(Box<CallTerm>),
    /// From a function to behind one of its calls.
    Return {
        targets: Vec<u32>,
    },
}

/// A call inside of a unit (`unit/mod.rs`).
#[derive(Clone, Debug)]
pub(crate) struct CallTerm {
    /// What holds the address of the function, if it is not known.
    pub(crate) pointer: Option<Operand>,
    /// Registers that have their values again behind the call.
    pub(crate) saves: Vec<RegId>,
    /// Addresses and first blocks of the functions it may go to.
    pub(crate) targets: Vec<(u64, u32)>,
    pub(crate) next: u32,
}

/// `bar.sync`, `bar.arrive` and `bar.red`.
#[derive(Clone, Debug)]
pub(crate) struct BarrierTerm {
    pub(crate) id: Operand,
    pub(crate) count: Option<Operand>,
    /// Kind, destination and predicate.
    pub(crate) reduce: Option<(BarRed, Operand, Operand)>,
    pub(crate) arrive: bool,
    /// It is the barrier of the cluster, and whether what came before is known to those who wait.
    pub(crate) cluster: Option<bool>,
    /// All lanes of a warp must come together.
    pub(crate) aligned: bool,
    pub(crate) guard: Option<(RegId, u32)>,
    pub(crate) next: u32,
}

/// The operation of `bar.red`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BarRed {
    Popc,
    And,
    Or,
}

impl Term {
    /// Calls `f` with each target.
    pub(crate) fn each_target(&mut self, f: &mut impl FnMut(&mut u32)) {
        match self {
            Term::Jump(next)
            | Term::ExitIf { next, .. }
            | Term::Trap { next, .. }
            | Term::Gate { next, .. } => f(next),
            Term::Branch { then, other, .. } => {
                f(then);
                f(other);
            }
            Term::Switch { targets, .. } => targets.iter_mut().for_each(f),
            Term::Barrier(barrier) => f(&mut barrier.next),
            Term::Call(call) => {
                call.targets.iter_mut().for_each(|(_, block)| f(block));
                f(&mut call.next);
            }
            Term::Return { targets } => targets.iter_mut().for_each(f),
            Term::Exit => {}
        }
    }

    /// Its targets.
    pub(crate) fn targets(&self) -> Vec<u32> {
        let mut all = Vec::new();
        self.clone().each_target(&mut |target| all.push(*target));
        all
    }

    /// Calls `f` with each register it reads.
    pub(crate) fn each_use(&self, f: &mut impl FnMut(RegId)) {
        match self {
            Term::Jump(_) | Term::Exit | Term::Return { .. } => {}
            Term::Call(call) => {
                if let Some(pointer) = &call.pointer {
                    roles::each_reg(pointer, f);
                }
                call.saves.iter().for_each(|reg| f(*reg));
            }
            Term::Branch { pred, .. } | Term::ExitIf { pred, .. } => f(*pred),
            Term::Switch { index, .. } => roles::each_reg(index, f),
            Term::Trap { guard, .. } => {
                if let Some((pred, _)) = guard {
                    f(*pred);
                }
            }
            Term::Gate { members, .. } => {
                if let Some(members) = members {
                    roles::each_reg(members, f);
                }
            }
            Term::Barrier(barrier) => {
                roles::each_reg(&barrier.id, f);
                if let Some(count) = &barrier.count {
                    roles::each_reg(count, f);
                }
                if let Some((_, _, pred)) = &barrier.reduce {
                    roles::each_reg(pred, f);
                }
                if let Some((pred, _)) = barrier.guard {
                    f(pred);
                }
            }
        }
    }

    /// Calls `f` with each register it defines.
    pub(crate) fn each_def(&self, f: &mut impl FnMut(RegId)) {
        if let Term::Barrier(barrier) = self
            && let Some((_, dst, _)) = &barrier.reduce
        {
            roles::each_reg(dst, f);
        }
    }
}

/// The blocks of a kernel in reverse postorder, of two successors the one earlier in the text first. Where lanes come
/// `apart`, accesses begin blocks, too.
pub(crate) fn blocks(function: &Function, body: &[Stmt], apart: bool) -> Result<Vec<Block>, Error> {
    let mut starts = vec![false; body.len() + 1];
    starts[0] = true;
    // Where lanes wait for each other before a statement.
    let mut gates = vec![false; body.len() + 1];
    let mut labels = vec![None; function.labels.len()];
    // Whether the live lanes were brought together in this straight run: no need for another gate then.
    let mut together = false;
    for (i, stmt) in body.iter().enumerate() {
        match &stmt.kind {
            StmtKind::Label(label) => {
                together = false;
                starts[i] = true;
                if let Some(slot) = labels.get_mut(label.index()) {
                    *slot = Some(i);
                }
            }
            StmtKind::Inst(inst) => {
                if ends_block(inst) {
                    gates[i] |= apart && is_aligned(inst);
                    together = false;
                    starts[i + 1] = true;
                } else if let Some(members) = roles::is_sync(inst) {
                    gates[i] |= !together;
                    together |= members.are_all();
                } else if apart && roles::is_shared_access(inst) {
                    together = false;
                    starts[i] = true;
                }
            }
            StmtKind::Loc { .. }
            | StmtKind::BranchTargets { .. }
            | StmtKind::CallPrototype { .. }
            | StmtKind::CallTargets { .. }
            | StmtKind::Pragma(_) => {}
        }
    }
    let mut block_of = vec![0u32; body.len() + 1];
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for i in 0..body.len() {
        if starts[i] {
            ranges.push(i..i);
        }
        block_of[i] = ranges.len() as u32 - 1;
        // A gate ends a block, which may have nothing else.
        if gates[i] {
            ranges.push(i..i);
        }
        if let Some(last) = ranges.last_mut() {
            last.end = i + 1;
        }
    }
    let end = ranges.len() as u32;
    block_of[body.len()] = end;
    ranges.push(body.len()..body.len());

    let find = Labels {
        function,
        body,
        at: &labels,
        block_of: &block_of,
        behind: &behind_calls(body, &block_of),
        gates: &gates,
    };
    let mut all = Vec::with_capacity(ranges.len());
    for (i, range) in ranges.into_iter().enumerate() {
        let next = (i as u32 + 1).min(end);
        all.push(find.block(range, next, i as u32 == end)?);
    }
    fold_exits(&mut all, body);
    Ok(reorder(all))
}

/// Whether it is a barrier to which lanes of a warp must come together.
fn is_aligned(inst: &Inst) -> bool {
    match inst.op {
        Op::Bar => !inst.quals.has(Qual::Warp),
        Op::Barrier => inst.quals.has(Qual::Aligned),
        _ => false,
    }
}

fn ends_block(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Bra | Op::Brx | Op::Exit | Op::Ret | Op::Trap | Op::Bar | Op::Barrier
    ) || is_call(inst)
}

/// Whether it is a call as units have them.
fn is_call(inst: &Inst) -> bool {
    inst.op == Op::Call && matches!(inst.operands.get(1), Some(Operand::List(_)))
}

/// The blocks behind the calls of each function, by its first label.
fn behind_calls(body: &[Stmt], block_of: &[u32]) -> FxHashMap<LabelId, Vec<u32>> {
    let mut all: FxHashMap<LabelId, Vec<u32>> = FxHashMap::default();
    for (at, stmt) in body.iter().enumerate() {
        if let StmtKind::Inst(inst) = &stmt.kind
            && is_call(inst)
        {
            for operand in &inst.operands {
                if let Operand::Label(entry) = operand {
                    all.entry(*entry).or_default().push(block_of[at + 1]);
                }
            }
        }
    }
    all
}

struct Labels<'a> {
    function: &'a Function,
    body: &'a [Stmt],
    at: &'a [Option<usize>],
    block_of: &'a [u32],
    behind: &'a FxHashMap<LabelId, Vec<u32>>,
    gates: &'a [bool],
}

/// The class of an exchange: the instruction with its qualifiers.
fn exchange(inst: &Inst) -> u32 {
    let mut hasher = FxHasher::default();
    (inst.op.name(), inst.quals.to_string()).hash(&mut hasher);
    class::EXCHANGE + (hasher.finish() as u32 >> 1)
}

impl Labels<'_> {
    fn target(&self, operand: Option<&Operand>) -> Option<u32> {
        match operand {
            Some(Operand::Label(label)) => {
                let at = (*self.at.get(label.index())?)?;
                Some(self.block_of[at])
            }
            _ => None,
        }
    }

    fn block(&self, mut stmts: Range<usize>, next: u32, is_end: bool) -> Result<Block, Error> {
        if is_end {
            return Ok(Block {
                stmts,
                term: Term::Exit,
                span: self.function.span,
            });
        }
        let last = stmts.clone().next_back().map(|last| &self.body[last]);
        if let Some(last) = last
            && let StmtKind::Inst(inst) = &last.kind
            && ends_block(inst)
        {
            stmts.end -= 1;
            let span = last.span;
            let term = self.term(inst, next).ok_or_else(|| Error::Unsupported {
                kernel: self.function.name.clone(),
                span,
                what: format!("{}{}", inst.op.name(), inst.quals),
            })?;
            return Ok(Block { stmts, term, span });
        }
        let follows = self.body.get(stmts.end);
        let span = follows.or(last).map_or(self.function.span, |s| s.span);
        let gate = |inst: &Inst| {
            if ends_block(inst) {
                let apart = self.gates[stmts.end] && is_aligned(inst);
                return apart.then_some((None, class::BARRIER));
            }
            roles::is_sync(inst).map(|members| match members {
                Members::Mask(mask) => (Some(mask), exchange(inst)),
                Members::All => (None, class::WHOLE),
            })
        };
        let gate = match follows.map(|stmt| &stmt.kind) {
            Some(StmtKind::Inst(inst)) if self.gates[stmts.end] => gate(inst),
            _ => None,
        };
        let term = match gate {
            Some((members, class)) => Term::Gate {
                members,
                class,
                next,
            },
            None => Term::Jump(next),
        };
        Ok(Block { stmts, term, span })
    }

    fn term(&self, inst: &Inst, next: u32) -> Option<Term> {
        let guard = inst.guard.map(|g| (g.reg, if g.negated { !0 } else { 0 }));
        Some(match inst.op {
            Op::Bra => {
                let then = self.target(inst.operands.first())?;
                match guard {
                    Some((pred, negated)) => Term::Branch {
                        pred,
                        negated,
                        then,
                        other: next,
                    },
                    None => Term::Jump(then),
                }
            }
            Op::Brx if guard.is_none() => {
                let Some(Operand::Label(list)) = inst.operands.get(1) else {
                    return None;
                };
                let targets = self.body.iter().find_map(|stmt| match &stmt.kind {
                    StmtKind::BranchTargets { name, targets } if name == list => Some(targets),
                    _ => None,
                })?;
                let targets = targets
                    .iter()
                    .map(|label| self.target(Some(&Operand::Label(*label))))
                    .collect::<Option<Vec<u32>>>()?;
                Term::Switch {
                    index: inst.operands.first()?.clone(),
                    targets,
                }
            }
            Op::Call => Term::Call(Box::new(self.call(inst, next)?)),
            Op::Ret if !inst.operands.is_empty() => Term::Return {
                targets: match inst.operands.first()? {
                    Operand::Label(entry) => self.behind.get(entry).cloned().unwrap_or_default(),
                    _ => return None,
                },
            },
            Op::Exit | Op::Ret => match guard {
                Some((pred, negated)) => Term::ExitIf {
                    pred,
                    negated,
                    next,
                },
                None => Term::Exit,
            },
            Op::Trap => Term::Trap {
                guard,
                function: match inst.operands.first() {
                    Some(Operand::Func(function)) => Some(*function),
                    _ => None,
                },
                next,
            },
            Op::Bar if inst.quals.has(Qual::Warp) => Term::Gate {
                members: inst.operands.first().cloned(),
                class: class::WARP,
                next,
            },
            Op::Bar | Op::Barrier => self.barrier(inst, guard, next)?,
            _ => return None,
        })
    }

    fn call(&self, inst: &Inst, next: u32) -> Option<CallTerm> {
        let [callee, Operand::List(saves), targets @ ..] = &inst.operands[..] else {
            return None;
        };
        let mut pairs = Vec::new();
        for pair in targets.chunks_exact(2) {
            let Operand::Imm(Imm::Int(address)) = pair[0] else {
                return None;
            };
            pairs.push((address as u64, self.target(pair.get(1))?));
        }
        let mut all = Vec::with_capacity(saves.len());
        for save in saves {
            roles::each_reg(save, &mut |reg| all.push(reg));
        }
        Some(CallTerm {
            pointer: (*callee != Operand::Sink).then(|| callee.clone()),
            saves: all,
            targets: pairs,
            next,
        })
    }

    fn barrier(&self, inst: &Inst, guard: Option<(RegId, u32)>, next: u32) -> Option<Term> {
        let has = |word| inst.quals.has(word);
        if has(Qual::Cluster) {
            return Some(Term::Barrier(Box::new(BarrierTerm {
                id: Operand::Imm(Imm::Int(0)),
                count: None,
                reduce: None,
                arrive: has(Qual::Arrive),
                cluster: Some(!has(Qual::Relaxed)),
                aligned: has(Qual::Aligned),
                guard,
                next,
            })));
        }
        let mut operands = inst.operands.iter().cloned();
        let reduce = if has(Qual::Red) {
            let what = if has(Qual::Popc) {
                BarRed::Popc
            } else if has(Qual::And) {
                BarRed::And
            } else {
                BarRed::Or
            };
            let dst = operands.next()?;
            let pred = operands.next_back()?;
            Some((what, dst, pred))
        } else {
            None
        };
        Some(Term::Barrier(Box::new(BarrierTerm {
            id: operands.next()?,
            count: operands.next(),
            reduce,
            arrive: has(Qual::Arrive),
            cluster: None,
            aligned: inst.op == Op::Bar || has(Qual::Aligned),
            guard,
            next,
        })))
    }
}

/// Turns branches to a block that only exits into conditional exits.
fn fold_exits(all: &mut [Block], body: &[Stmt]) {
    let exits: Vec<bool> = all
        .iter()
        .map(|block| {
            let mut stmts = body[block.stmts.clone()].iter();
            matches!(block.term, Term::Exit)
                && !stmts.any(|stmt| matches!(stmt.kind, StmtKind::Inst(_)))
        })
        .collect();
    for (at, block) in all.iter_mut().enumerate() {
        // A loop keeps its way out: where its lanes come together is behind it.
        let ahead = |next: u32| next as usize > at;
        match block.term {
            Term::Jump(to) if exits[to as usize] => block.term = Term::Exit,
            Term::Branch {
                pred,
                negated,
                then,
                other,
            } if exits[then as usize] && ahead(other) => {
                block.term = Term::ExitIf {
                    pred,
                    negated,
                    next: other,
                };
            }
            Term::Branch {
                pred,
                negated,
                then,
                other,
            } if exits[other as usize] && ahead(then) => {
                block.term = Term::ExitIf {
                    pred,
                    negated: !negated,
                    next: then,
                };
            }
            _ => {}
        }
    }
}

fn reorder(all: Vec<Block>) -> Vec<Block> {
    let mut order = Vec::with_capacity(all.len());
    let mut seen = vec![false; all.len()];
    let mut stack = vec![(0u32, successors(&all[0]))];
    seen[0] = true;
    while let Some((block, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(next) => {
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push((next, successors(&all[next as usize])));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    let mut place = vec![0u32; all.len()];
    for (new, old) in order.iter().enumerate() {
        place[*old as usize] = new as u32;
    }
    let mut all: Vec<Option<Block>> = all.into_iter().map(Some).collect();
    order
        .iter()
        .filter_map(|old| all[*old as usize].take())
        .map(|mut block| {
            block.term.each_target(&mut |to| *to = place[*to as usize]);
            block
        })
        .collect()
}

/// Ascending in the text: the walk pops the latest first, which puts it last.
fn successors(block: &Block) -> Vec<u32> {
    let mut targets = block.term.targets();
    targets.sort_unstable();
    targets.dedup();
    targets
}
