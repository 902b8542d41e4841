//! What stores have left undefined in a memory: by which store, and where its bytes came from.

use super::{
    Place,
    report::{Spot, spot},
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use warpsmith_ptx::ir::Name;

/// A store of something undefined.
#[derive(Clone, Debug)]
pub(super) struct Hole {
    pub(super) store: Place,
    /// The read that found it where nobody had written; `None` for what was in a register.
    pub(super) read: Option<Place>,
}

/// The most ranges that are kept.
const MOST: usize = 1 << 16;

/// Ranges of bytes, each with the store that left it so, wherever nothing else was stored since.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// Start to end and the number of the store.
    ranges: BTreeMap<u64, (u64, usize)>,
    all: Vec<Hole>,
    index: FxHashMap<(Name, Spot, Option<Spot>), usize>,
}

impl Holes {
    pub(super) fn clear(&mut self) {
        *self = Holes::default();
    }

    /// A store leaves `start..end` undefined.
    pub(super) fn note(&mut self, (start, end): (u64, u64), hole: Hole) {
        if self.ranges.len() >= MOST {
            return;
        }
        let read = hole.read.as_ref().map(|read| spot(read.span));
        let key = (hole.store.kernel.clone(), spot(hole.store.span), read);
        let number = *self.index.entry(key).or_insert_with(|| {
            self.all.push(hole);
            self.all.len() - 1
        });
        self.put((start, end), number);
    }

    fn put(&mut self, (mut start, end): (u64, u64), number: usize) {
        self.forget(start, end);
        // One lane's word lies behind the other's.
        if let Some((first, (last, same))) = self.ranges.range(..start).next_back()
            && (*last, *same) == (start, number)
        {
            start = *first;
        }
        self.ranges.insert(start, (end, number));
    }

    /// Of a range nothing is known any more.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        while let Some((&first, &(last, number))) = self.ranges.range(..end).next_back() {
            if last <= start {
                return;
            }
            self.ranges.remove(&first);
            if last > end {
                self.ranges.insert(end, (last, number));
            }
            if first < start {
                self.ranges.insert(first, (start, number));
            }
        }
    }

    /// What left a byte undefined.
    pub(super) fn at(&self, address: u64) -> Option<&Hole> {
        let (_, (end, number)) = self.ranges.range(..=address).next_back()?;
        (*end > address).then(|| &self.all[*number])
    }

    /// The ranges in `start..end`, with the number of each one's store.
    pub(super) fn within(&self, start: u64, end: u64) -> Vec<(u64, u64, usize)> {
        let mut found = Vec::new();
        for (&first, &(last, number)) in self.ranges.range(..end).rev() {
            if last <= start {
                break;
            }
            found.push((first.max(start), last.min(end), number));
        }
        found.reverse();
        found
    }

    /// A store, by its number.
    pub(super) fn hole(&self, number: usize) -> &Hole {
        &self.all[number]
    }

    /// What is known of one range is known of another.
    pub(super) fn copied(&mut self, to: u64, from: u64, len: u64) {
        let found = self.within(from, from.saturating_add(len));
        self.forget(to, to.saturating_add(len));
        for (first, last, number) in found {
            self.put((first - from + to, last - from + to), number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::checker::nowhere, *};
    use warpsmith_ptx::ir::Span;

    fn hole(line: u32) -> Hole {
        Hole {
            store: Place {
                span: Span::Ptx { line, column: 1 },
                ..nowhere()
            },
            read: None,
        }
    }

    #[test]
    fn ranges_are_those_of_the_last_store() {
        let mut holes = Holes::default();
        holes.note((0, 16), hole(1));
        holes.note((16, 20), hole(1));
        holes.note((4, 8), hole(2));
        holes.note((18, 30), hole(2));
        let want = [(0, 4, 0), (4, 8, 1), (8, 18, 0), (18, 30, 1)];
        assert_eq!(holes.within(0, 100), want);
        assert_eq!(holes.within(6, 19), [(6, 8, 1), (8, 18, 0), (18, 19, 1)]);
        holes.copied(100, 6, 4);
        holes.forget(0, 10);
        assert_eq!(holes.within(0, 200)[..1], [(10, 18, 0)]);
        assert_eq!(holes.within(100, 200), [(100, 102, 1), (102, 104, 0)]);
        assert!(holes.at(9).is_none() && holes.at(104).is_none());
        let line = |at| holes.at(at).map(|hole| hole.store.span);
        assert_eq!(line(29), Some(Span::Ptx { line: 2, column: 1 }));
        assert_eq!(line(102), Some(Span::Ptx { line: 1, column: 1 }));
    }
}
