//! The control flow graph of a function: blocks, dominators, post-dominators, loops.

use crate::{
    ir::{Function, Inst, LabelId, Operand, StmtKind},
    op::Op,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

/// A run of statements with one way in and, at its end, the ways out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Indices into the body.
    pub stmts: Range<usize>,
    /// Where control may go, each once: the branch's target first, then falling through.
    pub successors: SmallVec<[usize; 2]>,
    /// Where control may come from, each once.
    pub predecessors: SmallVec<[usize; 4]>,
    /// Whether control may leave the function at its end.
    pub leaves: bool,
    /// Whether that is by running past the last statement, which PTX forbids in a kernel.
    pub runs_off: bool,
}

/// A natural loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that dominates the others.
    pub header: usize,
    /// Its blocks, the header first, in order.
    pub blocks: Vec<usize>,
    /// The blocks that jump back to the header.
    pub latches: Vec<usize>,
    /// The innermost loop around it, by index.
    pub parent: Option<usize>,
}

/// The control flow graph. Blocks are in reverse postorder: each follows its predecessors, but for
/// edges back to the head of a loop, and the blocks of a natural loop stand together. Block 0 is
/// the entry. Statements that cannot be reached are in no block.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// The blocks.
    pub blocks: Vec<Block>,
    dominators: Vec<usize>,
    loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
}

impl Cfg {
    /// Of a function; empty for a declaration.
    pub fn new(function: &Function) -> Cfg {
        let raw = raw_blocks(function);
        if raw.is_empty() {
            return Cfg::default();
        }
        // A first order to find dominators and loops in, then one that keeps loops together.
        let first = reorder(raw, postorder);
        let mut cfg = Cfg::analysed(first);
        let order = cfg.contiguous();
        if order.iter().enumerate().any(|(at, block)| at != *block) {
            let blocks = std::mem::take(&mut cfg.blocks);
            cfg = Cfg::analysed(reorder(blocks, |_| order));
        }
        cfg
    }

    fn analysed(blocks: Vec<Block>) -> Cfg {
        let dominators = idoms(blocks.len(), |at| blocks[at].predecessors.iter().copied());
        let mut cfg = Cfg {
            innermost: vec![None; blocks.len()],
            blocks,
            dominators,
            loops: Vec::new(),
        };
        cfg.find_loops();
        cfg
    }

    /// The block that a statement is in; `None` if it cannot be reached.
    pub fn block_of(&self, stmt: usize) -> Option<usize> {
        // Blocks are not sorted by statement, but there are few of them.
        self.blocks
            .iter()
            .position(|block| block.stmts.contains(&stmt))
    }

    /// The immediate dominator of each block; the entry is its own.
    pub fn dominators(&self) -> &[usize] {
        &self.dominators
    }

    /// Whether every path to `below` passes `above`.
    pub fn dominates(&self, above: usize, below: usize) -> bool {
        let mut at = below;
        while at > above {
            at = self.dominators[at];
        }
        at == above
    }

    /// The immediate post-dominator of each block; `None` is the end of the function. A loop that
    /// never ends counts as leaving at its last block.
    pub fn post_dominators(&self) -> Vec<Option<usize>> {
        let edges: Vec<&[usize]> = self
            .blocks
            .iter()
            .map(|block| &block.successors[..])
            .collect();
        let leaves: Vec<bool> = self.blocks.iter().map(|block| block.leaves).collect();
        post_dominators(&edges, &leaves)
    }

    /// The natural loops, outer ones first.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The innermost loop of each block.
    pub fn loop_of(&self, block: usize) -> Option<usize> {
        self.innermost[block]
    }

    fn find_loops(&mut self) {
        // Headers in order: an outer loop's header comes before an inner one's.
        for header in 0..self.blocks.len() {
            let latches: Vec<usize> = self.blocks[header]
                .predecessors
                .iter()
                .copied()
                .filter(|latch| *latch >= header && self.dominates(header, *latch))
                .collect();
            if latches.is_empty() {
                continue;
            }
            let mut inside = vec![false; self.blocks.len()];
            inside[header] = true;
            let mut work = latches.clone();
            while let Some(block) = work.pop() {
                if !std::mem::replace(&mut inside[block], true) {
                    work.extend(self.blocks[block].predecessors.iter().copied());
                }
            }
            let parent = self.innermost[header];
            let this = self.loops.len();
            let blocks: Vec<usize> = (header..self.blocks.len())
                .filter(|at| inside[*at])
                .collect();
            for block in &blocks {
                self.innermost[*block] = Some(this);
            }
            self.loops.push(Loop {
                header,
                blocks,
                latches,
                parent,
            });
        }
    }

    /// An order of the blocks that keeps the blocks of each natural loop together.
    fn contiguous(&self) -> Vec<usize> {
        let count = self.blocks.len();
        let mut waiting: Vec<usize> = (0..count)
            .map(|at| {
                let preds = self.blocks[at].predecessors.iter();
                preds.filter(|pred| **pred < at).count()
            })
            .collect();
        // Ready blocks by the loop they are emitted in: a header in the loop around its own.
        let outside = self.loops.len();
        let mut ready: Vec<BinaryHeap<Reverse<usize>>> = vec![BinaryHeap::new(); outside + 1];
        let headed: FxHashMap<usize, usize> = self
            .loops
            .iter()
            .enumerate()
            .map(|(at, one)| (one.header, at))
            .collect();
        let home = |block: usize| match headed.get(&block) {
            Some(own) => self.loops[*own].parent.unwrap_or(outside),
            None => self.innermost[block].unwrap_or(outside),
        };
        let mut order = Vec::with_capacity(count);
        ready[home(0)].push(Reverse(0));
        let mut current = outside;
        loop {
            let Some(Reverse(block)) = ready[current].pop() else {
                if current == outside {
                    break;
                }
                current = self.loops[current].parent.unwrap_or(outside);
                continue;
            };
            order.push(block);
            if let Some(own) = headed.get(&block) {
                current = *own;
            }
            for next in self.blocks[block].successors.iter().copied() {
                if next > block {
                    waiting[next] -= 1;
                    if waiting[next] == 0 {
                        ready[home(next)].push(Reverse(next));
                    }
                }
            }
        }
        if order.len() == count {
            order
        } else {
            // An irreducible graph may enter a loop's blocks from outside it: keep the first order.
            (0..count).collect()
        }
    }
}

/// Whether control never passes an instruction, if it is not guarded.
fn ends_block(op: Op) -> bool {
    matches!(op, Op::Bra | Op::Brx | Op::Ret | Op::Exit | Op::Trap)
}

/// The labels that a branch may go to.
pub fn targets<'f>(function: &'f Function, inst: &'f Inst) -> SmallVec<[LabelId; 2]> {
    let label = inst.operands.iter().find_map(|operand| match operand {
        Operand::Label(id) => Some(*id),
        _ => None,
    });
    match (inst.op, label) {
        (Op::Bra, Some(label)) => SmallVec::from_slice(&[label]),
        (Op::Brx, Some(list)) => {
            let body = function.body.as_deref().unwrap_or(&[]);
            body.iter()
                .find_map(|stmt| match &stmt.kind {
                    StmtKind::BranchTargets { name, targets } if *name == list => {
                        Some(SmallVec::from_slice(targets))
                    }
                    _ => None,
                })
                .unwrap_or_default()
        }
        _ => SmallVec::new(),
    }
}

/// Blocks in the order of the text, unreachable ones included.
fn raw_blocks(function: &Function) -> Vec<Block> {
    let body = function.body.as_deref().unwrap_or(&[]);
    let mut starts = vec![0];
    for (at, stmt) in body.iter().enumerate() {
        match &stmt.kind {
            StmtKind::Label(_) => starts.push(at),
            StmtKind::Inst(inst) if ends_block(inst.op) => starts.push(at + 1),
            _ => {}
        }
    }
    starts.dedup();
    starts.retain(|start| *start < body.len());
    let mut placed = FxHashMap::default();
    for (block, start) in starts.iter().enumerate() {
        // Several labels in a row: each starts a block of its own, which falls through.
        if let StmtKind::Label(label) = body[*start].kind {
            placed.entry(label).or_insert(block);
        }
    }
    let mut blocks: Vec<Block> = starts
        .iter()
        .enumerate()
        .map(|(at, start)| {
            let end = starts.get(at + 1).copied().unwrap_or(body.len());
            let mut block = Block {
                stmts: *start..end,
                successors: SmallVec::new(),
                predecessors: SmallVec::new(),
                leaves: false,
                runs_off: false,
            };
            let last = match &body[end - 1].kind {
                StmtKind::Inst(inst) if ends_block(inst.op) => Some(inst),
                _ => None,
            };
            if let Some(inst) = last {
                for label in targets(function, inst) {
                    if let Some(target) = placed.get(&label)
                        && !block.successors.contains(target)
                    {
                        block.successors.push(*target);
                    }
                }
                block.leaves = matches!(inst.op, Op::Ret | Op::Exit | Op::Trap);
            }
            if last.is_none_or(|inst| inst.guard.is_some()) {
                if at + 1 == starts.len() {
                    block.leaves = true;
                    block.runs_off = true;
                } else if !block.successors.contains(&(at + 1)) {
                    block.successors.push(at + 1);
                }
            }
            block
        })
        .collect();
    link(&mut blocks);
    blocks
}

/// Fills the predecessors in.
fn link(blocks: &mut [Block]) {
    for block in blocks.iter_mut() {
        block.predecessors.clear();
    }
    for at in 0..blocks.len() {
        for next in blocks[at].successors.clone() {
            blocks[next].predecessors.push(at);
        }
    }
}

/// Puts blocks in an order, dropping those not in it.
fn reorder(blocks: Vec<Block>, order: impl FnOnce(&[Block]) -> Vec<usize>) -> Vec<Block> {
    let order = order(&blocks);
    let mut place = vec![usize::MAX; blocks.len()];
    for (new, old) in order.iter().enumerate() {
        place[*old] = new;
    }
    let mut out: Vec<Block> = order
        .iter()
        .map(|old| {
            let mut block = blocks[*old].clone();
            for next in &mut block.successors {
                *next = place[*next];
            }
            block
        })
        .collect();
    link(&mut out);
    out
}

/// The reachable blocks in reverse postorder.
fn postorder(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        match blocks[*block].successors.get(*next).copied() {
            Some(successor) => {
                *next += 1;
                if !std::mem::replace(&mut seen[successor], true) {
                    stack.push((successor, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Immediate dominators of nodes that are numbered in reverse postorder from node 0.
fn idoms<I: Iterator<Item = usize>>(count: usize, preds: impl Fn(usize) -> I) -> Vec<usize> {
    let mut idom = vec![usize::MAX; count];
    idom[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for at in 1..count {
            let mut best = usize::MAX;
            for pred in preds(at).filter(|pred| idom[*pred] != usize::MAX) {
                if best == usize::MAX {
                    best = pred;
                    continue;
                }
                let mut other = pred;
                while best != other {
                    if best > other {
                        best = idom[best];
                    } else {
                        other = idom[other];
                    }
                }
            }
            if idom[at] != best {
                idom[at] = best;
                changed = true;
            }
        }
    }
    idom
}

/// The immediate post-dominator of each node of a graph, given where each may go and which of them leave it; `None` is
/// the end. A loop that never ends counts as leaving at its last node.
pub fn post_dominators(edges: &[impl AsRef<[usize]>], leaves: &[bool]) -> Vec<Option<usize>> {
    let count = edges.len();
    let end = count;
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    for (at, nexts) in edges.iter().enumerate() {
        for next in nexts.as_ref() {
            back[*next].push(at);
        }
        if leaves[at] {
            back[end].push(at);
        }
    }
    let reached = |back: &[Vec<usize>], seen: &mut Vec<bool>, from: usize| {
        let mut work = vec![from];
        seen[from] = true;
        while let Some(at) = work.pop() {
            for next in &back[at] {
                if !std::mem::replace(&mut seen[*next], true) {
                    work.push(*next);
                }
            }
        }
    };
    let mut seen = vec![false; count + 1];
    reached(&back, &mut seen, end);
    for at in (0..count).rev() {
        if !seen[at] {
            back[end].push(at);
            reached(&back, &mut seen, at);
        }
    }
    // Number the reversed graph in its own reverse postorder.
    let mut order = Vec::with_capacity(count + 1);
    let mut visited = vec![false; count + 1];
    let mut stack = vec![(end, 0)];
    visited[end] = true;
    while let Some((node, next)) = stack.last_mut() {
        match back[*node].get(*next).copied() {
            Some(pred) => {
                *next += 1;
                if !std::mem::replace(&mut visited[pred], true) {
                    stack.push((pred, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    let mut place = vec![0; count + 1];
    for (new, old) in order.iter().enumerate() {
        place[*old] = new;
    }
    let mut preds: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    for (node, froms) in back.iter().enumerate() {
        for from in froms {
            preds[place[*from]].push(place[node]);
        }
    }
    let idom = idoms(count + 1, |at| preds[at].iter().copied());
    (0..count)
        .map(|at| Some(order[idom[place[at]]]).filter(|node| *node != end))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{FunctionKind, Guard, Linkage, Origin, RegId, Span, Stmt};

    /// `"a: b? c"`-like text: `L` places a label, `>L` jumps, `?L` jumps under a guard, `.` is an
    /// instruction, `ret` leaves.
    pub(crate) fn function(text: &str) -> Function {
        let mut labels: Vec<crate::ir::Name> = Vec::new();
        let mut label = |name: &str| {
            let at = labels.iter().position(|known| known == name);
            let at = at.unwrap_or_else(|| {
                labels.push(name.to_owned().into());
                labels.len() - 1
            });
            LabelId(at as u32)
        };
        let body = text
            .split_whitespace()
            .map(|word| {
                let jump = |target, guard| {
                    let mut inst = Inst::new(Op::Bra, &[], [Operand::Label(target)]);
                    inst.guard = guard;
                    StmtKind::Inst(inst)
                };
                let guard = Guard {
                    reg: RegId(0),
                    negated: false,
                };
                let kind = match (word, word.split_at(1)) {
                    ("ret", _) => StmtKind::Inst(Inst::new(Op::Ret, &[], [])),
                    (".", _) => StmtKind::Inst(Inst::new(Op::Trap, &[], [])).clone(),
                    (_, (">", to)) => jump(label(to), None),
                    (_, ("?", to)) => jump(label(to), Some(guard)),
                    (name, _) => StmtKind::Label(label(name)),
                };
                Stmt {
                    kind,
                    span: Span::None,
                }
            })
            .collect();
        Function {
            name: "f".into(),
            kind: FunctionKind::Entry,
            linkage: Linkage::Visible,
            origin: Origin::Text,
            returns: Vec::new(),
            params: Vec::new(),
            directives: Vec::new(),
            regs: Vec::new(),
            vars: Vec::new(),
            labels,
            body: Some(body),
            span: Span::None,
        }
    }

    #[test]
    fn diamond() {
        let cfg = Cfg::new(&function("?else >end else end ret"));
        let shape: Vec<Vec<usize>> = cfg.blocks.iter().map(|b| b.successors.to_vec()).collect();
        assert_eq!(cfg.blocks.len(), 4, "{shape:?}");
        assert_eq!(cfg.dominators(), [0, 0, 0, 0]);
        assert_eq!(cfg.post_dominators()[0], Some(3));
        assert_eq!(cfg.post_dominators()[3], None);
    }

    #[test]
    fn the_exit_of_a_loop_does_not_split_it() {
        // The body leaves in its second half; a plain postorder would put `out` before `latch`.
        let cfg = Cfg::new(&function(
            "head ?b a >latch b ?out >latch latch >head out ret",
        ));
        let one = &cfg.loops()[0];
        let range: Vec<usize> = (one.header..one.header + one.blocks.len()).collect();
        assert_eq!(one.blocks, range);
        assert_eq!(cfg.loops().len(), 1);
        for (at, block) in cfg.blocks.iter().enumerate() {
            for next in &block.successors {
                assert!(*next > at || *next == one.header);
            }
        }
    }

    #[test]
    fn nested_loops_have_parents() {
        let cfg = Cfg::new(&function("outer inner ?inner ?outer ret"));
        assert_eq!(cfg.loops().len(), 2);
        assert_eq!(cfg.loops()[1].parent, Some(0));
        assert_eq!(cfg.loop_of(cfg.loops()[1].header), Some(1));
    }

    #[test]
    fn endless_and_unreachable_code_have_no_surprises() {
        let cfg = Cfg::new(&function("spin >spin dead ret"));
        assert_eq!(cfg.blocks.len(), 1);
        assert_eq!(cfg.post_dominators(), [None]);
        assert_eq!(cfg.block_of(2), None);
        assert!(Cfg::new(&function("")).blocks.is_empty());
        let off = Cfg::new(&function("a ?a"));
        assert!(off.blocks[0].runs_off);
    }
}
