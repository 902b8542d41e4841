//! Blocks that warps with fewer than 32 lanes run: they have code for the lanes that are here, beside that for all.

use crate::lower::{Block, Lowerer, Piece, Term};

/// The most instructions behind an exit of some lanes that are compiled a second time for the others.
const TAIL: usize = 64;

/// Which blocks all lanes come to, or none. The others are those where lanes may part, all of them where the last warp of
/// a block of threads has lanes missing, and the end of a kernel behind an exit of some lanes, such as that of a
/// result that one lane writes. At the beginning of a kernel such an exit is mostly one of the last block's threads.
pub(super) fn joint(
    l: &Lowerer<'_>,
    blocks: &[Block],
    pieces: &[Vec<Piece>],
    convergent: &[bool],
) -> Vec<bool> {
    let threads: u32 = l.block().iter().product();
    if !threads.is_multiple_of(32) {
        return vec![false; blocks.len()];
    }
    let mut joint = convergent.to_vec();
    for block in blocks {
        if let Term::ExitIf { next, .. } = block.term
            && let Some(tail) = tail(blocks, pieces, next)
        {
            tail.into_iter().for_each(|block| joint[block] = false);
        }
    }
    joint
}

/// The blocks from one on to the end of the kernel; `None` if they are many, or some run more than once.
fn tail(blocks: &[Block], pieces: &[Vec<Piece>], from: u32) -> Option<Vec<usize>> {
    let mut found = vec![from as usize];
    let (mut at, mut length) = (0, 0);
    while let Some(&block) = found.get(at) {
        at += 1;
        length += pieces[block].len();
        if length > TAIL {
            return None;
        }
        for to in blocks[block].term.targets() {
            let to = to as usize;
            if to <= block {
                return None;
            }
            if !found.contains(&to) {
                found.push(to);
            }
        }
    }
    Some(found)
}
