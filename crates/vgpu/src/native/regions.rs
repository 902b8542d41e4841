//! Branches that part lanes for a few instructions: the blocks up to where all are together again are run one behind the
//! other in one run, each for the lanes that come to it, which may be none.
//!
//! That is the order in which the interpreter runs them: the lowest block where lanes wait comes next. What is left in
//! between tells the interpreter who waits where (`exec/flow/parted.rs`).

use super::{
    Source,
    nodes::Code,
    values::{Coder, Skip},
};
use crate::{lower::Term, op::WAYS};
use regalloc2::VReg;
use std::collections::BTreeMap;
use warpsmith_ptx::ir::RegId;
use warpsmith_x86::{Alu, Cond, MaskAlu};

/// The most instructions that are run though there may be no lane for them.
const LONGEST: usize = 40;

/// The blocks between a branch and where its lanes meet.
pub(super) struct Region {
    blocks: Vec<u32>,
    /// Where they meet, and how many ways of theirs go there.
    pub(super) join: u32,
    pub(super) edges: u32,
}

/// A branch: to `then` where the predicate, negated or not, holds.
#[derive(Clone, Copy)]
pub(super) struct Branch {
    pub(super) pred: RegId,
    pub(super) negated: u32,
    pub(super) then: u32,
    pub(super) other: u32,
}

/// Where lanes are while a block of a region is run.
pub(super) struct Waits {
    /// The block with the branch.
    pub(super) from: usize,
    /// Who is in the block.
    pub(super) here: VReg,
    /// Blocks that come later, and who waits there.
    pub(super) lanes: Vec<(u32, VReg)>,
}

impl Source<'_> {
    /// The blocks between the branch that ends `from` and where its lanes meet, if they are few, and all compiled.
    pub(super) fn region(&self, from: usize, branch: Branch) -> Option<Region> {
        if self.plain.contains(&from) {
            return None;
        }
        let mut pending = BTreeMap::new();
        for to in [branch.then, branch.other] {
            *pending.entry(to).or_insert(0) += 1;
        }
        let mut region = Region {
            blocks: Vec::new(),
            join: 0,
            edges: 0,
        };
        let mut length = 0;
        // Who goes back meets where a loop begins.
        let mut back: Option<(u32, u32)> = None;
        let mut last = from as u32;
        loop {
            while let Some((&to, &edges)) = pending.first_key_value()
                && to <= last
            {
                pending.remove(&to);
                let (known, count) = back.unwrap_or((to, 0));
                if known != to {
                    return None;
                }
                back = Some((to, count + edges));
            }
            let ends = pending.len() + usize::from(back.is_some());
            if ends == 1 {
                let (join, edges) = back.or_else(|| pending.pop_first())?;
                (region.join, region.edges) = (join, edges);
                return (!region.blocks.is_empty()).then_some(region);
            }
            let (block, edges) = pending.pop_first()?;
            let own = &self.kinds[block as usize];
            length += own.len() + 1;
            let fits = self.sources[block as usize] == edges
                && !self.convergent[block as usize]
                && length <= LONGEST
                && ends <= WAYS
                && own
                    .iter()
                    .all(|kind| kind.is_some_and(|kind| !kind.is_exchange()));
            if !fits {
                return None;
            }
            match self.blocks[block as usize].term {
                Term::Jump(to) => *pending.entry(to).or_insert(0) += 1,
                Term::Branch { then, other, .. } => {
                    for to in [then, other] {
                        *pending.entry(to).or_insert(0) += 1;
                    }
                }
                _ => return None,
            }
            region.blocks.push(block);
            last = block;
        }
    }

    /// Emits a region; its blocks are put into `own`. Returns how many instructions and jumps it has.
    pub(super) fn part(
        &self,
        coder: &mut Coder<'_, '_>,
        region: &Region,
        branch: Branch,
        own: &mut Vec<usize>,
    ) -> Result<usize, Skip> {
        let from = coder.block;
        let mut pending: BTreeMap<u32, VReg> = BTreeMap::new();
        let sides = coder.sides(None, branch.pred, branch.negated)?;
        for (to, lanes) in [branch.then, branch.other].into_iter().zip(sides) {
            coder.come(&mut pending, to, lanes);
        }
        let mut length = 0;
        for &block in &region.blocks {
            let lanes = pending.remove(&block).ok_or(Skip)?;
            coder.active = Some(lanes);
            coder.waits = Some(Waits {
                from,
                here: lanes,
                lanes: pending.iter().map(|(to, lanes)| (*to, *lanes)).collect(),
            });
            coder.block = block as usize;
            for at in 0..self.pieces[block as usize].len() {
                if !self.instruction(coder, at)? {
                    return Err(Skip);
                }
            }
            coder.at = self.pieces[block as usize].len();
            coder.op = self.ends[block as usize];
            length += coder.at + 1;
            own.push(block as usize);
            match self.blocks[block as usize].term {
                Term::Jump(to) => coder.come(&mut pending, to, lanes),
                Term::Branch {
                    pred,
                    negated,
                    then,
                    other,
                } => {
                    let sides = coder.sides(Some(lanes), pred, negated)?;
                    for (to, lanes) in [then, other].into_iter().zip(sides) {
                        coder.come(&mut pending, to, lanes);
                    }
                }
                _ => return Err(Skip),
            }
        }
        coder.active = None;
        coder.waits = None;
        Ok(length)
    }
}

impl Coder<'_, '_> {
    /// Who goes which way at a branch, of the lanes that come to it.
    fn sides(&mut self, lanes: Option<VReg>, pred: RegId, negated: u32) -> Result<[VReg; 2], Skip> {
        let pred = self.read_reg(pred);
        let yes = self.mask(pred, negated != 0)?;
        let Some(lanes) = lanes else {
            let no = self.nodes.mask(Code::MaskNot, &[yes]);
            return Ok([yes, no]);
        };
        let mut both = |op, a| self.nodes.mask(Code::MaskAlu(op), &[a, lanes]);
        Ok([both(MaskAlu::And, yes), both(MaskAlu::AndNot, yes)])
    }

    /// Lanes come to a block where others may wait.
    fn come(&mut self, pending: &mut BTreeMap<u32, VReg>, to: u32, lanes: VReg) {
        let all = match pending.get(&to) {
            Some(before) => {
                let or = Code::MaskAlu(MaskAlu::Or);
                self.nodes.mask(or, &[*before, lanes])
            }
            None => lanes,
        };
        pending.insert(to, all);
    }

    /// Whether a register is read by lanes that wait elsewhere.
    pub(super) fn is_read_elsewhere(&self, reg: RegId) -> bool {
        let (word, bit) = (reg.index() / 64, reg.index() % 64);
        let waits = self.waits.iter().flat_map(|waits| &waits.lanes);
        waits
            .map(|(block, _)| &self.live[*block as usize][0])
            .any(|live| live[word] >> bit & 1 != 0)
    }

    /// A mask of lane 0 if any lane of `lanes` is there.
    pub(super) fn one_if_any(&mut self, lanes: VReg) -> VReg {
        let bits = self.nodes.scalar(Code::MaskTo, &[lanes]);
        self.nodes.effect(Code::CompareImm(false, 0), &[bits]);
        let all = self.nodes.scalar(Code::SetAll(Cond::NotEqual), &[]);
        let one = self
            .nodes
            .change(Code::AluImm(Alu::And, false, 1), all, &[]);
        self.nodes.mask(Code::MaskFrom, &[one])
    }
}
