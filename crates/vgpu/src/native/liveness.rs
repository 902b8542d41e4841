//! Which registers are read later on.

use crate::lower::{Block, Piece, roles};
use warpsmith_ptx::ir::{Inst, RegId, Stmt};

fn set(bits: &mut [u64], reg: RegId) {
    bits[reg.index() / 64] |= 1 << (reg.index() % 64);
}

fn clear(bits: &mut [u64], reg: RegId) {
    bits[reg.index() / 64] &= !(1 << (reg.index() % 64));
}

/// Goes over an instruction from its end to its beginning.
fn step_back(live: &mut [u64], inst: &Inst) {
    if inst.guard.is_none() {
        roles::each_def(inst, &mut |reg| clear(live, reg));
    }
    roles::each_use(inst, &mut |reg| set(live, reg));
}

/// The registers that are read behind each instruction of each block, or by it; the last entry of a block is before its end.
pub(super) fn liveness(
    count: usize,
    body: &[Stmt],
    blocks: &[Block],
    pieces: &[Vec<Piece>],
) -> Vec<Vec<Vec<u64>>> {
    let words = count.div_ceil(64);
    let mut all: Vec<Vec<Vec<u64>>> = pieces
        .iter()
        .map(|pieces| vec![vec![0; words]; pieces.len() + 1])
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (at, block) in blocks.iter().enumerate().rev() {
            let mut live = vec![0; words];
            for to in block.term.targets() {
                for (word, more) in live.iter_mut().zip(&all[to as usize][0]) {
                    *word |= more;
                }
            }
            block.term.each_use(&mut |reg| set(&mut live, reg));
            let own = &mut all[at];
            let last = own.len() - 1;
            own[last].clone_from(&live);
            for (i, piece) in pieces[at].iter().enumerate().rev() {
                if let Some(inst) = body[piece.stmt as usize].inst() {
                    step_back(&mut live, inst);
                }
                if i > 0 {
                    own[i].clone_from(&live);
                }
            }
            if own[0] != live {
                own[0] = live;
                changed = true;
            }
        }
    }
    all
}
