//! What is known of each byte of guest memory: whether it belongs to something, and whether it was written.

use super::{holes::Holes, pages::Pages};
use memmap2::MmapMut;
use std::{collections::BTreeMap, ops::Range};
use warpsmith_ptx::ir::Name;

/// States of a byte.
pub(crate) mod state {
    /// Part of nothing.
    pub(crate) const NONE: u8 = 0;
    /// Nobody wrote it.
    pub(crate) const FRESH: u8 = 1;
    /// Written.
    pub(crate) const WRITTEN: u8 = 2;
    /// Given back.
    pub(crate) const FREED: u8 = 3;
    /// Written by an asynchronous copy that nobody has waited for.
    pub(crate) const PENDING: u8 = 4;
    /// The same of something that nobody wrote.
    pub(crate) const HOLLOW: u8 = 8;
    /// An `mbarrier`'s.
    pub(crate) const OBJECT: u8 = 16;

    /// Whether a copy of it is on its way.
    pub(crate) fn is_coming(state: u8) -> bool {
        matches!(state, PENDING | HOLLOW)
    }
}

/// Device memory. The map takes memory only where it is touched.
pub(crate) struct Global {
    map: MmapMut,
    pages: Pages,
    base: u64,
    /// Start to length and name.
    blocks: BTreeMap<u64, (u64, Option<Name>)>,
    /// What stores left undefined.
    pub(super) holes: Holes,
}

impl Global {
    /// For `size` bytes from `base` on.
    pub(crate) fn new(base: u64, size: u64) -> std::io::Result<Global> {
        let len = usize::try_from(size).map_err(std::io::Error::other)?;
        let map = memmap2::MmapOptions::new()
            .len(len)
            .no_reserve_swap()
            .map_anon()?;
        Ok(Global {
            map,
            pages: Pages::new(size),
            base,
            blocks: BTreeMap::new(),
            holes: Holes::default(),
        })
    }

    fn range(&self, address: u64, len: u64) -> Option<Range<usize>> {
        let from = usize::try_from(address.checked_sub(self.base)?).ok()?;
        let to = from.checked_add(usize::try_from(len).ok()?)?;
        (to <= self.map.len()).then_some(from..to)
    }

    /// All states, the pages that are known to be written, and the address of the first.
    #[inline(always)]
    pub(super) fn all(&mut self) -> (&mut [u8], &mut Pages, u64) {
        (&mut self.map, &mut self.pages, self.base)
    }

    /// The pages that are known to be written, and the address of the first.
    #[inline(always)]
    pub(super) fn pages(&self) -> (&Pages, u64) {
        (&self.pages, self.base)
    }

    /// The states of a range; `None` if it is not in device memory.
    pub(super) fn states(&self, address: u64, len: u64) -> Option<&[u8]> {
        let range = self.range(address, len)?;
        self.map.get(range)
    }

    /// The same, to be changed: nothing of it is known to be written.
    fn states_mut(&mut self, address: u64, len: u64) -> Option<&mut [u8]> {
        let range = self.range(address, len)?;
        self.pages.forget(address - self.base, len);
        self.map.get_mut(range)
    }

    /// A block was handed out.
    pub(crate) fn allocated(&mut self, address: u64, len: u64) {
        self.blocks.insert(address, (len, None));
        self.holes.forget(address, address + len);
        if let Some(states) = self.states_mut(address, len) {
            states.fill(state::FRESH);
        }
    }

    /// Names a block.
    pub(crate) fn name(&mut self, address: u64, name: &Name) {
        if let Some((_, slot)) = self.blocks.get_mut(&address) {
            *slot = Some(name.clone());
        }
    }

    /// A block was given back.
    pub(crate) fn freed(&mut self, address: u64) {
        let Some((len, _)) = self.blocks.get(&address).cloned() else {
            return;
        };
        if let Some(states) = self.states_mut(address, len) {
            states.fill(state::FREED);
        }
    }

    /// The host wrote a range.
    pub(crate) fn written(&mut self, address: u64, len: u64) {
        if let Some(states) = self.states_mut(address, len) {
            for byte in states {
                if matches!(*byte, state::FRESH | state::PENDING | state::HOLLOW) {
                    *byte = state::WRITTEN;
                }
            }
            self.pages.learn_all(&self.map, address - self.base, len);
        }
    }

    /// The device copied a range.
    pub(crate) fn copied(&mut self, to: u64, from: u64, len: u64) {
        let Some(states) = self.states(from, len).map(|states| states.to_vec()) else {
            return;
        };
        if let Some(target) = self.states_mut(to, len) {
            target.copy_from_slice(&states);
            self.holes.copied(to, from, len);
        }
    }

    /// The block nearest to an address.
    pub(crate) fn nearest(&self, address: u64) -> Option<super::Allocation> {
        let before = self.blocks.range(..=address).next_back();
        let after = self.blocks.range(address..).next();
        let near = |(start, (bytes, name)): (&u64, &(u64, Option<Name>))| {
            let distance = super::report::distance(address, *start, *bytes);
            super::Allocation {
                name: name.clone(),
                start: *start,
                bytes: *bytes,
                distance,
            }
        };
        let both = before.into_iter().chain(after).map(near);
        both.min_by_key(|block| block.distance.unsigned_abs())
    }

    /// Blocks that are still allocated.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u64, Option<&Name>)> {
        let alive = |address: u64| {
            self.range(address, 1)
                .is_some_and(|range| self.map[range.start] != state::FREED)
        };
        self.blocks
            .iter()
            .filter(move |(address, _)| alive(**address))
            .map(|(address, (len, name))| (*address, *len, name.as_ref()))
    }
}

/// The variables of a CTA's shared memory, or of a thread's local memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// Name, start, bytes.
    pub(crate) all: Vec<(Name, u64, u64)>,
}

impl Variables {
    /// Adds a variable.
    pub(crate) fn push(&mut self, name: &Name, start: u64, bytes: u64) {
        self.all.push((name.clone(), start, bytes));
    }

    /// Fresh states of a memory of `bytes`, where `open` is the start of dynamic memory that reaches to the end.
    pub(crate) fn states(&self, bytes: u64, open: Option<u64>, states: &mut Vec<u8>) {
        states.clear();
        states.resize(bytes as usize, state::NONE);
        let ranges = self.all.iter().map(|(_, start, len)| *start..start + len);
        for range in ranges.chain(open.map(|start| start..bytes)) {
            let range = range.start.min(bytes) as usize..range.end.min(bytes) as usize;
            states[range].fill(state::FRESH);
        }
    }

    /// The variable nearest to an address.
    pub(crate) fn nearest(&self, address: u64) -> Option<super::Allocation> {
        let near = self
            .all
            .iter()
            .map(|(name, start, bytes)| super::Allocation {
                name: Some(name.clone()),
                start: *start,
                bytes: *bytes,
                distance: super::report::distance(address, *start, *bytes),
            });
        near.min_by_key(|variable| variable.distance.unsigned_abs())
    }
}
