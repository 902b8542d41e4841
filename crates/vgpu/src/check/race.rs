//! The last accesses to each word, for races. Words that were accessed in parts are kept byte by byte.

use super::clock::{Order, Stamp, WarpClock};
use rustc_hash::FxHashMap;

/// An access that was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) stamp: Stamp,
    /// Its place in the program's spans.
    pub(crate) span: u32,
    strong: bool,
    cta_scope: bool,
    pub(crate) writes: bool,
}

/// The last write of a word, and two reads since.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    write: Seen,
    reads: [Seen; 2],
    split: bool,
}

/// Words of one page.
const PAGE: usize = 1024;

/// The accesses to a memory.
#[derive(Debug, Default)]
pub(crate) struct Accesses {
    numbers: FxHashMap<u64, usize>,
    pages: Vec<Box<[Word; PAGE]>>,
    /// The page of the last access and its place.
    last: Option<(u64, usize)>,
    bytes: FxHashMap<u64, Word>,
}

/// Who accesses.
pub(crate) struct Who<'a> {
    pub(crate) clock: &'a WarpClock,
    pub(crate) launch: u32,
    pub(crate) lane: u32,
    pub(crate) span: u32,
    pub(crate) order: Order,
    pub(crate) writes: bool,
    /// Warps of a CTA: two warps are of one CTA if their numbers are in one such group.
    pub(crate) warps: u32,
}

impl Who<'_> {
    fn seen(&self) -> Seen {
        Seen {
            stamp: self.clock.stamp(self.launch, self.lane),
            span: self.span,
            strong: self.order.strong,
            cta_scope: self.order.cta_scope,
            writes: self.writes,
        }
    }

    fn clashes(&self, other: &Seen) -> bool {
        let Seen { stamp, .. } = other;
        if stamp.launch != self.launch || !(self.writes || other.writes) {
            return false;
        }
        if self.order.strong && other.strong {
            let own = self.clock.stamp(self.launch, self.lane).warp;
            let one_cta = own / self.warps == stamp.warp / self.warps;
            if one_cta || !(self.order.cta_scope || other.cta_scope) {
                return false;
            }
        }
        !self.clock.is_before(stamp, self.lane)
    }
}

impl Word {
    /// Notes an access; the one it clashes with.
    fn access(&mut self, who: &Who<'_>) -> Option<Seen> {
        let clash = |seen: &Seen| who.clashes(seen).then_some(*seen);
        let mut found = clash(&self.write);
        let now = who.seen();
        if who.writes {
            found = found.or_else(|| self.reads.iter().find_map(clash));
            self.write = now;
            self.reads = [Seen::default(); 2];
        } else {
            let [first, _] = &self.reads;
            let gone = first.stamp.launch != who.launch
                || (first.stamp.warp, first.stamp.lane) == (now.stamp.warp, now.stamp.lane)
                || who.clock.is_before(&first.stamp, who.lane);
            self.reads[usize::from(!gone)] = now;
        }
        found
    }
}

impl Accesses {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.pages.clear();
        self.bytes.clear();
        self.last = None;
    }

    fn page(&mut self, number: u64) -> usize {
        if let Some((last, at)) = self.last
            && last == number
        {
            return at;
        }
        let at = *self.numbers.entry(number).or_insert_with(|| {
            self.pages.push(Box::new([Word::default(); PAGE]));
            self.pages.len() - 1
        });
        self.last = Some((number, at));
        at
    }

    /// Notes an access to `len` bytes; the first one it clashes with, and where.
    pub(crate) fn access(&mut self, address: u64, len: u64, who: &Who<'_>) -> Option<(Seen, u64)> {
        let mut found = None;
        let mut at = address;
        let end = address + len;
        while at < end {
            let word = at & !3;
            let whole = at == word && end - at >= 4;
            let page = self.page(word / (4 * PAGE as u64));
            let entry = &mut self.pages[page][(word / 4) as usize % PAGE];
            let next = (word + 4).min(end);
            if whole && !entry.split {
                found = found.or(entry.access(who).map(|seen| (seen, at)));
            } else {
                if !std::mem::replace(&mut entry.split, true) {
                    let all = *entry;
                    for byte in word..word + 4 {
                        self.bytes.insert(byte, all);
                    }
                }
                for byte in at..next {
                    let entry = self.bytes.entry(byte).or_default();
                    found = found.or(entry.access(who).map(|seen| (seen, byte)));
                }
            }
            at = next;
        }
        found
    }
}
