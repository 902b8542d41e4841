//! Where runs begin, and how they become code: with all lanes, with those that are here, and where lanes turn out to be at
//! the edge of a row.

use super::{
    FEWEST, Source, chains,
    encode::{Encoder, Shared, Unit},
    entry::{Entry, entry},
    narrow,
    nodes::{MemoryAt, Nodes},
    registers,
    shapes::Lanes,
    target::Target,
    values::{Coder, Skip},
};
use crate::{
    exec::{Ctx, MicroOp},
    lower::{Compiled, Lowerer},
};
use regalloc2::Output;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{collections::BTreeSet, sync::Arc};
use warpsmith_ptx::ir::Inst;
use warpsmith_x86::{Executable, Label};
/// What is known of a kernel's registers: what lanes hold, which are wanted as one value, and which are read later on; the
/// instructions of each block.
pub(super) type Facts<'a> = (
    &'a [Lanes],
    &'a [bool],
    &'a [Vec<Vec<u64>>],
    &'a [Vec<Option<&'a Inst>>],
);

/// A run with its registers.
pub(super) struct RunCode<'a, 'b> {
    pub(super) coder: Coder<'a, 'b>,
    /// What its nodes have become, if its machine has narrow vectors.
    narrow: Option<Nodes>,
    output: Output,
    /// Its first op.
    first: u32,
    /// The block that begins with it.
    block: Option<u32>,
}

impl RunCode<'_, '_> {
    /// Its nodes, as its machine has them.
    fn nodes(&self) -> &Nodes {
        self.narrow.as_ref().unwrap_or(&self.coder.nodes)
    }
}

/// Where runs begin.
pub(super) enum Starts<'a> {
    /// With all lanes: with each block.
    Whole,
    /// With those that are here: with each block but these.
    Masked(&'a [bool]),
    /// With all lanes: with these instructions of blocks.
    Edges(&'a BTreeSet<(usize, usize)>),
}

impl Starts<'_> {
    /// The instructions that are tried first, by block.
    fn places(&self, blocks: usize) -> Vec<(usize, usize)> {
        match self {
            Starts::Whole | Starts::Masked(_) => (0..blocks).map(|block| (block, 0)).collect(),
            Starts::Edges(all) => all.iter().copied().collect(),
        }
    }
}

impl Source<'_> {
    /// All runs that begin somewhere, and those behind what is not compiled.
    pub(super) fn runs<'a, 'b>(
        &mut self,
        l: &'a Lowerer<'b>,
        (shapes, scalars, live, insts): Facts<'a>,
        from: &Starts<'_>,
    ) -> Vec<RunCode<'a, 'b>> {
        let is_whole = matches!(from, Starts::Whole);
        let is_edge = matches!(from, Starts::Edges(_));
        let mut runs = Vec::new();
        // What another run goes on with is none of its own.
        let mut joined = vec![false; self.blocks.len()];
        let mut begun = FxHashSet::default();
        for (block, at) in from.places(self.blocks.len()) {
            let skips = matches!(from, Starts::Masked(joint) if joint[block]);
            if joined[block] || skips {
                continue;
            }
            let mut starts = vec![(block, at)];
            while let Some((block, at)) = starts.pop() {
                if begun.contains(&(block, at)) {
                    continue;
                }
                let mut coder = Coder::new(l, (shapes, scalars), live, insts);
                if matches!(from, Starts::Masked(_)) {
                    let mask = std::mem::offset_of!(Ctx, mask) as u32;
                    coder.active = Some(coder.nodes.load_mask(MemoryAt::Ctx(mask)));
                }
                let mut own = Vec::new();
                let length = match self.follow(&mut coder, (block, at), &mut own) {
                    Ok(length) => {
                        begun.insert((block, at));
                        length
                    }
                    Err(Skip) if coder.waits.is_some() => {
                        self.plain.extend(coder.waits.map(|waits| waits.from));
                        starts.push((block, at));
                        continue;
                    }
                    Err(Skip) => {
                        // What cannot be compiled after all is left to the interpreter, and a shorter run tried.
                        if let Some(kind) = self.kinds[coder.block].get_mut(coder.at)
                            && kind.take().is_some()
                        {
                            starts.push((block, at));
                        }
                        continue;
                    }
                };
                if at == 0 && is_whole {
                    self.go_round(&mut coder, block);
                }
                // Behind what is not compiled there may be another.
                let (last, end) = (coder.block, coder.at);
                let mut rest = end..self.pieces[last].len();
                let next = rest.find(|at| self.kinds[last][*at].is_some() && *at > end);
                starts.extend(next.filter(|_| !is_edge).map(|next| (last, next)));
                if length < FEWEST {
                    continue;
                }
                let narrow = match self.target {
                    Target::Avx512 => {
                        chains::group(&mut coder.nodes);
                        None
                    }
                    Target::Avx2 => match narrow::narrowed(&coder.nodes, &coder.exits) {
                        Ok(mut nodes) => {
                            chains::group(&mut nodes);
                            Some(nodes)
                        }
                        Err(_) => continue,
                    },
                };
                let nodes = narrow.as_ref().unwrap_or(&coder.nodes);
                let Ok(output) = registers::allocate(nodes) else {
                    continue;
                };
                let first = match self.pieces[block].get(at) {
                    Some(piece) if at > 0 => {
                        let inst = self.body[piece.stmt as usize].inst();
                        piece.first - u32::from(inst.is_some_and(|inst| inst.guard.is_some()))
                    }
                    _ => self.firsts[block],
                };
                for next in own.into_iter().filter(|_| !is_edge) {
                    joined[next] = true;
                }
                runs.push(RunCode {
                    coder,
                    narrow,
                    output,
                    first,
                    block: (at == 0 && is_whole).then_some(block as u32),
                });
            }
        }
        runs
    }

    /// Compiles a run once more where it comes back to its beginning, and goes round in it.
    fn go_round<'a, 'b>(&self, coder: &mut Coder<'a, 'b>, block: usize) {
        let Some(found) = coder.found_loop(block as u32) else {
            return;
        };
        let mut again = coder.afresh();
        again.block = block;
        again.op = self.firsts[block];
        let entered = again.enter_loop(found);
        let followed = entered.and_then(|()| self.follow(&mut again, (block, 0), &mut Vec::new()));
        if followed.is_ok() {
            *coder = again;
        }
    }
}

/// The code of all runs, and the ops where they begin.
pub(super) fn assembled(
    target: Target,
    (ops, firsts): (&[MicroOp], Vec<u32>),
    [runs, masked, edges]: [&[RunCode<'_, '_>]; 3],
) -> Option<Arc<Compiled>> {
    let each = || runs.iter().chain(masked).chain(edges);
    let outputs: Vec<&Output> = each().map(|run| &run.output).collect();
    let stack = each().map(|run| run.nodes().most_stack);
    let stack = stack.max().unwrap_or(0);
    let mut shared = Shared::new(target, &outputs, stack, firsts);
    let mut code = target.assembler();
    for run in runs {
        if let Some(block) = run.block {
            shared.labels.insert(block, code.label());
        }
    }
    let mut labels_of = |runs: &[RunCode<'_, '_>]| -> FxHashMap<u32, Label> {
        runs.iter().map(|run| (run.first, code.label())).collect()
    };
    let labels = labels_of(masked);
    shared.edges = labels_of(edges);
    let of_masked = masked
        .iter()
        .map(|run| (run, Entry::Masked(labels[&run.first])));
    let of_edges = edges
        .iter()
        .map(|run| (run, Entry::Edge(shared.edges[&run.first])));
    let units = runs.iter().map(|run| (run, Entry::Whole));
    let mut found = FxHashMap::default();
    for (run, entry) in units.chain(of_masked).chain(of_edges) {
        let plain = ops[run.first as usize].run();
        let unit = Unit {
            nodes: run.nodes(),
            output: &run.output,
            exits: &run.coder.exits,
            block: run.block,
            masked: labels.get(&run.first).copied(),
            entry,
            first: run.first,
            plain: plain as usize,
        };
        let offset = Encoder::run(&mut code, &shared, &unit);
        if !matches!(entry, Entry::Edge(_)) {
            found.entry(run.first).or_insert((plain, offset));
        }
    }
    let pages = Executable::new(&code.finish()).ok()?;
    let runs = found
        .into_iter()
        .map(|(first, (plain, offset))| (first, plain, entry(&pages, offset)))
        .collect();
    Some(Arc::new(Compiled::new(runs, pages)))
}
