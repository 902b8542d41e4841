//! Memory by lifetime: values that are not alive together share bytes.

use crate::span::Span;
use std::{any::Any, sync::Arc};
use warpsmith_kernel::Elem;

/// A planned piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Block(pub(crate) u32);

/// A piece and the steps between which it is alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    pub(crate) bytes: u64,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

const ALIGN: u64 = 256;

/// Offsets for all pieces, and the bytes of the arena that holds them.
///
/// Largest first, each at the lowest offset that is free for its whole life (the greedy-by-size strategy of Pisarchyk
/// and Lee, 2020).
pub(crate) fn assign(lives: &[Life]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(lives[*at].bytes));
    let mut offsets = vec![0; lives.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    for at in order {
        let life = lives[at];
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|other| lives[**other].first <= life.last && life.first <= lives[**other].last)
            .map(|other| (offsets[*other], offsets[*other] + lives[*other].bytes))
            .collect();
        taken.sort_unstable();
        let mut offset = 0;
        for (from, to) in taken {
            if offset + life.bytes <= from {
                break;
            }
            offset = offset.max(to.next_multiple_of(ALIGN));
        }
        offsets[at] = offset;
        total = total.max(offset + life.bytes);
        placed.push(at);
    }
    (offsets, total.next_multiple_of(ALIGN))
}

/// The arena of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) address: u64,
    pub(crate) allocation: Option<Arc<dyn Any + Send + Sync>>,
    pub(crate) offsets: Vec<u64>,
}

/// Where a value is: a piece of the arena or memory from outside, plus bytes.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Planned(Block, u64),
    Outside(Span<u8>, u64),
}

impl Place {
    /// The place `bytes` further on.
    pub(crate) fn offset(&self, bytes: u64) -> Place {
        match self {
            Place::Planned(block, at) => Place::Planned(*block, at + bytes),
            Place::Outside(span, at) => Place::Outside(span.clone(), at + bytes),
        }
    }
}

impl Memory {
    /// `len` elements at a place.
    pub(crate) fn span<T: Elem>(&self, place: &Place, len: u64) -> Span<T> {
        use warpsmith_kernel::args::HostBuffer;
        match place {
            Place::Planned(block, at) => {
                let address = self.address + self.offsets[block.0 as usize] + at;
                Span::new(address, len as usize, self.allocation.clone())
            }
            Place::Outside(span, at) => Span::new(
                span.address() + at,
                len as usize,
                span.allocation().cloned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_alive_together_never_overlap_and_others_share() {
        let life = |bytes, first, last| Life { bytes, first, last };
        let lives = [
            life(1000, 0, 1),
            life(500, 1, 2),
            life(1000, 2, 3),
            life(300, 0, 3),
            life(1, 3, 3),
        ];
        let (offsets, total) = assign(&lives);
        for a in 0..lives.len() {
            for b in 0..a {
                let together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
                let apart = offsets[a] + lives[a].bytes <= offsets[b]
                    || offsets[b] + lives[b].bytes <= offsets[a];
                assert!(!together || apart, "{a} and {b} overlap: {offsets:?}");
            }
        }
        assert_eq!(offsets[0], offsets[2]);
        assert!(total < lives.iter().map(|life| life.bytes).sum());
    }
}
