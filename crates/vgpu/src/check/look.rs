//! Accesses that are not plain, lane by lane.

use super::{
    Access, Allocation, Kind, Space,
    access::{AccessInfo, Answer, MOST, Memory, Request, Stored},
    checker::{At, Checker},
    memory::state,
    report::New,
    states::States,
};
use crate::memory::{Foreign, PARAM_BASE, WINDOW, lent};

/// What one lane stores.
pub(super) struct Stores<'a> {
    /// Undefined bytes of each element.
    pub(super) gaps: [u32; MOST],
    pub(super) stored: &'a dyn Stored,
}

impl Checker {
    /// [`Checker::access`] for accesses that are not plain.
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
        let gaps: [_; MOST] = std::array::from_fn(|k| stored.undefined(k));
        for lane in at.lanes() {
            let address = addresses[lane as usize];
            let stores = Stores {
                gaps: gaps.map(|gaps| gaps.map_or(0, |gaps| gaps[lane as usize])),
                stored,
            };
            match self.lane(at, request, (lane, address), &stores) {
                Some(read) => {
                    for (k, bytes) in read.into_iter().enumerate() {
                        undefined[k][lane as usize] = bytes;
                    }
                }
                None => bad |= 1 << lane,
            }
        }
        Answer { bad, undefined }
    }

    /// The memory that a lane accesses, and where in it.
    pub(super) fn resolve(
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        address: u64,
    ) -> (Memory, u64) {
        let own = &at.view.own;
        let shared = address.wrapping_sub(own.shared);
        let local = address.wrapping_sub(own.local(at.warp * 32 + lane));
        let param = address.wrapping_sub(PARAM_BASE);
        match info.space {
            Space::Global | Space::Const => (Memory::Global, address),
            Space::Shared => (Memory::Shared, address),
            Space::Local => (Memory::Local, address),
            Space::Generic if shared < WINDOW => (Memory::Shared, shared),
            Space::Generic if local < WINDOW && at.subject.local_bytes != 0 => {
                (Memory::Local, local)
            }
            Space::Generic if param < WINDOW => (Memory::Param, param),
            Space::Generic => (Memory::Global, address),
        }
    }

    /// One lane's access: the undefined bytes of what it reads, or nothing if it must not be done.
    pub(super) fn lane(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (lane, address): (u32, u64),
        stores: &Stores<'_>,
    ) -> Option<[u32; MOST]> {
        let info = request.info;
        let bytes = info.bytes();
        if let Some(peer) = Self::peer_of(at, info, address) {
            return self.lane_of_peer(at, request, (lane, address), (peer, stores));
        }
        let (memory, inside) = Self::resolve(at, info, lane, address);
        let coming = self.is_coming(info);
        if !address.is_multiple_of(bytes.next_power_of_two()) {
            let allocation = self.nearest(at, memory, inside);
            self.add(New {
                kind: Kind::Misaligned,
                place: at.place(lane, Some(info.access)),
                other: None,
                address: Some(address),
                allocation,
                message: format!(
                    "{bytes} bytes at 0x{address:x}, which is not a multiple of {bytes}"
                ),
            });
            return None;
        }
        if memory == Memory::Param {
            return self.parameter(at, info, lane, (address, inside));
        }
        let gaps = &stores.gaps;
        let (_, cta) = self.current.as_mut()?;
        let mut states = States::new(&mut self.global, cta, memory, at);
        if info.writes() && (coming || *gaps != [0; MOST]) {
            states.forget(inside, bytes);
        }
        let states = states.of(inside, bytes, at.warp * 32 + lane);
        let worst = match &states {
            None => state::NONE,
            Some(states) if states.contains(&state::NONE) => state::NONE,
            Some(states) if states.contains(&state::FREED) => state::FREED,
            Some(states) if states.iter().any(|s| state::is_coming(*s)) => state::PENDING,
            Some(states) if states.contains(&state::FRESH) => state::FRESH,
            Some(_) => state::WRITTEN,
        };
        let outside = info.space == Space::Const && !at.subject.is_constant(address, bytes);
        let worst = if outside { state::NONE } else { worst };
        if matches!(worst, state::NONE | state::FREED) {
            return self.out_of_bounds(at, info, lane, address, (memory, inside), worst);
        }
        let to_constant = info.writes() && memory == Memory::Global;
        if to_constant && at.subject.touches_constant(inside, bytes) {
            let what = "constant memory, which kernels do not write";
            self.bad_space(at, info, lane, address, what);
            return None;
        }
        let mut read = [0; MOST];
        let clobbers = info.writes()
            && !info.object
            && states
                .as_ref()
                .is_some_and(|all| all.contains(&state::OBJECT));
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
                    *state = match (coming, gap) {
                        (true, 0) => state::PENDING,
                        (true, _) => state::HOLLOW,
                        (false, 0) if info.object && *state == state::OBJECT => state::OBJECT,
                        (false, 0) => state::WRITTEN,
                        (false, _) => state::FRESH,
                    };
                }
            }
        }
        if clobbers {
            self.clobbered(at, info, lane, (address, inside));
        }
        if worst == state::PENDING {
            self.too_early(at, info, lane, (address, inside));
        }
        if coming {
            let mut addresses = [0; 32];
            addresses[lane as usize] = inside as u32;
            let together = None;
            self.depart(at, request, 1 << lane, (addresses, together), stores.stored);
        }
        if to_constant && self.is_lent(inside, bytes) {
            self.overwritten(at, info, lane, inside);
        }
        if read != [0; MOST] {
            self.undefined_read(at, info, lane, address, (memory, inside));
            if !info.gives() {
                read = [0; MOST];
            }
        }
        if *gaps != [0; MOST] && info.writes() {
            self.leave_holes(at, info, lane, (memory, inside), gaps);
        }
        if memory != Memory::Local
            && !info.deferred
            && !clobbers
            && self.findings.wants_races()
            && let Some(mark) = self.mark(at, request, memory)
        {
            self.order(at, request, lane, (memory, inside, mark), stores.stored);
        }
        Some(read)
    }

    /// A generic access to the kernel's parameters, all of which the launch gave.
    fn parameter(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (address, inside): (u64, u64),
    ) -> Option<[u32; MOST]> {
        let bytes = info.bytes();
        let size = at.view.params.len() as u64;
        if info.writes() {
            let what = "the parameters of the kernel, which it does not write";
            self.bad_space(at, info, lane, address, what);
            return None;
        }
        if inside + bytes > size {
            self.add(New {
                kind: Kind::OobParam,
                place: at.place(lane, Some(info.access)),
                other: None,
                address: Some(address),
                allocation: None,
                message: format!(
                    "{bytes} bytes at offset {inside} of the {size} bytes of parameters"
                ),
            });
            return None;
        }
        Some([0; MOST])
    }

    fn bad_space(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        address: u64,
        what: &'static str,
    ) {
        let allocation = self.global.nearest(address);
        self.add(New {
            kind: Kind::BadSpace,
            place: at.place(lane, Some(info.access)),
            other: None,
            address: Some(address),
            allocation: allocation.filter(|block| block.distance == 0),
            message: format!("{} bytes at 0x{address:x}: {what}", info.bytes()),
        });
    }

    pub(super) fn nearest(&self, at: &At<'_>, memory: Memory, inside: u64) -> Option<Allocation> {
        match memory {
            Memory::Global => self.global.nearest(inside),
            Memory::Shared => at.subject.shared.nearest(inside),
            Memory::Local => at.subject.local.nearest(inside),
            Memory::Param => None,
        }
    }

    /// Tells of it. Memory of the host that is lent to the card is not watched, and accessed.
    fn out_of_bounds(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        address: u64,
        (memory, inside): (Memory, u64),
        worst: u8,
    ) -> Option<[u32; MOST]> {
        let bytes = info.bytes();
        if worst == state::NONE && memory == Memory::Global && lent::holds(address, bytes) {
            return Some([0; MOST]);
        }
        let own = &at.view.own;
        let foreign = Foreign::of(address);
        let is_own = address.wrapping_sub(own.shared) < WINDOW
            || address.wrapping_sub(own.local(at.warp * 32 + lane)) < WINDOW;
        let other_space = match info.space {
            Space::Global | Space::Const | Space::Shared | Space::Local => {
                is_own || foreign.is_some() || address.wrapping_sub(PARAM_BASE) < WINDOW
            }
            Space::Generic => foreign.is_some() || address < u64::from(at.view.shared).max(1 << 12),
        };
        // What begins in a constant is of its space, however far it goes.
        let begins = info.space == Space::Const && at.subject.is_constant(address, 1);
        let in_device = !begins
            && self
                .global
                .nearest(address)
                .is_some_and(|block| block.distance == 0);
        let other_space =
            other_space || in_device && !matches!(info.space, Space::Global | Space::Generic);
        let (kind, what) = match (worst, memory) {
            (state::FREED, _) => (Kind::UseAfterFree, "memory that was given back"),
            _ if other_space => match foreign.filter(|_| !is_own) {
                Some(Foreign::Shared) => (
                    Kind::BadSpace,
                    "an address of the shared memory of another CTA",
                ),
                Some(Foreign::Local) => (
                    Kind::BadSpace,
                    "an address of the local memory of another thread",
                ),
                None => (Kind::BadSpace, "an address of another state space"),
            },
            (_, Memory::Global) if info.space == Space::Const => {
                (Kind::OobConst, "outside of every constant")
            }
            (_, Memory::Global) => (Kind::OobGlobal, "outside of every allocation"),
            (_, Memory::Shared) if inside >= u64::from(at.view.shared) => {
                (Kind::OobShared, "behind the shared memory of the launch")
            }
            (_, Memory::Shared) => (Kind::OobShared, "outside of every shared variable"),
            (_, Memory::Local) => (Kind::OobLocal, "outside of every local variable"),
            (_, Memory::Param) => (Kind::OobParam, "outside of the parameters"),
        };
        // What is of another space is near nothing here.
        let allocation = self.nearest(at, memory, inside);
        let allocation = allocation.filter(|_| foreign.is_none());
        self.add(New {
            kind,
            place: at.place(lane, Some(info.access)),
            other: None,
            address: Some(address),
            allocation,
            message: format!("{bytes} bytes at 0x{address:x}: {what}"),
        });
        None
    }
}
