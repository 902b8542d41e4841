//! The names that slots of a frame have in a dump.

use super::Slot;
use rustc_hash::FxHashMap;

/// What kind of values stand at slots: a letter for each.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    letters: FxHashMap<Slot, char>,
}

impl Frame {
    pub(crate) fn new(letters: impl Iterator<Item = (Slot, char)>) -> Frame {
        Frame {
            letters: letters.collect(),
        }
    }

    /// The letter of what is there, and the offset; nothing for no slot.
    pub(crate) fn name(&self, slot: Slot) -> String {
        if slot == Slot::SCRATCH {
            return String::new();
        }
        let letter = self.letters.get(&slot).copied().unwrap_or('t');
        format!("{letter}+{}", slot.0)
    }
}
