//! The checker: what it knows of memory and of the order of things, and what it says to each access.

use super::{
    Access, Checks, Finding, Kind, Place,
    clock::{Known, Order, SyncPlace, WarpClock},
    memory::{Global, state},
    race::{Accesses, Seen, Who},
    report::{Findings, New},
};
use crate::{
    exec::LaunchView,
    lower::Program,
    memory::{LOCAL_BASE, SHARED_BASE, WINDOW},
};
use rustc_hash::{FxHashMap, FxHashSet};
use warpsmith_ptx::ir::Name;

/// The state space that an access names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Global,
    Const,
    Shared,
    Local,
    Generic,
}

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
    pub(crate) values: [Option<u32>; 4],
}

impl AccessInfo {
    fn bytes(&self) -> u64 {
        u64::from(self.element) * u64::from(self.count)
    }
}

/// Who runs: the program, the launch, the warp and its lanes.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) program: &'a Program,
    pub(crate) view: &'a LaunchView,
    pub(crate) warp: u32,
    pub(crate) mask: u32,
    pub(crate) span: u32,
}

impl At<'_> {
    pub(super) fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..32).filter(move |lane| mask >> lane & 1 != 0)
    }

    fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.view.block.map(|n| n.max(1));
        let index = warp * 32 + lane;
        [index % x, index / x % y, index / x / y]
    }

    pub(crate) fn place(&self, lane: u32, access: Option<Access>) -> Place {
        Place {
            kernel: self.program.name.clone(),
            span: self.program.span(self.span),
            cta: self.view.cta,
            thread: self.thread(self.warp, lane),
            access,
        }
    }
}

/// What an access may do.
pub(crate) struct Verdict {
    /// Lanes that must not do it.
    pub(crate) bad: u32,
    /// Undefined bytes of each element as bits, lane by lane.
    pub(crate) undefined: [[u32; 32]; 4],
}

/// A copy that nobody has waited for.
pub(super) struct Pending {
    pub(super) lane: u32,
    /// Its group, once that is committed.
    pub(super) group: Option<u32>,
    pub(super) address: u64,
    pub(super) len: u64,
}

pub(super) struct Cta {
    pub(super) shared: Vec<u8>,
    local: Vec<u8>,
    accesses: Accesses,
    pub(super) warps: Vec<WarpClock>,
    /// What the threads that have come to each barrier know, and what they have fenced.
    pub(super) barriers: [[Known; 2]; 16],
    pub(super) pending: Vec<Vec<Pending>>,
    pub(super) groups: Vec<[u32; 32]>,
}

/// Where an undefined value came from.
#[derive(Clone, Debug)]
struct Origin {
    kind: Kind,
    place: Place,
    address: u64,
    allocation: Option<super::Allocation>,
}

/// All of it, for one machine.
pub(crate) struct Checker {
    pub(super) findings: Findings,
    pub(crate) global: Global,
    launch: u32,
    accesses: Accesses,
    sync: FxHashMap<(Option<u32>, u64), SyncPlace>,
    constant: FxHashSet<u64>,
    pub(super) ctas: FxHashMap<u32, Cta>,
    warps: u32,
    origins: FxHashMap<u32, Origin>,
}

/// Bytes of a block of which is noted whether it was read as constant.
const BLOCK: u64 = 256;

/// A memory as one lane sees it.
enum Memory {
    Global,
    Shared,
    Local,
}

pub(super) fn linear(view: &LaunchView) -> u32 {
    view.cta[0] + view.grid[0] * (view.cta[1] + view.grid[1] * view.cta[2])
}

impl Checker {
    pub(crate) fn new(checks: Checks, base: u64, size: u64) -> std::io::Result<Checker> {
        Ok(Checker {
            findings: Findings::new(checks),
            global: Global::new(base, size)?,
            launch: 0,
            accesses: Accesses::default(),
            sync: FxHashMap::default(),
            constant: FxHashSet::default(),
            ctas: FxHashMap::default(),
            warps: 1,
            origins: FxHashMap::default(),
        })
    }

    /// What was found since the last call.
    pub(crate) fn take(&mut self) -> Vec<Finding> {
        self.findings.take()
    }

    pub(crate) fn add(&mut self, new: New) {
        self.findings.add(new);
    }

    /// A launch begins.
    pub(crate) fn start_launch(&mut self, block: [u32; 3]) {
        self.launch += 1;
        self.accesses.clear();
        self.sync.clear();
        self.constant.clear();
        self.ctas.clear();
        self.warps = block.iter().product::<u32>().div_ceil(32).max(1);
    }

    /// A CTA begins.
    pub(crate) fn start_cta(&mut self, program: &Program, view: &LaunchView) {
        let (index, warps) = (linear(view), self.warps);
        let own = program.local.states(u64::from(program.local_bytes), None);
        let cta = Cta {
            shared: program
                .shared
                .states(u64::from(view.shared), program.open_shared),
            local: own.repeat(warps as usize * 32),
            accesses: Accesses::default(),
            warps: (0..warps)
                .map(|warp| WarpClock::new(index.wrapping_mul(warps).wrapping_add(warp)))
                .collect(),
            barriers: Default::default(),
            pending: (0..warps).map(|_| Vec::new()).collect(),
            groups: vec![[0; 32]; warps as usize],
        };
        self.ctas.insert(index, cta);
    }

    /// A CTA has ended.
    pub(crate) fn end_cta(&mut self, view: &LaunchView) {
        self.ctas.remove(&linear(view));
    }

    fn resolve(&self, at: &At<'_>, info: &AccessInfo, address: u64) -> (Memory, u64) {
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

    /// Checks an access of each lane and notes it.
    pub(crate) fn access(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        addresses: &[u64; 32],
        undefined: &[[u32; 32]; 4],
        same: u32,
    ) -> Verdict {
        let mut verdict = Verdict {
            bad: 0,
            undefined: [[0; 32]; 4],
        };
        for lane in at.lanes() {
            let address = addresses[lane as usize];
            let stored: [u32; 4] = std::array::from_fn(|k| undefined[k][lane as usize]);
            let same = same >> lane & 1 != 0;
            match self.lane(at, info, lane, (address, same), stored) {
                Some(read) => {
                    for (k, bytes) in read.into_iter().enumerate() {
                        verdict.undefined[k][lane as usize] = bytes;
                    }
                }
                None => verdict.bad |= 1 << lane,
            }
        }
        verdict
    }

    /// One lane's access: the undefined bytes of what it reads, or nothing if it must not be done.
    fn lane(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (address, same): (u64, bool),
        stored: [u32; 4],
    ) -> Option<[u32; 4]> {
        let bytes = info.bytes();
        let (memory, inside) = self.resolve(at, info, address);
        let place = |access| at.place(lane, Some(access));
        if !address.is_multiple_of(bytes.next_power_of_two()) {
            self.findings.add(New {
                kind: Kind::Misaligned,
                place: place(info.access),
                other: None,
                address: Some(address),
                allocation: self.nearest(at, &memory, inside),
                message: format!(
                    "{bytes} bytes at 0x{address:x}, which is not a multiple of {bytes}"
                ),
            });
            return None;
        }
        let index = linear(at.view);
        let thread = u64::from(at.warp * 32 + lane);
        let cta = self.ctas.get_mut(&index)?;
        let states = match memory {
            Memory::Global => self.global.states(inside, bytes),
            Memory::Shared => slice(&mut cta.shared, inside, bytes),
            Memory::Local => {
                let own = u64::from(at.program.local_bytes);
                if inside.checked_add(bytes).is_some_and(|end| end <= own) {
                    slice(&mut cta.local, thread * own + inside, bytes)
                } else {
                    None
                }
            }
        };
        let worst = match &states {
            None => state::NONE,
            Some(states) if states.contains(&state::NONE) => state::NONE,
            Some(states) if states.contains(&state::FREED) => state::FREED,
            Some(states) if states.contains(&state::PENDING) => state::PENDING,
            Some(states) if states.contains(&state::FRESH) => state::FRESH,
            Some(_) => state::WRITTEN,
        };
        if matches!(worst, state::NONE | state::FREED) {
            self.out_of_bounds(at, info, lane, address, (&memory, inside), worst);
            return None;
        }
        let mut read = [0; 4];
        if let Some(states) = states {
            if info.access != Access::Write && worst != state::WRITTEN {
                for (k, part) in states.chunks(info.element as usize).enumerate().take(4) {
                    let fresh = part.iter().enumerate().filter(|(_, s)| **s == state::FRESH);
                    read[k] = fresh.fold(0, |bits, (byte, _)| bits | 1 << byte.min(31));
                }
            }
            if info.access != Access::Read {
                let element = info.element as usize;
                for (byte, state) in states.iter_mut().enumerate() {
                    let gap = stored[(byte / element).min(3)] >> (byte % element).min(31) & 1;
                    *state = match (info.asynchronous, gap) {
                        (true, _) => state::PENDING,
                        (false, 0) => state::WRITTEN,
                        (false, _) => state::FRESH,
                    };
                }
            }
        }
        if info.asynchronous {
            cta.pending[at.warp as usize].push(Pending {
                lane,
                group: None,
                address: inside,
                len: bytes,
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
        if read != [0; 4] {
            if !info.replaces {
                self.undefined_read(at, info, lane, address, (&memory, inside));
            }
            if info.access == Access::Atomic {
                read = [0; 4];
            }
        }
        self.order(at, info, lane, (&memory, inside), (index, same));
        Some(read)
    }

    fn nearest(&self, at: &At<'_>, memory: &Memory, inside: u64) -> Option<super::Allocation> {
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
        (memory, inside): (&Memory, u64),
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
        self.findings.add(New {
            kind,
            place: at.place(lane, Some(info.access)),
            other: None,
            address: Some(address),
            allocation,
            message: format!("{bytes} bytes at 0x{address:x}: {what}"),
        });
    }

    fn undefined_read(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        address: u64,
        (memory, inside): (&Memory, u64),
    ) {
        let kind = match memory {
            Memory::Global => Kind::UninitGlobal,
            Memory::Shared => Kind::UninitShared,
            Memory::Local => Kind::UninitLocal,
        };
        let origin = Origin {
            kind,
            place: at.place(lane, Some(info.access)),
            address,
            allocation: self.nearest(at, memory, inside),
        };
        if info.access == Access::Atomic {
            let place = origin.place.clone();
            self.undefined(place, Some(origin));
            return;
        }
        for slot in info.values.iter().flatten() {
            self.origins.insert(*slot, origin.clone());
        }
    }

    fn undefined(&mut self, place: Place, origin: Option<Origin>) {
        let kind = origin.as_ref().map_or(Kind::UninitRegister, |o| o.kind);
        let message = match kind {
            Kind::UninitRegister => "a register is used that nothing was written to".to_owned(),
            _ => "a value is used that was read from memory nobody wrote".to_owned(),
        };
        self.findings.add(New {
            kind,
            place,
            address: origin.as_ref().map(|o| o.address),
            allocation: origin.as_ref().and_then(|o| o.allocation.clone()),
            other: origin.map(|o| o.place),
            message,
        });
    }

    /// A value that may be undefined is used where it matters.
    pub(crate) fn used(&mut self, at: &At<'_>, slot: u32, lanes: u32) {
        let origin = self.origins.get(&slot).cloned();
        let place = at.place(lanes.trailing_zeros() & 31, None);
        self.undefined(place, origin);
    }

    /// What is known of one register is known of another.
    pub(crate) fn copied(&mut self, from: u32, to: u32) {
        match self.origins.get(&from).cloned() {
            Some(origin) => self.origins.insert(to, origin),
            None => self.origins.remove(&to),
        };
    }

    /// Races, and what strong accesses order.
    fn order(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (memory, inside): (&Memory, u64),
        (index, same): (u32, bool),
    ) {
        let kind = match memory {
            Memory::Local => return,
            Memory::Global => Kind::RaceGlobal,
            Memory::Shared => Kind::RaceShared,
        };
        if !self.findings.wants(kind) && !self.findings.wants(Kind::BenignRace) {
            return;
        }
        let bytes = info.bytes();
        let writes = info.access != Access::Read;
        let Some(cta) = self.ctas.get_mut(&index) else {
            return;
        };
        let Cta {
            warps, accesses, ..
        } = cta;
        let clock = &mut warps[at.warp as usize];
        let is_global = matches!(memory, Memory::Global);
        if is_global && info.constant {
            for block in inside / BLOCK..=(inside + bytes - 1) / BLOCK {
                self.constant.insert(block);
            }
            return;
        }
        let who = Who {
            clock,
            launch: self.launch,
            lane,
            span: at.span,
            order: info.order,
            writes,
            warps: self.warps,
        };
        let found = if is_global {
            self.accesses.access(inside, bytes, &who)
        } else {
            accesses.access(inside, bytes, &who)
        };
        let kind = match &found {
            Some((seen, _)) if seen.writes && info.access == Access::Write && same => {
                Kind::BenignRace
            }
            Some(_) | None => kind,
        };
        if info.order.strong {
            let key = (if is_global { None } else { Some(index) }, inside);
            let place = self.sync.entry(key).or_default();
            if info.access != Access::Write {
                place.read(info.order, index, clock, lane);
            }
            if writes {
                place.write(info.order, index, clock, info.access == Access::Atomic);
            }
        }
        if let Some((seen, address)) = found {
            self.race(at, info, lane, (kind, memory, address), &seen);
        }
        let read_as_constant = is_global && writes && self.constant.contains(&(inside / BLOCK));
        if read_as_constant && self.global.nearest(inside).is_some() {
            self.findings.add(New {
                kind: Kind::RaceGlobal,
                place: at.place(lane, Some(info.access)),
                other: None,
                address: Some(inside),
                allocation: self.global.nearest(inside),
                message: "written in a launch that also reads it by ld.global.nc".to_owned(),
            });
        }
    }

    fn race(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (kind, memory, address): (Kind, &Memory, u64),
        seen: &Seen,
    ) {
        let number = seen.stamp.warp / self.warps;
        let [x, y, _] = at.view.grid.map(|n| n.max(1));
        let place = at.place(lane, Some(info.access));
        let other = Place {
            kernel: at.program.name.clone(),
            span: at.program.span(seen.span),
            cta: [number % x, number / x % y, number / x / y],
            thread: at.thread(seen.stamp.warp % self.warps, u32::from(seen.stamp.lane)),
            access: Some(if seen.writes {
                Access::Write
            } else {
                Access::Read
            }),
        };
        let message = format!(
            "nothing orders this with the other access of 0x{address:x}, and one of them writes"
        );
        self.findings.add(New {
            kind,
            place,
            other: Some(other),
            address: Some(address),
            allocation: self.nearest(at, memory, address),
            message,
        });
    }
}

/// The host's own place.
pub(crate) fn nowhere() -> Place {
    Place {
        kernel: Name::Borrowed(""),
        span: warpsmith_ptx::ir::Span::None,
        cta: [0; 3],
        thread: [0; 3],
        access: None,
    }
}

pub(super) fn slice(states: &mut [u8], address: u64, len: u64) -> Option<&mut [u8]> {
    let from = usize::try_from(address).ok()?;
    let to = from.checked_add(usize::try_from(len).ok()?)?;
    states.get_mut(from..to)
}
