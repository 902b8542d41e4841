//! The compiler: runs of instructions as machine code, in place of the interpreter's ops.
//!
//! A run begins at an op of the program and takes the place of that op's code; where the run ends, or cannot go on,
//! it writes what it changed to the frame and says which op is next. So lanes that part, barriers and faults are the
//! interpreter's, and code is only ever a faster way through some of its ops.
//!
//! - A run is for all 32 lanes. It goes on over gates, and over jumps and branches that all lanes take, into blocks that
//!   nothing else goes to, and ends with a jump to the run of another block. Each jump burns fuel, as the interpreter's do.
//! - Where lanes part for a few instructions, a run has both ways, each for its lanes (`regions.rs`).
//! - Other blocks where lanes may be missing have another run, for those that are here, up to the block's end (`few.rs`).
//! - Inside of a run registers hold *values* (`values.rs`) in one of several forms: a constant, one value for the warp,
//!   lanes that grow evenly, 32 lanes. What an address is like decides how memory is read.
//! - Guesses (`shapes.rs`) and ranges are checked, and where one fails the run is left before the instruction. Lanes that
//!   end at the last element of a row are guessed to be away from it; where they are not, other code goes on (`runs.rs`).
//! - Machine instructions over virtual registers (`nodes.rs`) get registers from regalloc2 (`registers.rs`) and become
//!   bytes (`encode/mod.rs`). They are made for AVX-512; for AVX2 (`target.rs`) they are made narrow before (`narrow/`).
//!
//! An instruction is added in `kinds.rs`, which says that it is compiled, and in the file of its family (`int.rs`,
//! `float.rs`, `convert.rs`, `lanes.rs`, `bytes.rs`, `memory.rs`), which `emit.rs` calls. The other families say themselves
//! what they compile (`more.rs`); their instructions are lines of `tests/compiled/table.txt`.

mod accesses;
mod affine;
mod apart;
mod bits;
mod bytes;
mod carry;
mod chains;
mod convert;
mod double;
mod emit;
mod encode;
mod entry;
mod exchange;
mod exits;
mod few;
mod float;
mod flushed;
mod forms;
mod half_warps;
mod halves;
mod int;
mod kinds;
mod lanes;
mod liveness;
mod loops;
mod memory;
mod more;
mod narrow;
mod nodes;
mod numbers;
mod own;
mod parts;
mod predicates;
mod products;
mod quotients;
mod reach;
mod regions;
mod registers;
mod rows;
mod runs;
mod shapes;
mod shorts;
mod some;
mod target;
mod tiles;
mod values;

use crate::{
    exec::MicroOp,
    lower::{Block, Compiled, Lowerer, Piece, Term, immediate, roles},
};
use accesses::is_direct;
use kinds::Kind;
use liveness::liveness;
use nodes::Code;
use regions::Branch;
use runs::Starts;
use rustc_hash::FxHashSet;
use shapes::{Edge, Group, Lanes};
use std::{collections::BTreeSet, sync::Arc};
use target::Target;
use values::{Coder, Skip};
use warpsmith_ptx::{
    ir::{Inst, Operand, Stmt},
    op::Op,
};
use warpsmith_x86::{Cond, Executable, MaskAlu};

/// Runs with fewer instructions and jumps are faster left to the interpreter.
const FEWEST: usize = 3;
/// The most instructions of a run: finding registers takes longer than in proportion.
const MOST: usize = 1000;

/// Words for the registers that are live in a kernel: what has more is interpreted.
const LARGEST: usize = 1 << 22;

/// A kernel as it is compiled.
struct Source<'a> {
    /// The machine that it is for.
    target: Target,
    body: &'a [Stmt],
    blocks: &'a [Block],
    pieces: &'a [Vec<Piece>],
    /// What each instruction does, if that is compiled.
    kinds: Vec<Vec<Option<Kind>>>,
    /// Blocks whose branches part lanes for the interpreter.
    plain: FxHashSet<usize>,
    /// Blocks to which all lanes come together.
    convergent: &'a [bool],
    /// Whether the block is one warp, which waits at barriers for itself alone.
    alone: bool,
    /// How many blocks go to a block.
    sources: Vec<u32>,
    /// The first op of each block.
    firsts: Vec<u32>,
    /// The op that ends each block.
    ends: Vec<u32>,
}

/// Whether pages for code are given.
pub(crate) fn probe() -> Result<(), std::io::Error> {
    Executable::new(&[0xC3]).map(|_| ())
}

/// Compiles the runs of a kernel. `None` where there are none, or the system lets no code be made.
pub(crate) fn compile(
    l: &Lowerer<'_>,
    body: &[Stmt],
    blocks: &[Block],
    (pieces, firsts, ends): (&[Vec<Piece>], Vec<u32>, Vec<u32>),
    convergent: &[bool],
    ops: &[MicroOp],
) -> Option<Arc<Compiled>> {
    let target = Target::of(l.tier())?;
    // What is live is kept for each instruction.
    let count: usize = pieces.iter().map(Vec::len).sum();
    if count.saturating_mul(l.register_count().div_ceil(64)) > LARGEST {
        return None;
    }
    let inst_of = |piece: &Piece| body[piece.stmt as usize].inst();
    let all: Vec<&Inst> = pieces.iter().flatten().filter_map(inst_of).collect();
    let shapes = shapes::guess(l, &all, Group::whole(l.block()), Edge::Away);
    let halves = half_warps::guess(l, &all, Edge::Away);
    let scalars = scalars(l, &all);
    let live = liveness(l.register_count(), body, blocks, pieces);
    let kinds_of = |shapes: &[Lanes], halves: &[Lanes]| -> Vec<Vec<Option<Kind>>> {
        let each = pieces.iter();
        each.map(|pieces| kinds_of_block(l, body, pieces, (shapes, halves)))
            .collect()
    };
    let mut source = Source {
        target,
        body,
        blocks,
        pieces,
        kinds: kinds_of(&shapes, &halves),
        plain: FxHashSet::default(),
        convergent,
        alone: l.block().iter().product::<u32>() == 32 && blocks.iter().all(is_plain),
        sources: sources(blocks),
        firsts,
        ends,
    };
    let insts: Vec<Vec<Option<&Inst>>> = pieces
        .iter()
        .map(|pieces| pieces.iter().map(inst_of).collect())
        .collect();
    let facts = (&shapes[..], &scalars[..], &live[..], &insts[..]);
    let kinds = source.kinds.clone();
    let runs = source.runs(l, facts, &Starts::Whole);
    // Instructions that only fail where lanes are missing are tried again, and the other way round.
    source.kinds = kinds;
    let joint = few::joint(l, blocks, pieces, convergent);
    let masked = source.runs(l, facts, &Starts::Masked(&joint));
    if runs.is_empty() && masked.is_empty() {
        return None;
    }
    // Where lanes turn out to be at the edge of a row, code goes on that does not guess so.
    let doubts = || runs.iter().flat_map(|run| &run.coder.doubts);
    let near = match doubts().next() {
        Some(_) => shapes::guess(l, &all, Group::whole(l.block()), Edge::Near),
        None => Vec::new(),
    };
    let wrong = doubts().filter(|(.., reg)| shapes[reg.index()] != near[reg.index()]);
    let doubts: BTreeSet<(usize, usize)> = wrong.map(|(block, at, _)| (*block, *at)).collect();
    let edges = if doubts.is_empty() {
        Vec::new()
    } else {
        source.kinds = kinds_of(&near, &half_warps::guess(l, &all, Edge::Near));
        let facts = (&near[..], &scalars[..], &live[..], &insts[..]);
        source.runs(l, facts, &Starts::Edges(&doubts))
    };
    runs::assembled(target, (ops, source.firsts), [&runs, &masked, &edges])
}

/// What the instructions of a block do, if that is compiled.
fn kinds_of_block(
    l: &Lowerer<'_>,
    body: &[Stmt],
    pieces: &[Piece],
    (shapes, halves): (&[Lanes], &[Lanes]),
) -> Vec<Option<Kind>> {
    let inst_of = |piece: &Piece| body[piece.stmt as usize].inst();
    let kinds = pieces.iter().map(|piece| {
        let inst = inst_of(piece)?;
        let kind = kinds::kind(l, inst)?;
        match is_direct(kind, inst, shapes) {
            true => Some(half_warps::kind(kind, inst, shapes, halves)),
            false => parts::kind(kind),
        }
    });
    let mut kinds: Vec<Option<Kind>> = kinds.collect();
    // Of what stands under one guard only a single instruction can be left before it.
    let guards = pieces
        .iter()
        .map(|piece| inst_of(piece).and_then(|inst| inst.guard));
    let guards: Vec<_> = guards.collect();
    for at in 0..kinds.len() {
        let shares =
            |other: Option<usize>| other.and_then(|other| guards.get(other)) == Some(&guards[at]);
        if guards[at].is_some() && (shares(at.checked_sub(1)) || shares(Some(at + 1))) {
            kinds[at] = None;
        }
    }
    kinds
}

impl Source<'_> {
    /// Emits a run: from an instruction of a block on, through blocks that nothing else goes to, which are put into
    /// `own`. Returns how many instructions and jumps it has.
    fn follow(
        &self,
        coder: &mut Coder<'_, '_>,
        (mut block, mut at): (usize, usize),
        own: &mut Vec<usize>,
    ) -> Result<usize, Skip> {
        let start = (at == 0).then_some(block as u32);
        let mut length = 0;
        loop {
            let pieces = &self.pieces[block];
            coder.block = block;
            while at < pieces.len() {
                if !self.instruction(coder, at)? {
                    coder.exit();
                    return Ok(length);
                }
                length += 1;
                at += 1;
            }
            coder.at = at;
            coder.op = self.ends[block];
            if coder.active.is_some() {
                coder.exit();
                return Ok(length);
            }
            let room = length < MOST && coder.nodes.codes.len() < self.target.most_nodes();
            let only = |to: u32, edges: u32| {
                self.sources[to as usize] == edges && to != 0 && to as usize != block && room
            };
            let alone = |to: u32| only(to, 1);
            let mut edges = 1;
            let next = match self.blocks[block].term {
                // All lanes are here, so that none is waited for.
                Term::Gate { next, .. } => next,
                Term::Branch {
                    pred,
                    negated,
                    then,
                    other,
                } => {
                    length += 1;
                    coder.burn();
                    let branch = Branch {
                        pred,
                        negated,
                        then,
                        other,
                    };
                    let pred = coder.read_reg(pred);
                    let varies = !coder.has_scalar(pred) && room;
                    let region = varies.then(|| self.region(block, branch)).flatten();
                    if let Some(region) = region {
                        length += self.part(coder, &region, branch, own)?;
                        edges = region.edges;
                        region.join
                    } else {
                        let lanes = coder.scalar(pred)?;
                        let (yes, no) = if negated == 0 { (-1, 0) } else { (0, -1) };
                        // The side that goes on in this run is the one that nothing else goes to.
                        let (stay, leave, lanes_of_leave, lanes_of_stay) = if alone(other) {
                            (other, then, yes, no)
                        } else {
                            (then, other, no, yes)
                        };
                        coder
                            .nodes
                            .effect(Code::CompareImm(false, lanes_of_leave), &[lanes]);
                        if coder.is_loop(leave) {
                            coder.again_unless(Cond::NotEqual)?;
                        } else {
                            if start == Some(leave) {
                                coder.turn();
                            }
                            coder.branch_if(Cond::Equal, leave);
                        }
                        coder
                            .nodes
                            .effect(Code::CompareImm(false, lanes_of_stay), &[lanes]);
                        coder.exit_if(Cond::NotEqual);
                        stay
                    }
                }
                ref term => {
                    let Some(next) = self.passed(term) else {
                        coder.exit();
                        return Ok(length);
                    };
                    coder.burn();
                    length += 1;
                    next
                }
            };
            if coder.is_loop(next) {
                coder.again()?;
                return Ok(length);
            }
            if !only(next, edges) {
                if start == Some(next) {
                    coder.turn();
                }
                coder.go(next);
                return Ok(length);
            }
            own.push(next as usize);
            block = next as usize;
            at = 0;
        }
    }
}

impl Source<'_> {
    /// Where all lanes go on behind a jump, or behind a barrier at which nobody else is waited for.
    fn passed(&self, term: &Term) -> Option<u32> {
        match term {
            Term::Jump(next) => Some(*next),
            Term::Barrier(barrier) if self.alone && barrier.cluster.is_none() => Some(barrier.next),
            _ => None,
        }
    }

    /// Emits an instruction of the coder's block; `false` if that is not compiled, where the run ends then.
    fn instruction(&self, coder: &mut Coder<'_, '_>, at: usize) -> Result<bool, Skip> {
        let (block, pieces) = (coder.block, &self.pieces[coder.block]);
        coder.at = at;
        coder.op = pieces[at].first;
        // Exchanges are compiled for all lanes alone.
        let kind = self.kinds[block][at];
        let kind = kind.filter(|kind| coder.active.is_none() || !kind.is_exchange());
        let (Some(kind), Some(inst)) = (kind, self.body[pieces[at].stmt as usize].inst()) else {
            coder.make_products();
            // The op before it may be one that begins a guard.
            coder.op = match at.checked_sub(1) {
                Some(before) => pieces[before].end,
                None => self.firsts[block],
            };
            return Ok(false);
        };
        coder.make_products_for(kind, inst);
        if let Some(guard) = inst.guard {
            // The op before it is the guard.
            coder.op -= 1;
            let pred = coder.read_reg(guard.reg);
            let lanes = coder.mask(pred, guard.negated)?;
            coder.guard = Some(match coder.active {
                Some(active) => {
                    let and = Code::MaskAlu(MaskAlu::And);
                    coder.nodes.mask(and, &[active, lanes])
                }
                None => lanes,
            });
        }
        let before = coder.nodes.codes.len();
        coder.emit(kind, inst)?;
        if self.target == Target::Avx2 && !coder.nodes.codes[before..].iter().all(narrow::has) {
            return Err(Skip);
        }
        coder.guard = None;
        if at + 1 == pieces.len() {
            coder.make_products();
        }
        Ok(true)
    }
}

/// How many blocks go to each.
fn sources(blocks: &[Block]) -> Vec<u32> {
    let mut all = vec![0; blocks.len()];
    for to in blocks.iter().flat_map(|block| block.term.targets()) {
        all[to as usize] += 1;
    }
    all
}

/// Whether a block ends with no barrier, or with one that all threads wait at, and nobody only comes to.
fn is_plain(block: &Block) -> bool {
    let Term::Barrier(barrier) = &block.term else {
        return true;
    };
    let number = match barrier.id {
        Operand::Imm(imm) => immediate(imm, 32) as u32,
        _ => u32::MAX,
    };
    let all = barrier.count.is_none() && barrier.reduce.is_none() && barrier.guard.is_none();
    barrier.cluster.is_some() || number < 16 && all && !barrier.arrive
}

/// Registers that are read where one value for the warp is wanted.
fn scalars(l: &Lowerer<'_>, insts: &[&Inst]) -> Vec<bool> {
    let mut wanted = vec![false; l.register_count()];
    for inst in insts {
        let mut uniform = false;
        roles::each_def(inst, &mut |reg| uniform |= l.dst_of(reg).uniform);
        let accesses = matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Red | Op::Cp);
        if uniform || accesses {
            roles::each_use(inst, &mut |reg| wanted[reg.index()] = true);
        }
    }
    wanted
}
