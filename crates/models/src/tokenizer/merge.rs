//! A row of symbols that merge pair by pair, best pair first, leftmost among equals: O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const END: u32 = u32::MAX;

/// What decides which neighbours merge.
pub(crate) trait Rules {
    /// A symbol; two of them may become one.
    type Symbol: Copy;
    /// Lower merges first.
    type Rank: Ord + Copy;
    /// The rank of the pair and what it becomes.
    fn pair(&self, left: Self::Symbol, right: Self::Symbol) -> Option<(Self::Rank, Self::Symbol)>;
    /// Whether two symbols are the same place in the text or the same token.
    fn same(left: Self::Symbol, right: Self::Symbol) -> bool;
}

struct Node<S> {
    symbol: S,
    prev: u32,
    next: u32,
    alive: bool,
}

struct Candidate<R, S> {
    rank: R,
    at: u32,
    left: S,
    right: S,
    merged: S,
}

impl<R: Ord, S> Candidate<R, S> {
    fn key(&self) -> (&R, u32) {
        (&self.rank, self.at)
    }
}

impl<R: Ord, S> PartialEq for Candidate<R, S> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<R: Ord, S> Eq for Candidate<R, S> {}
impl<R: Ord, S> PartialOrd for Candidate<R, S> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<R: Ord, S> Ord for Candidate<R, S> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Merges `symbols` until no rule applies, then hands each to `out` in order.
pub(crate) fn merge<M: Rules>(
    rules: &M,
    symbols: impl IntoIterator<Item = M::Symbol>,
    mut out: impl FnMut(M::Symbol),
) {
    let mut nodes: Vec<Node<M::Symbol>> = Vec::new();
    for symbol in symbols {
        let at = nodes.len() as u32;
        nodes.push(Node {
            symbol,
            prev: at.wrapping_sub(1),
            next: at + 1,
            alive: true,
        });
    }
    let Some(last) = nodes.last_mut() else { return };
    last.next = END;

    let mut heap = BinaryHeap::new();
    let consider = |heap: &mut BinaryHeap<_>, nodes: &[Node<M::Symbol>], at: u32| {
        let next = nodes[at as usize].next;
        if next == END {
            return;
        }
        let (left, right) = (nodes[at as usize].symbol, nodes[next as usize].symbol);
        if let Some((rank, merged)) = rules.pair(left, right) {
            heap.push(Reverse(Candidate {
                rank,
                at,
                left,
                right,
                merged,
            }));
        }
    };
    for at in 0..nodes.len() as u32 {
        consider(&mut heap, &nodes, at);
    }
    while let Some(Reverse(best)) = heap.pop() {
        let node = &nodes[best.at as usize];
        let next = node.next;
        // the pair may have merged with others since it was seen
        if !node.alive
            || next == END
            || !M::same(node.symbol, best.left)
            || !M::same(nodes[next as usize].symbol, best.right)
        {
            continue;
        }
        let after = nodes[next as usize].next;
        nodes[next as usize].alive = false;
        let node = &mut nodes[best.at as usize];
        node.symbol = best.merged;
        node.next = after;
        let prev = node.prev;
        if after != END {
            nodes[after as usize].prev = best.at;
        }
        consider(&mut heap, &nodes, best.at);
        if prev != END {
            consider(&mut heap, &nodes, prev);
        }
    }
    let mut at = 0;
    while at != END {
        let node = &nodes[at as usize];
        out(node.symbol);
        at = node.next;
    }
}
