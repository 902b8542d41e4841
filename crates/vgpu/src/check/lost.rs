//! Values that a shuffle did not bring: where that was, and what is said where one is used.

use super::{
    Kind, Place,
    checker::{At, Checker},
    report::New,
};
use rustc_hash::FxHashMap;

/// The shuffles, by the slots of the masks of what they gave.
pub(super) type Lost = FxHashMap<u32, Place>;

impl Checker {
    /// A shuffle reads for `lane` from one that does not take part.
    pub(crate) fn lost_at(&mut self, at: &At<'_>, slot: u32, lane: u32) {
        self.lost.insert(slot, at.place(lane & 31, None));
    }

    /// What was lost of one register is lost of another.
    pub(crate) fn lost_along(&mut self, from: u32, to: u32) {
        if let Some(place) = self.lost.get(&from).cloned() {
            self.lost.insert(to, place);
        }
    }

    /// A lost value is used by these lanes.
    pub(crate) fn lost_used(&mut self, at: &At<'_>, slot: u32, lanes: u32) {
        let other = self.lost.get(&slot).cloned();
        self.add(New {
            kind: Kind::ShflInactive,
            place: at.place(lanes.trailing_zeros() & 31, None),
            other,
            address: None,
            allocation: None,
            message: "a value is used that a shuffle read from a lane that does not take part"
                .to_owned(),
        });
    }
}
