//! Undefined values: where they came from, and what is said where one is used, or left for the host.

use super::{
    Access, Allocation, Kind, Place,
    access::{AccessInfo, MOST, Memory},
    checker::{At, Checker, nowhere},
    holes::Hole,
    memory::state,
    report::New,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Where an undefined value came from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    kind: Kind,
    place: Place,
    address: u64,
    allocation: Option<Allocation>,
    /// The store that left it so, where one did.
    hole: Option<Hole>,
}

/// By warp and the slot of a register's shadow.
pub(super) type Origins = FxHashMap<(u32, u32), Origin>;

impl Checker {
    /// An access reads something undefined.
    pub(super) fn undefined_read(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        address: u64,
        (memory, inside): (Memory, u64),
    ) {
        let kind = match memory {
            Memory::Global | Memory::Param => Kind::UninitGlobal,
            Memory::Shared => Kind::UninitShared,
            Memory::Local => Kind::UninitLocal,
        };
        let bytes = inside..inside + info.bytes();
        let hole = bytes
            .into_iter()
            .find_map(|byte| self.hole(at, lane, memory, byte));
        let origin = Origin {
            kind,
            place: at.place(lane, Some(info.access)),
            address,
            allocation: self.nearest(at, memory, inside),
            hole: hole.cloned(),
        };
        if !info.gives() {
            let place = origin.place.clone();
            self.undefined(place, Some(origin));
            return;
        }
        let Some(cta) = self.cta() else {
            return;
        };
        for slot in info.values.iter().flatten() {
            cta.origins.insert((at.warp, *slot), origin.clone());
        }
    }

    fn hole(&self, at: &At<'_>, lane: u32, memory: Memory, inside: u64) -> Option<&Hole> {
        let (_, cta) = self.current.as_ref()?;
        match memory {
            Memory::Global => self.global.holes.at(inside),
            Memory::Shared => cta.holes[0].at(inside),
            Memory::Local => cta.holes[1].at(local(at, lane, inside)),
            Memory::Param => None,
        }
    }

    /// A store leaves undefined bytes of its elements.
    pub(super) fn leave_holes(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (memory, inside): (Memory, u64),
        gaps: &[u32; MOST],
    ) {
        let store = at.place(lane, Some(Access::Write));
        let Some((_, cta)) = &mut self.current else {
            return;
        };
        let matrix = info.matrix.is_some();
        let slots = info.values;
        let origin = |cta: &super::checker::Cta, k: usize| {
            let own = if matrix { &slots[..] } else { &slots[k..=k] };
            let known = own.iter().flatten();
            let mut known = known.filter_map(|slot| cta.origins.get(&(at.warp, *slot)));
            let origin = known.next()?;
            let first = origin.hole.as_ref().map(|hole| hole.read.clone());
            Some(first.unwrap_or_else(|| Some(origin.place.clone())))
        };
        for (k, gaps) in gaps.iter().enumerate().filter(|(_, gaps)| **gaps != 0) {
            // What an asynchronous copy stores it has read itself.
            let read = if info.asynchronous {
                Some(Place {
                    access: Some(Access::Read),
                    ..store.clone()
                })
            } else {
                origin(cta, k).flatten()
            };
            let start = inside + k as u64 * u64::from(info.element);
            let start = if memory == Memory::Local {
                local(at, lane, start)
            } else {
                start
            };
            let holes = match memory {
                Memory::Global => &mut self.global.holes,
                Memory::Shared | Memory::Param => &mut cta.holes[0],
                Memory::Local => &mut cta.holes[1],
            };
            let low = u64::from(gaps.trailing_zeros());
            let high = u64::from(32 - gaps.leading_zeros());
            let hole = Hole {
                store: store.clone(),
                read,
            };
            holes.note((start + low, start + high), hole);
        }
    }

    fn undefined(&mut self, place: Place, origin: Option<Origin>) {
        let kind = origin.as_ref().map_or(Kind::UninitRegister, |o| o.kind);
        let hole = origin.as_ref().and_then(|origin| origin.hole.as_ref());
        let message = match (kind, hole) {
            (Kind::UninitRegister, _) => {
                "a register is used that this thread has not written".to_owned()
            }
            (_, None) => "a value is used that was read from memory nobody wrote".to_owned(),
            (_, Some(Hole { store, read: None })) => format!(
                "a value is used that {} stored, of a register that was not written",
                store.span
            ),
            (
                _,
                Some(Hole {
                    store,
                    read: Some(read),
                }),
            ) => format!(
                "a value is used that {} stored, which {} read from memory nobody wrote",
                store.span, read.span
            ),
        };
        self.add(New {
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
        let origin = self.cta().and_then(|cta| cta.origins.get(&(at.warp, slot)));
        let origin = origin.cloned();
        let place = at.place(lanes.trailing_zeros() & 31, None);
        self.undefined(place, origin);
    }

    /// A predicate that was not written decides what lanes do.
    pub(crate) fn decided(&mut self, at: &At<'_>, lanes: u32) {
        self.add(New {
            kind: Kind::UninitRegister,
            place: at.place(lanes.trailing_zeros() & 31, None),
            other: None,
            address: None,
            allocation: None,
            message: "a predicate is used that this thread has not written".to_owned(),
        });
    }

    /// What is known of one register is known of another.
    pub(crate) fn copied(&mut self, warp: u32, from: u32, to: u32) {
        let Some(cta) = self.cta() else {
            return;
        };
        match cta.origins.get(&(warp, from)).cloned() {
            Some(origin) => cta.origins.insert((warp, to), origin),
            None => cta.origins.remove(&(warp, to)),
        };
    }

    /// The host reads a range: nobody may have left a hole in it.
    pub(crate) fn host_reads(&mut self, address: u64, len: u64) {
        let Some(states) = self.global.states(address, len) else {
            return;
        };
        let is_fresh = |at: u64| states[(at - address) as usize] == state::FRESH;
        // By the store, or for what nobody stored: how many, and the first.
        let mut found: BTreeMap<Option<usize>, (u64, u64)> = BTreeMap::new();
        let mut count = |range: std::ops::Range<u64>, hole: Option<usize>| {
            let mut fresh = range.filter(|at| is_fresh(*at));
            if let Some(first) = fresh.next() {
                let slot = found.entry(hole).or_insert((0, first));
                slot.0 += 1 + fresh.count() as u64;
            }
        };
        let mut next = address;
        for (first, end, hole) in self.global.holes.within(address, address + len) {
            count(next..first, None);
            count(first..end, Some(hole));
            next = end;
        }
        count(next..address + len, None);
        for (hole, (holes, first)) in found {
            let hole = hole.map(|number| self.global.holes.hole(number).clone());
            let offset = first - address;
            let (what, store, read) = match hole {
                None => ("were never written", None, None),
                Some(Hole { store, read: None }) => (
                    "are those of a register that was not written",
                    Some(store),
                    None,
                ),
                Some(Hole { store, read }) => {
                    ("were copied from memory nobody wrote", Some(store), read)
                }
            };
            let allocation = self.global.nearest(address);
            self.add(New {
                kind: Kind::UnwrittenOutput,
                place: store.unwrap_or_else(nowhere),
                other: read,
                address: Some(first),
                message: format!(
                    "{holes} of {len} bytes that the host reads {what}, the first at offset {offset}"
                ),
                allocation,
            });
        }
    }
}

/// Where a byte of a thread's local memory is in those of its CTA.
fn local(at: &At<'_>, lane: u32, inside: u64) -> u64 {
    u64::from(at.warp * 32 + lane) * u64::from(at.subject.local_bytes) + inside
}
