//! What the checker says to an access of a warp: bounds, alignment, initialisation, and the order of accesses.
//!
//! Most accesses are of neighbours or of rows, to memory that was written, by threads that clash with nobody: these
//! are settled for all lanes at once. Anything else is looked at lane by lane.

use super::{
    Access, Allocation, Kind, Place,
    cell::{self, Cell},
    checker::{At, Checker, Cta, Mark, Pending, thread},
    clock::Order,
    history::{Epoch, SECTOR, Seen, Who},
    memory::{Global, state},
    report::New,
};
use crate::memory::{LOCAL_BASE, SHARED_BASE, WINDOW};

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
    /// An atomic whose result is of no account to what it leaves.
    pub(crate) replaces: bool,
    /// Where what is known of each element's register is.
    pub(crate) values: [Option<u32>; MOST],
}

impl AccessInfo {
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.element) * u64::from(self.count)
    }

    fn writes(&self) -> bool {
        self.access != Access::Read
    }
}

/// Where the active lanes access.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// Lane `first` at an address, and the `count - 1` behind it at those that follow.
    Run { start: u64, first: u32, count: u32 },
    /// All at one.
    Same(u64),
    /// Anywhere.
    Apart(&'a [u64; 32]),
}

/// A memory as one lane sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Global,
    Shared,
    Local,
}

/// An access and who makes it.
pub(crate) struct Request<'a> {
    pub(crate) info: &'a AccessInfo,
    /// Its number in the program.
    pub(crate) number: u32,
    /// Whether no element of a store may be undefined.
    pub(crate) defined: bool,
}

/// What an access may do.
pub(crate) enum Answer {
    /// All that it wants, and all it reads is defined.
    Clean,
    /// What was found of it.
    Found {
        /// Lanes that must not do it.
        bad: u32,
        /// What it reads.
        undefined: Box<Undefined>,
    },
}

/// What the slow way needs to know of a store.
pub(crate) trait Stored {
    /// Undefined bytes of element `k`, lane by lane.
    fn undefined(&self, k: usize) -> Option<&[u32; 32]>;
    /// Lanes that store what is there already, or what another lane stores to the same place.
    fn same(&self) -> u32;
}

impl Checker {
    /// Checks an access of all lanes and notes it; nothing is noted if it is not plain, which [`Checker::look`] is for.
    #[inline(always)]
    pub(crate) fn access(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        shape: Shape<'_>,
        stored: &dyn Stored,
    ) -> Option<Answer> {
        let info = request.info;
        let memory = self.common_memory(at, info, shape)?;
        if !self.is_plain(at, request, memory, shape) {
            return None;
        }
        if memory.0 != Memory::Local && self.findings.wants_races() {
            self.order_all(at, request, memory, shape, stored);
        }
        Some(Answer::Clean)
    }

    /// The memory that all lanes access, and where it begins.
    #[inline(always)]
    fn common_memory(
        &self,
        at: &At<'_>,
        info: &AccessInfo,
        shape: Shape<'_>,
    ) -> Option<(Memory, u64)> {
        let of = |address: u64| match info.space {
            Space::Global | Space::Const => (Memory::Global, 0),
            Space::Shared => (Memory::Shared, 0),
            Space::Local => (Memory::Local, 0),
            Space::Generic if address.wrapping_sub(SHARED_BASE) < WINDOW => {
                (Memory::Shared, SHARED_BASE)
            }
            Space::Generic
                if address.wrapping_sub(LOCAL_BASE) < WINDOW && at.program.local_bytes != 0 =>
            {
                (Memory::Local, LOCAL_BASE)
            }
            Space::Generic => (Memory::Global, 0),
        };
        match shape {
            Shape::Same(address) => Some(of(address)),
            Shape::Run { start, count, .. } => {
                let last = start.wrapping_add(info.bytes() * u64::from(count) - 1);
                let first = of(start);
                (info.space != Space::Generic || first == of(last)).then_some(first)
            }
            Shape::Apart(addresses) => {
                let first = of(addresses[at.mask.trailing_zeros() as usize & 31]);
                let agree = |lane: u32| of(addresses[lane as usize]) == first;
                (info.space != Space::Generic || at.lanes().all(agree)).then_some(first)
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
        (memory, base): (Memory, u64),
        shape: Shape<'_>,
    ) -> bool {
        let info = request.info;
        let bytes = info.bytes();
        let Some((_, cta)) = &mut self.current else {
            return false;
        };
        if info.writes() && !request.defined || !bytes.is_power_of_two() {
            return false;
        }
        let mut states = States {
            global: &mut self.global,
            cta,
            memory,
            own: u64::from(at.program.local_bytes),
        };
        let thread = u64::from(at.warp * 32);
        let reads = info.access != Access::Write;
        match shape {
            Shape::Run { start, count, .. } if memory != Memory::Local && !info.asynchronous => {
                let len = bytes * u64::from(count);
                if !start.is_multiple_of(bytes) {
                    return false;
                }
                match states.of(start - base, len, thread) {
                    Some(all) if reads => is_written(all),
                    Some(all) => write(all),
                    None => false,
                }
            }
            Shape::Same(address) if memory != Memory::Local && !info.asynchronous => {
                if !address.is_multiple_of(bytes) {
                    return false;
                }
                match states.of(address - base, bytes, thread) {
                    Some(all) if reads => is_written(all),
                    Some(all) => write(all),
                    None => false,
                }
            }
            _ => {
                let address = |lane: u32| match shape {
                    Shape::Run { start, first, .. } => {
                        start.wrapping_add(u64::from(lane - first) * bytes)
                    }
                    Shape::Same(address) => address,
                    Shape::Apart(addresses) => addresses[lane as usize],
                };
                let mut wrong = false;
                let mut rest = at.mask;
                while rest != 0 {
                    let lane = rest.trailing_zeros();
                    rest &= rest - 1;
                    let address = address(lane);
                    wrong |= !address.is_multiple_of(bytes);
                    let all =
                        states.of(address.wrapping_sub(base), bytes, thread + u64::from(lane));
                    wrong |= !all.is_some_and(|all| {
                        if reads {
                            is_written_row(all)
                        } else {
                            is_writable(all)
                        }
                    });
                }
                if wrong || reads {
                    return !wrong;
                }
                let value = if info.asynchronous {
                    state::PENDING
                } else {
                    state::WRITTEN
                };
                let mut pending = [0; 32];
                for lane in at.lanes() {
                    let inside = address(lane).wrapping_sub(base);
                    pending[lane as usize] = inside as u32;
                    if let Some(all) = states.of(inside, bytes, thread + u64::from(lane)) {
                        all.fill(value);
                    }
                }
                if info.asynchronous {
                    cta.pending[at.warp as usize].push(Pending {
                        lanes: at.mask,
                        group: None,
                        addresses: pending,
                        len: bytes as u32,
                    });
                }
                true
            }
        }
    }

    /// The cell of an access of a warp, without lanes.
    #[inline(always)]
    fn mark(&mut self, at: &At<'_>, request: &Request<'_>, memory: Memory) -> Option<Cell> {
        let (_, cta) = self.current.as_mut()?;
        let of_global = usize::from(memory == Memory::Global);
        let accesses = at.program.accesses.len();
        let slot = 2 * (at.warp as usize * accesses + request.number as usize) + of_global;
        let phase = cta.warps.get(at.warp as usize)?.phase();
        let mark = cta.marks.get(slot)?;
        if mark.phase == phase {
            return Some(mark.cell);
        }
        self.new_mark(at, request, memory, slot)
    }

    #[inline(never)]
    fn new_mark(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        memory: Memory,
        slot: usize,
    ) -> Option<Cell> {
        let (_, cta) = self.current.as_mut()?;
        let clock = cta.warps.get(at.warp as usize)?;
        let order = request.info.order;
        let epoch = Epoch {
            moment: clock.moment(),
            launch: self.launch,
            span: at.span,
            strong: order.strong,
            cta_scope: order.cta_scope,
        };
        let history = match memory {
            Memory::Global => &mut self.history,
            Memory::Shared | Memory::Local => &mut cta.history,
        };
        let constant = request.info.constant && memory == Memory::Global;
        let cell = cell::mark(history.add(epoch), clock.number(), constant);
        *cta.marks.get_mut(slot)? = Mark {
            phase: clock.phase(),
            cell,
        };
        Some(cell)
    }

    /// Notes the accesses of all lanes, which are in bounds.
    #[inline(always)]
    fn order_all(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (memory, base): (Memory, u64),
        shape: Shape<'_>,
        stored: &dyn Stored,
    ) {
        let info = request.info;
        let Some(mark) = self.mark(at, request, memory) else {
            return;
        };
        let bytes = info.bytes();
        let log = bytes.trailing_zeros();
        if let Shape::Run {
            start,
            first,
            count,
        } = shape
        {
            let start = start - base;
            let len = bytes * u64::from(count);
            let whole = start.is_multiple_of(SECTOR) && len.is_multiple_of(SECTOR);
            if whole && bytes <= SECTOR && !info.order.strong {
                let now = cell::of_lane(mark, first, log);
                let step = (SECTOR >> log) << cell::LANE;
                let writes = info.writes();
                let count = (len / SECTOR) as usize;
                let (_, cta) = match &mut self.current {
                    Some(current) => current,
                    None => return,
                };
                let history = match memory {
                    Memory::Global => &mut self.history,
                    Memory::Shared | Memory::Local => &mut cta.history,
                };
                if history.sweep(start, count, (now, step), writes) {
                    return;
                }
            }
        }
        self.order_each(at, request, (memory, base, mark), shape, stored);
    }

    #[inline(never)]
    fn order_each(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (memory, base, mark): (Memory, u64, Cell),
        shape: Shape<'_>,
        stored: &dyn Stored,
    ) {
        let bytes = request.info.bytes();
        let mut each = |lane: u32, address: u64| {
            self.order(at, request, lane, (memory, address - base, mark), stored);
        };
        match shape {
            Shape::Run { start, first, .. } => {
                for lane in at.lanes() {
                    each(lane, start + u64::from(lane - first) * bytes);
                }
            }
            // Of many reads of one place the first and the last are as good as all.
            Shape::Same(address) if request.info.access == Access::Read => {
                let (first, last) = (at.mask.trailing_zeros(), 31 - at.mask.leading_zeros());
                each(first, address);
                if last != first {
                    each(last, address);
                }
            }
            Shape::Same(address) => at.lanes().for_each(|lane| each(lane, address)),
            Shape::Apart(addresses) => at
                .lanes()
                .for_each(|lane| each(lane, addresses[lane as usize])),
        }
    }

    /// Notes one lane's access: races, and what strong accesses order.
    #[inline(always)]
    fn order(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        lane: u32,
        (memory, inside, mark): (Memory, u64, Cell),
        stored: &dyn Stored,
    ) {
        let info = request.info;
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        let index = *index;
        let Some(clock) = cta.warps.get(at.warp as usize) else {
            return;
        };
        let who = Who {
            clock,
            launch: self.launch,
            before: &self.before,
            strong: info.order.strong,
            cta_scope: info.order.cta_scope,
            writes: info.writes(),
            warps: self.warps,
        };
        let history = match memory {
            Memory::Global => &mut self.history,
            Memory::Shared | Memory::Local => &mut cta.history,
        };
        let now = cell::of_lane(mark, lane, 4);
        let found = history.touch(inside, info.bytes(), now, &who);
        if info.order.strong {
            self.synchronize(at, info, (memory, inside), (index, lane));
        }
        if let Some((seen, address)) = found {
            let same = info.access == Access::Write && seen.writes && !seen.constant;
            let kind = match memory {
                _ if same && stored.same() >> lane & 1 != 0 => Kind::BenignRace,
                Memory::Global => Kind::RaceGlobal,
                Memory::Shared | Memory::Local => Kind::RaceShared,
            };
            self.race(at, info, lane, (kind, memory, address), &seen);
        }
    }

    /// What a strong access makes known.
    #[inline(never)]
    fn synchronize(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        (memory, inside): (Memory, u64),
        (index, lane): (u32, u32),
    ) {
        let Some((_, cta)) = &mut self.current else {
            return;
        };
        let Some(clock) = cta.warps.get_mut(at.warp as usize) else {
            return;
        };
        let cta_of = if memory == Memory::Global {
            None
        } else {
            Some(index)
        };
        let place = self.sync.entry((cta_of, inside)).or_default();
        if info.access != Access::Write {
            place.read(info.order, index, clock, lane);
        }
        if info.writes() {
            place.write(info.order, index, clock, info.access == Access::Atomic);
        }
    }

    /// The same for accesses that are not plain, lane by lane.
    #[inline(never)]
    pub(crate) fn look(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        addresses: &[u64; 32],
        stored: &dyn Stored,
    ) -> Answer {
        let mut bad = 0;
        let mut undefined = Box::new([[0; 32]; MOST]);
        for lane in at.lanes() {
            let address = addresses[lane as usize];
            let gaps = std::array::from_fn(|k| stored.undefined(k).map_or(0, |u| u[lane as usize]));
            match self.lane(at, request, (lane, address), gaps, stored) {
                Some(read) => {
                    for (k, bytes) in read.into_iter().enumerate() {
                        undefined[k][lane as usize] = bytes;
                    }
                }
                None => bad |= 1 << lane,
            }
        }
        Answer::Found { bad, undefined }
    }

    fn resolve(at: &At<'_>, info: &AccessInfo, address: u64) -> (Memory, u64) {
        let shared = address.wrapping_sub(SHARED_BASE);
        let local = address.wrapping_sub(LOCAL_BASE);
        match info.space {
            Space::Global | Space::Const => (Memory::Global, address),
            Space::Shared => (Memory::Shared, address),
            Space::Local => (Memory::Local, address),
            Space::Generic if shared < WINDOW => (Memory::Shared, shared),
            Space::Generic if local < WINDOW && at.program.local_bytes != 0 => {
                (Memory::Local, local)
            }
            Space::Generic => (Memory::Global, address),
        }
    }

    /// One lane's access: the undefined bytes of what it reads, or nothing if it must not be done.
    fn lane(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (lane, address): (u32, u64),
        gaps: [u32; MOST],
        stored: &dyn Stored,
    ) -> Option<[u32; MOST]> {
        let info = request.info;
        let bytes = info.bytes();
        let (memory, inside) = Self::resolve(at, info, address);
        let place = |access| at.place(lane, Some(access));
        if !address.is_multiple_of(bytes.next_power_of_two()) {
            let allocation = self.nearest(at, memory, inside);
            self.add(New {
                kind: Kind::Misaligned,
                place: place(info.access),
                other: None,
                address: Some(address),
                allocation,
                message: format!(
                    "{bytes} bytes at 0x{address:x}, which is not a multiple of {bytes}"
                ),
            });
            return None;
        }
        let (_, cta) = self.current.as_mut()?;
        let mut states = States {
            global: &mut self.global,
            cta,
            memory,
            own: u64::from(at.program.local_bytes),
        };
        let states = states.of(inside, bytes, u64::from(at.warp * 32 + lane));
        let worst = match &states {
            None => state::NONE,
            Some(states) if states.contains(&state::NONE) => state::NONE,
            Some(states) if states.contains(&state::FREED) => state::FREED,
            Some(states) if states.contains(&state::PENDING) => state::PENDING,
            Some(states) if states.contains(&state::FRESH) => state::FRESH,
            Some(_) => state::WRITTEN,
        };
        if matches!(worst, state::NONE | state::FREED) {
            self.out_of_bounds(at, info, lane, address, (memory, inside), worst);
            return None;
        }
        let mut read = [0; MOST];
        if let Some(states) = states {
            if info.access != Access::Write && worst != state::WRITTEN {
                for (k, part) in states.chunks(info.element as usize).enumerate().take(MOST) {
                    let fresh = part.iter().enumerate().filter(|(_, s)| **s == state::FRESH);
                    read[k] = fresh.fold(0, |bits, (byte, _)| bits | 1 << byte.min(31));
                }
            }
            if info.access != Access::Read {
                let element = info.element as usize;
                for (byte, state) in states.iter_mut().enumerate() {
                    let gap = gaps[(byte / element).min(MOST - 1)] >> (byte % element).min(31) & 1;
                    *state = match (info.asynchronous, gap) {
                        (true, _) => state::PENDING,
                        (false, 0) => state::WRITTEN,
                        (false, _) => state::FRESH,
                    };
                }
            }
        }
        if info.asynchronous {
            let mut addresses = [0; 32];
            addresses[lane as usize] = inside as u32;
            cta.pending[at.warp as usize].push(Pending {
                lanes: 1 << lane,
                group: None,
                addresses,
                len: bytes as u32,
            });
        } else if worst == state::PENDING {
            self.findings.add(New {
                kind: Kind::AsyncEarly,
                place: place(info.access),
                other: None,
                address: Some(address),
                allocation: at.program.shared.nearest(inside),
                message: "the asynchronous copy to this address was not waited for".to_owned(),
            });
        }
        if read != [0; MOST] {
            if !info.replaces {
                self.undefined_read(at, info, lane, address, (memory, inside));
            }
            if info.access == Access::Atomic {
                read = [0; MOST];
            }
        }
        if memory != Memory::Local
            && self.findings.wants_races()
            && let Some(mark) = self.mark(at, request, memory)
        {
            self.order(at, request, lane, (memory, inside, mark), stored);
        }
        Some(read)
    }

    pub(super) fn nearest(&self, at: &At<'_>, memory: Memory, inside: u64) -> Option<Allocation> {
        match memory {
            Memory::Global => self.global.nearest(inside),
            Memory::Shared => at.program.shared.nearest(inside),
            Memory::Local => at.program.local.nearest(inside),
        }
    }

    fn out_of_bounds(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        address: u64,
        (memory, inside): (Memory, u64),
        worst: u8,
    ) {
        let bytes = info.bytes();
        let allocation = self.nearest(at, memory, inside);
        let shared_window = address.wrapping_sub(SHARED_BASE) < WINDOW;
        let local_window = address.wrapping_sub(LOCAL_BASE) < WINDOW;
        let other_space = match info.space {
            Space::Global | Space::Const | Space::Shared | Space::Local => {
                shared_window || local_window
            }
            Space::Generic => address < u64::from(at.view.shared).max(1 << 12),
        };
        let in_device = self
            .global
            .nearest(address)
            .is_some_and(|block| block.distance == 0);
        let other_space =
            other_space || in_device && matches!(info.space, Space::Shared | Space::Local);
        let (kind, what) = match (worst, memory) {
            (state::FREED, _) => (Kind::UseAfterFree, "memory that was given back"),
            _ if other_space => (Kind::BadSpace, "an address of another state space"),
            (_, Memory::Global) if info.space == Space::Const => {
                (Kind::OobConst, "outside of every constant")
            }
            (_, Memory::Global) => (Kind::OobGlobal, "outside of every allocation"),
            (_, Memory::Shared) if inside >= u64::from(at.view.shared) => {
                (Kind::OobShared, "behind the shared memory of the launch")
            }
            (_, Memory::Shared) => (Kind::OobShared, "outside of every shared variable"),
            (_, Memory::Local) => (Kind::OobLocal, "outside of every local variable"),
        };
        self.add(New {
            kind,
            place: at.place(lane, Some(info.access)),
            other: None,
            address: Some(address),
            allocation,
            message: format!("{bytes} bytes at 0x{address:x}: {what}"),
        });
    }

    fn race(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (kind, memory, address): (Kind, Memory, u64),
        seen: &Seen,
    ) {
        let launched = self.launches.iter().find(|l| l.number == seen.epoch.launch);
        let Some(launched) = launched else {
            return;
        };
        let warps = launched.block.iter().product::<u32>().div_ceil(32).max(1);
        let warp = seen.epoch.moment.warp;
        let number = warp / warps;
        let [x, y, _] = launched.grid.map(|n| n.max(1));
        let other = Place {
            kernel: launched.program.name.clone(),
            span: launched.program.span(seen.epoch.span),
            cta: [number % x, number / x % y, number / x / y],
            thread: thread(launched.block, warp % warps * 32 + seen.lane),
            access: Some(if seen.writes {
                Access::Write
            } else {
                Access::Read
            }),
        };
        let message = if seen.constant {
            "written in a launch that also reads it by ld.global.nc".to_owned()
        } else if seen.epoch.launch != self.launch {
            format!(
                "nothing orders this launch with the other one, which accesses 0x{address:x} too, and one of them writes"
            )
        } else {
            format!(
                "nothing orders this with the other access of 0x{address:x}, and one of them writes"
            )
        };
        self.findings.add(New {
            kind,
            place: at.place(lane, Some(info.access)),
            other: Some(other),
            address: Some(address),
            allocation: self.nearest(at, memory, address),
            message,
        });
    }
}

/// The states of one kind of memory.
struct States<'a> {
    global: &'a mut Global,
    cta: &'a mut Cta,
    memory: Memory,
    /// Bytes of a thread's local memory.
    own: u64,
}

impl States<'_> {
    /// The states of a range as a thread sees it; `None` where it is not in the memory.
    #[inline(always)]
    fn of(&mut self, inside: u64, len: u64, thread: u64) -> Option<&mut [u8]> {
        match self.memory {
            Memory::Global => self.global.states(inside, len),
            Memory::Shared => slice(&mut self.cta.shared, inside, len),
            Memory::Local => {
                let fits = inside.checked_add(len).is_some_and(|end| end <= self.own);
                let at = thread * self.own + inside;
                fits.then(|| slice(&mut self.cta.local, at, len)).flatten()
            }
        }
    }
}

/// Whether every byte was written.
#[inline(always)]
fn is_written(states: &[u8]) -> bool {
    states
        .iter()
        .fold(0, |all, state| all | (state ^ state::WRITTEN))
        == 0
}

/// The same for the few bytes of one lane.
#[inline(always)]
fn is_written_row(states: &[u8]) -> bool {
    const ALL: u64 = u64::from_ne_bytes([state::WRITTEN; 8]);
    let (rows, rest) = states.as_chunks::<8>();
    let mut off = rows
        .iter()
        .fold(0, |off, row| off | (u64::from_ne_bytes(*row) ^ ALL));
    if let Ok(row) = <[u8; 4]>::try_from(rest) {
        off |= u64::from(u32::from_ne_bytes(row) ^ ALL as u32);
    } else {
        off |= u64::from(!is_written(rest));
    }
    off == 0
}

/// Whether every byte may be written and none is on its way.
#[inline(always)]
fn is_writable(states: &[u8]) -> bool {
    let bad = states.iter().fold(0, |bad, state| {
        bad | u8::from(state.wrapping_sub(state::FRESH) > 1)
    });
    bad == 0
}

/// Notes that every byte is written, if all may be.
#[inline(always)]
fn write(states: &mut [u8]) -> bool {
    let fine = is_writable(states);
    if fine {
        states.fill(state::WRITTEN);
    }
    fine
}

pub(super) fn slice(states: &mut [u8], address: u64, len: u64) -> Option<&mut [u8]> {
    let from = usize::try_from(address).ok()?;
    let to = from.checked_add(usize::try_from(len).ok()?)?;
    states.get_mut(from..to)
}
