//! Undefined values: where they came from, and what is said where one is used.

use super::{
    Allocation, Kind, Place,
    access::{AccessInfo, Memory},
    checker::{At, Checker},
    report::New,
};
use rustc_hash::FxHashMap;

/// Where an undefined value came from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    kind: Kind,
    place: Place,
    address: u64,
    allocation: Option<Allocation>,
}

/// By the slot of a register's shadow.
pub(super) type Origins = FxHashMap<u32, Origin>;

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
        if !info.gives() {
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
}
