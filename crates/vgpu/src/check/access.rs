//! What the checker says to an access of a warp: bounds, alignment, initialisation, and the order of accesses.
//!
//! Most accesses are of neighbours or of rows, to memory that was written, by threads that clash with nobody: these
//! are settled for all lanes at once. Anything else is looked at lane by lane (`look.rs`).

use super::{
    Access,
    checker::{At, Checker},
    clock::Order,
    copies::Lent,
    memory::state,
    states::{States, are_written, is_written, write},
    stretch::Stretch,
};
use crate::memory::{FOREIGN, GLOBAL_BASE, WINDOW};

/// The state space that an access names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Global,
    Const,
    Shared,
    Local,
    Generic,
}

/// The most elements of an access.
pub(crate) const MOST: usize = 8;

/// Undefined bytes of each element as bits, lane by lane.
pub(crate) type Undefined = [[u32; 32]; MOST];

/// What an access says of itself, known when it is lowered.
#[derive(Clone, Debug)]
pub(crate) struct AccessInfo {
    pub(crate) space: Space,
    pub(crate) access: Access,
    /// Bytes of an element, and elements.
    pub(crate) element: u32,
    pub(crate) count: u32,
    pub(crate) order: Order,
    /// `.nc`: nobody writes it during the launch.
    pub(crate) constant: bool,
    /// Written by `cp.async`.
    pub(crate) asynchronous: bool,
    /// Read by `cp.async`.
    pub(crate) copied: bool,
    /// An atomic whose result is of no account to what it leaves.
    pub(crate) replaces: bool,
    /// A strong read, or an atomic that gives what it found.
    pub(crate) observes: bool,
    /// Whether it is made only if what was read from memory says so.
    pub(crate) depends: bool,
    /// A plain read that counts as to races only where it matters (`lower/deferred.rs`).
    pub(crate) deferred: bool,
    /// An operation on an `mbarrier`, which itself says what it orders.
    pub(crate) object: bool,
    /// A read of what is used at once, such as the elements of a fragment that only products take.
    pub(crate) consumed: bool,
    /// Of rows of matrices: whether they are transposed on their way, and how many matrices there are.
    pub(crate) matrix: Option<bool>,
    pub(crate) rows: u32,
    /// Where what is known of each element's register is.
    pub(crate) values: [Option<u32>; MOST],
}

impl AccessInfo {
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.element) * u64::from(self.count)
    }

    /// Whether its result registers get the old contents and nothing else.
    pub(crate) fn gives(&self) -> bool {
        self.access == Access::Read && !self.consumed || self.replaces
    }

    pub(super) fn writes(&self) -> bool {
        self.access != Access::Read
    }
}

/// Where the active lanes access.
#[derive(Clone, Copy)]
#[allow(clippy::large_enum_variant)] // lives on the stack for one access, where a box would cost more
pub(crate) enum Pattern {
    /// Lane `first` at an address, and the `count - 1` behind it at those that follow.
    Run { start: u64, first: u32, count: u32 },
    /// All at one.
    Same(u64),
    /// Anywhere.
    Apart([u64; 32]),
}

impl Pattern {
    /// Each lane's address in a memory that begins at `base`.
    #[inline(always)]
    pub(super) fn inside(&self, bytes: u64, base: u64) -> [u64; 32] {
        match self {
            Pattern::Run { start, first, .. } => {
                let start = start
                    .wrapping_sub(base)
                    .wrapping_sub(u64::from(*first) * bytes);
                std::array::from_fn(|lane| start.wrapping_add(lane as u64 * bytes))
            }
            Pattern::Same(address) => [address.wrapping_sub(base); 32],
            Pattern::Apart(addresses) => std::array::from_fn(|i| addresses[i].wrapping_sub(base)),
        }
    }
}

/// A memory as one lane sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Global,
    Shared,
    Local,
    /// The parameters of the kernel, where they have generic addresses.
    Param,
}

/// A memory, and where it begins in the addresses of an access.
pub(super) type Region = (Memory, u64);

/// An access and who makes it.
pub(crate) struct Request<'a> {
    pub(crate) info: &'a AccessInfo,
    /// Its number in the program.
    pub(crate) number: u32,
    /// Whether no element of a store may be undefined.
    pub(crate) defined: bool,
}

/// What was found of an access that is not plain.
pub(crate) struct Answer {
    /// Lanes that must not do it.
    pub(crate) bad: u32,
    /// What it reads.
    pub(crate) undefined: Box<Undefined>,
}

/// What the slow way needs to know of a store.
pub(crate) trait Stored {
    /// Undefined bytes of element `k`, lane by lane.
    fn undefined(&self, k: usize) -> Option<[u32; 32]>;
    /// Lanes that store what is there already, or what another lane stores to the same place.
    fn same(&self) -> u32;
    /// Where an asynchronous copy reads what it stores.
    fn lent(&self) -> Option<Lent>;
}

impl Checker {
    /// Whether races are looked for.
    #[inline(always)]
    pub(crate) fn wants_races(&self) -> bool {
        self.findings.wants_races()
    }

    /// Checks an access of all lanes and notes it; nothing is noted if it is not plain, which [`Checker::look`] is for.
    #[inline(always)]
    pub(crate) fn access(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        shape: &Pattern,
        stretch: Stretch,
        stored: &dyn Stored,
    ) -> bool {
        let Some(memory) = self.common_memory(at, request.info, stretch) else {
            return false;
        };
        if self.is_kept(request.info, memory, stretch) {
            return false;
        }
        if !self.is_known(at, request, memory, stretch)
            && !self.is_plain(at, request, memory, shape, stretch, stored)
        {
            return false;
        }
        if memory.0 != Memory::Local && !request.info.deferred && self.wants_races() {
            self.order_all(at, request, memory, shape, stored);
        }
        true
    }

    /// Whether an access is plain whatever its shape; `false` where that is not known.
    #[inline(always)]
    pub(crate) fn is_quiet(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        stretch: Stretch,
    ) -> bool {
        match self.common_memory(at, request.info, stretch) {
            Some(memory) => {
                self.is_known(at, request, memory, stretch)
                    && !self.is_kept(request.info, memory, stretch)
            }
            None => false,
        }
    }

    /// Whether it may write what nobody should: constants, or what a copy still reads.
    #[inline(always)]
    fn is_kept(&self, info: &AccessInfo, (memory, _): Region, stretch: Stretch) -> bool {
        info.writes() && memory == Memory::Global && self.keeps(stretch, info.bytes())
    }

    /// Whether every lane finds memory that is known to be written, and leaves it so.
    #[inline(always)]
    fn is_known(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (memory, base): Region,
        stretch: Stretch,
    ) -> bool {
        if !self.leaves_written(request, stretch) {
            return false;
        }
        let Some((_, cta)) = &mut self.current else {
            return false;
        };
        let len = stretch.len(request.info.bytes());
        States::new(&mut self.global, cta, memory, at).covers(stretch.low - base, len)
    }

    /// Whether an access is aligned, and what it leaves is written if what it finds is.
    #[inline(always)]
    fn leaves_written(&self, request: &Request<'_>, stretch: Stretch) -> bool {
        let info = request.info;
        let bytes = info.bytes();
        (!info.writes() || request.defined)
            && stretch.bits & (bytes - 1) == 0
            && bytes.is_power_of_two()
            && !self.is_coming(info)
    }

    /// [`Checker::is_quiet`] for rows with gaps between them, such as those of a padded tile in shared memory.
    #[inline(always)]
    pub(crate) fn are_quiet(
        &mut self,
        mask: u32,
        request: &Request<'_>,
        addresses: &[u32; 32],
        stretch: Stretch,
    ) -> bool {
        if request.info.space != Space::Shared || !self.leaves_written(request, stretch) {
            return false;
        }
        let Some((_, cta)) = &self.current else {
            return false;
        };
        let end = stretch
            .low
            .saturating_add(stretch.len(request.info.bytes()));
        let Some(states) = cta.shared.get(stretch.low as usize..end as usize) else {
            return false;
        };
        let first = stretch.low as u32;
        match request.info.bytes() {
            4 => are_written::<4>(states, addresses, first, mask),
            8 => are_written::<8>(states, addresses, first, mask),
            16 => are_written::<16>(states, addresses, first, mask),
            _ => false,
        }
    }

    /// Whether what an access writes is there only after a wait.
    #[inline(always)]
    pub(super) fn is_coming(&self, info: &AccessInfo) -> bool {
        info.asynchronous && self.findings.wants_copies()
    }

    /// The memory that all lanes access, and where it begins.
    #[inline(always)]
    fn common_memory(&self, at: &At<'_>, info: &AccessInfo, stretch: Stretch) -> Option<Region> {
        let len = stretch.len(info.bytes());
        match info.space {
            Space::Global => Some((Memory::Global, 0)),
            Space::Shared => Some((Memory::Shared, 0)),
            Space::Local => Some((Memory::Local, 0)),
            // What is neither one constant nor the same for all lanes is rare.
            Space::Const => at
                .subject
                .is_constant(stretch.low, len)
                .then_some((Memory::Global, 0)),
            Space::Generic => {
                let shared = at.view.own.shared;
                let last = stretch.high.wrapping_add(info.bytes() - 1);
                let within = stretch.high - stretch.low < WINDOW;
                if within
                    && stretch.low.wrapping_sub(shared) < WINDOW
                    && last.wrapping_sub(shared) < WINDOW
                {
                    return Some((Memory::Shared, shared));
                }
                (stretch.low >= GLOBAL_BASE && last < FOREIGN && last >= stretch.low)
                    .then_some((Memory::Global, 0))
            }
        }
    }

    /// Whether every lane is in bounds, aligned, and finds written memory or writes; the states of what is written
    /// are noted then.
    #[inline(always)]
    fn is_plain(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (memory, base): Region,
        shape: &Pattern,
        stretch: Stretch,
        stored: &dyn Stored,
    ) -> bool {
        let info = request.info;
        let bytes = info.bytes();
        let coming = self.is_coming(info);
        let Some((_, cta)) = &mut self.current else {
            return false;
        };
        if info.writes() && !request.defined || !bytes.is_power_of_two() {
            return false;
        }
        let mut states = States::new(&mut self.global, cta, memory, at);
        let reads = info.access == Access::Read || info.access == Access::Atomic;
        let value = if coming {
            state::PENDING
        } else {
            state::WRITTEN
        };
        let (start, len) = (stretch.low - base, stretch.len(bytes));
        let inside = shape.inside(bytes, base);
        let together = match shape {
            Pattern::Run { .. } | Pattern::Same(_) => true,
            Pattern::Apart(_) => is_packed(&inside, at.mask, (start, len), bytes),
        };
        let fine = if together && memory != Memory::Local {
            stretch.bits & (bytes - 1) == 0
                && match states.of(start, len, 0) {
                    Some(all) if reads => is_written(all),
                    Some(all) => write(all, value),
                    None => false,
                }
        } else {
            let value = (!reads).then_some(value);
            let first = at.warp * 32;
            match bytes {
                1 => states.rows::<1>(&inside, at.mask, first, value),
                2 => states.rows::<2>(&inside, at.mask, first, value),
                4 => states.rows::<4>(&inside, at.mask, first, value),
                8 => states.rows::<8>(&inside, at.mask, first, value),
                16 => states.rows::<16>(&inside, at.mask, first, value),
                32 => states.rows::<32>(&inside, at.mask, first, value),
                _ => false,
            }
        };
        if fine && !coming {
            states.learn(start, len);
        }
        if fine && coming {
            if together {
                states.forget(start, len);
            }
            let together = together.then_some((start as u32, len as u32));
            let addresses = inside.map(|inside| inside as u32);
            self.depart(at, request, at.mask, (addresses, together), stored);
        }
        fine
    }
}

/// Whether the accesses of `mask`, which lie in a range, fill it.
#[inline(always)]
fn is_packed(inside: &[u64; 32], mask: u32, (start, len): (u64, u64), bytes: u64) -> bool {
    let count = mask.count_ones();
    if len != bytes * u64::from(count) || !bytes.is_power_of_two() {
        return false;
    }
    let log = bytes.trailing_zeros();
    let mut filled = 0;
    for (lane, inside) in inside.iter().enumerate() {
        let place = (inside.wrapping_sub(start) >> log) as u32 & 31;
        filled |= (mask >> lane & 1) << place;
    }
    filled == !0 >> (32 - count)
}
