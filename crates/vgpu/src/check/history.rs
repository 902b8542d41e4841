//! The last accesses to a memory: for each 16 bytes the last write and two reads since, or the same for parts.

use super::{
    cell::{self, CROWD, Cell, EPOCH, SPLIT},
    clock::{Before, Moment, WarpClock},
    crowd::Crowds,
    words::Words,
};
use crate::ids::SpanId;

/// Bytes that have cells of their own from the start.
pub(crate) const SECTOR: u64 = 16;

/// The last write of a piece, and two reads since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    pub(super) write: Cell,
    pub(super) reads: [Cell; 2],
}

/// When and how an access was made.
#[derive(Clone, Debug)]
pub(crate) struct Epoch {
    pub(crate) moment: Moment,
    /// The launch, by its number in the checker.
    pub(crate) launch: u32,
    /// Its place in the program's spans.
    pub(crate) span: SpanId,
    pub(crate) cta_scope: bool,
    /// A strong read, or an atomic that gives what it found.
    pub(crate) observes: bool,
}

/// An access that was seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) epoch: Epoch,
    pub(crate) lane: u32,
    pub(crate) writes: bool,
    /// One of the two says that the memory is constant.
    pub(crate) constant: bool,
}

/// Who accesses.
pub(crate) struct Who<'a> {
    pub(crate) clock: &'a WarpClock,
    pub(crate) launch: u32,
    /// What came before this launch.
    pub(crate) before: &'a Before,
    pub(crate) strong: bool,
    pub(crate) cta_scope: bool,
    pub(crate) writes: bool,
    /// Whether it is made only if what was read from memory says so.
    pub(crate) depends: bool,
    /// Warps of a CTA: two warps are of one CTA if their numbers are in one such group.
    pub(crate) warps: u32,
}

/// The accesses to a memory.
pub(crate) struct History {
    /// The address of the first byte.
    start: u64,
    writes: Words,
    reads: [Words; 2],
    /// Parts of split pieces, and the number of the first.
    pub(super) parts: Vec<[Node; 4]>,
    pub(super) first_part: u64,
    /// What is kept of crowded pieces.
    pub(super) crowds: Crowds,
    epochs: Vec<Epoch>,
    first_epoch: u64,
    /// Older cells come before whatever happens now.
    pub(super) floor: Cell,
    /// Older cells are not of this launch.
    launch: Cell,
    /// Whether some threads know of some others since then, so that of two reads one may be known.
    partial: bool,
}

impl Default for History {
    fn default() -> History {
        History::owned(0)
    }
}

impl History {
    /// For `bytes` of memory from `start` on, most of which may never be touched.
    pub(crate) fn mapped(start: u64, bytes: u64) -> std::io::Result<History> {
        let words = usize::try_from(bytes.div_ceil(SECTOR) * 8).map_err(std::io::Error::other)?;
        let each = || Words::mapped(words);
        Ok(History::new(start, each()?, [each()?, each()?]))
    }

    /// For a CTA's memory from address 0 on.
    pub(crate) fn owned(bytes: u64) -> History {
        let each = || Words::Owned(vec![0; bytes.div_ceil(SECTOR) as usize]);
        History::new(0, each(), [each(), each()])
    }

    fn new(start: u64, writes: Words, reads: [Words; 2]) -> History {
        let mut history = History {
            start,
            writes,
            reads,
            parts: Vec::new(),
            first_part: 0,
            crowds: Crowds::default(),
            epochs: Vec::new(),
            first_epoch: 1,
            floor: 0,
            launch: 0,
            partial: false,
        };
        history.settle();
        history
    }

    /// Whether it is for that many bytes at least.
    pub(crate) fn reaches(&self, bytes: u64) -> bool {
        self.writes.len() as u64 * SECTOR >= bytes
    }

    fn next_epoch(&self) -> u64 {
        self.first_epoch + self.epochs.len() as u64
    }

    /// All that happened so far comes before all that follows.
    pub(crate) fn settle(&mut self) {
        self.first_epoch = self.next_epoch();
        self.epochs.clear();
        self.first_part += self.parts.len() as u64;
        self.parts.clear();
        self.crowds.settle();
        self.floor = self.first_epoch << EPOCH;
        self.launch = self.floor;
        self.partial = false;
    }

    /// Some threads come after some others.
    pub(crate) fn order_some(&mut self) {
        self.partial = true;
    }

    /// A launch begins, of which nobody says that it comes after all others.
    pub(crate) fn start_launch(&mut self) {
        self.launch = self.next_epoch() << EPOCH;
    }

    /// A new epoch's number.
    pub(crate) fn add(&mut self, epoch: Epoch) -> u64 {
        self.epochs.push(epoch);
        self.next_epoch() - 1
    }

    /// Whether a cell cannot clash with `now`: too old, or the same threads'.
    #[inline(always)]
    fn is_quiet(&self, seen: Cell, now: Cell) -> bool {
        is_quiet(seen, now, self.floor, self.launch)
    }

    /// Notes an access to `count` whole pieces of 16 bytes, where `now` is the first one's cell and `step` what the
    /// next one's has more. False, with nothing noted, if one of them must be looked at closely.
    #[inline(always)]
    pub(crate) fn sweep(
        &mut self,
        address: u64,
        count: usize,
        (now, step): (Cell, Cell),
        writes: bool,
    ) -> bool {
        let (floor, launch, partial) = (self.floor, self.launch, self.partial);
        let from = (address.wrapping_sub(self.start) / SECTOR) as usize;
        let [first, second] = &mut self.reads;
        let all = [&mut self.writes, first, second].map(Words::all);
        let [w, a, b] = all.map(|words| words.get_mut(from..from.wrapping_add(count)));
        let (Some(w), Some(a), Some(b)) = (w, a, b) else {
            return false;
        };
        let mut loud = false;
        if !writes {
            // Mostly there is no other read, and what a second one would need is not even looked at: the history of a
            // read takes more time to fetch than to compare.
            let mut first = false;
            for i in 0..count {
                let now = now + step * i as u64;
                loud |= !is_quiet(w[i], now, floor, launch);
                first |= !is_quiet(a[i], now, floor, launch);
            }
            if loud {
                return false;
            }
            if !first {
                for (i, a) in a.iter_mut().enumerate() {
                    *a = now + step * i as u64;
                }
                return true;
            }
        }
        for i in 0..count {
            let now = now + step * i as u64;
            loud |= !is_quiet(w[i], now, floor, launch);
            let first = !is_quiet(a[i], now, floor, launch);
            let second = !is_quiet(b[i], now, floor, launch);
            loud |= if writes {
                first | second
            } else {
                first & second & partial
            };
        }
        if loud {
            return false;
        }
        for i in 0..count {
            let now = now + step * i as u64;
            if writes {
                w[i] = now;
                a[i] = 0;
                b[i] = 0;
            } else {
                let kept = !is_quiet(a[i], now, floor, launch);
                b[i] = if kept { now } else { b[i] };
                a[i] = if kept { a[i] } else { now };
            }
        }
        true
    }

    /// Notes the accesses of `lanes` to 16 bytes each, where `mark` is the cell without lanes; the lanes of which nothing
    /// is noted, since they must be looked at closely.
    #[inline(always)]
    pub(crate) fn rows(&mut self, inside: &[u64; 32], lanes: u32, mark: Cell, writes: bool) -> u32 {
        let now = Now::new(self, writes);
        let start = self.start;
        let [first, second] = &mut self.reads;
        let [w, a, b] = [&mut self.writes, first, second].map(Words::all);
        let len = w.len().min(a.len()).min(b.len());
        let (w, a, b) = (&mut w[..len], &mut a[..len], &mut b[..len]);
        let mut loud = 0;
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let i = (inside[lane as usize].wrapping_sub(start) / SECTOR) as usize;
            let cell = cell::of_lane(mark, lane, 4);
            if i >= len || !now.note(cell, &mut w[i], &mut a[i], &mut b[i]) {
                loud |= 1 << lane;
            }
        }
        loud
    }

    /// Records `N` words of 4 bytes each.
    #[inline(always)]
    pub(crate) fn words<const N: usize>(
        &mut self,
        inside: &[u64; 32],
        lanes: u32,
        mark: Cell,
        writes: bool,
    ) -> u32 {
        let now = Now::new(self, writes);
        let (start, floor) = (self.start, self.floor);
        let [first, second] = &mut self.reads;
        let [w, a, b] = [&mut self.writes, first, second].map(Words::all);
        let len = w.len().min(a.len()).min(b.len());
        let (w, a, b) = (&mut w[..len], &mut a[..len], &mut b[..len]);
        let mut loud = 0;
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let address = inside[lane as usize].wrapping_sub(start);
            let i = (address / SECTOR) as usize;
            let cell = cell::of_lane(mark, lane, 2);
            if i >= len {
                loud |= 1 << lane;
                continue;
            }
            let is_split = w[i] & SPLIT != 0;
            let is_old = if is_split {
                cell::epoch(w[i]) < self.first_part
            } else {
                w[i].max(a[i]).max(b[i]) < floor
            };
            if is_old {
                w[i] = cell::split(self.first_part + self.parts.len() as u64);
                a[i] = 0;
                b[i] = 0;
                self.parts.push(Default::default());
            } else if !is_split {
                loud |= 1 << lane;
                continue;
            }
            let number = (cell::epoch(w[i]) - self.first_part) as usize;
            let word = (address / 4 % 4) as usize;
            let nodes = self.parts.get_mut(number);
            let Some(nodes) = nodes.and_then(|parts| parts.get_mut(word..word + N)) else {
                loud |= 1 << lane;
                continue;
            };
            for Node { write, reads } in nodes {
                let [first, second] = reads;
                // What is noted twice is noted once.
                if !now.note(cell, write, first, second) {
                    loud |= 1 << lane;
                }
            }
        }
        loud
    }

    /// Notes an access to `len` bytes, where `now` is the first byte's cell; what it clashes with first, and where.
    #[inline(always)]
    pub(crate) fn touch(
        &mut self,
        address: u64,
        len: u64,
        now: Cell,
        who: &Who<'_>,
    ) -> Option<(Seen, u64)> {
        let mut found = None;
        let end = address + len;
        let mut at = address;
        while at < end {
            let sector = at & !(SECTOR - 1);
            let stop = end.min(sector + SECTOR);
            let now = cell::later(now, at - address);
            let i = (sector.wrapping_sub(self.start) / SECTOR) as usize;
            if let Some(mut node) = self.sector(i) {
                // Strong accesses come in any order, and hide nothing of each other.
                let crowded = who.strong || node.write & CROWD != 0;
                let one = if crowded {
                    self.in_crowd(&mut node, sector, (at, stop), now, who)
                } else {
                    self.node(&mut node, (4, sector), (at, stop), now, who)
                };
                found = found.or(one);
                self.put(i, node);
            }
            at = stop;
        }
        found
    }

    #[inline(always)]
    fn sector(&mut self, i: usize) -> Option<Node> {
        let write = *self.writes.all().get(i)?;
        let [a, b] = &mut self.reads;
        let reads = [*a.all().get(i)?, *b.all().get(i)?];
        Some(Node { write, reads })
    }

    #[inline(always)]
    fn put(&mut self, i: usize, node: Node) {
        self.writes.all()[i] = node.write;
        let [a, b] = &mut self.reads;
        a.all()[i] = node.reads[0];
        b.all()[i] = node.reads[1];
    }

    /// Notes an access to bytes `at..stop` of a piece of `1 << log` bytes from `start` on.
    #[inline(always)]
    fn node(
        &mut self,
        node: &mut Node,
        (log, start): (u64, u64),
        (at, stop): (u64, u64),
        now: Cell,
        who: &Who<'_>,
    ) -> Option<(Seen, u64)> {
        let is_split = node.write & SPLIT != 0;
        if is_split && cell::epoch(node.write) < self.first_part {
            // Its parts are older than all that matters.
            *node = Node::default();
        }
        if node.write & SPLIT == 0 && stop - at == 1 << log {
            return self.whole(node, log, start, cell::for_piece(now, log), who);
        }
        self.parts_of(node, (log, start), (at, stop), now, who)
    }

    #[inline(never)]
    fn parts_of(
        &mut self,
        node: &mut Node,
        (log, start): (u64, u64),
        (at, stop): (u64, u64),
        now: Cell,
        who: &Who<'_>,
    ) -> Option<(Seen, u64)> {
        let number = self.split(node, log);
        let log = log - 2;
        let size = 1 << log;
        let k = (at - start) >> log;
        let from = start + (k << log);
        if stop <= from + size {
            let mut part = self.parts[number][k as usize & 3];
            let found = self.node(&mut part, (log, from), (at, stop), now, who);
            self.parts[number][k as usize & 3] = part;
            return found;
        }
        let mut parts = self.parts[number];
        let mut found = None;
        for (k, part) in parts.iter_mut().enumerate() {
            let from = start + k as u64 * size;
            let (first, last) = (at.max(from), stop.min(from + size));
            if first < last {
                let now = cell::later(now, first - at);
                found = found.or(self.node(part, (log, from), (first, last), now, who));
            }
        }
        self.parts[number] = parts;
        found
    }

    /// The place of a piece's parts, which it may not have had before.
    fn split(&mut self, node: &mut Node, log: u64) -> usize {
        if node.write & SPLIT == 0 {
            let size = 1u64 << (log - 2);
            let own = |seen: Cell, k: u64| {
                if seen < self.floor {
                    0
                } else {
                    cell::for_piece(cell::later(seen, k * size), log - 2)
                }
            };
            let part = |k| Node {
                write: own(node.write, k),
                reads: node.reads.map(|seen| own(seen, k)),
            };
            let parts = [0, 1, 2, 3].map(part);
            let number = self.first_part + self.parts.len() as u64;
            self.parts.push(parts);
            *node = Node {
                write: cell::split(number),
                reads: [0; 2],
            };
        }
        (cell::epoch(node.write) - self.first_part) as usize
    }

    /// Notes an access to all of a piece.
    #[inline(always)]
    fn whole(
        &self,
        node: &mut Node,
        log: u64,
        start: u64,
        now: Cell,
        who: &Who<'_>,
    ) -> Option<(Seen, u64)> {
        let mut found = None;
        let [first, second] = node.reads;
        if !self.is_quiet(node.write, now) {
            found = self.clash(node.write, true, log, now, who);
        }
        if who.writes {
            for seen in node.reads {
                if found.is_none() && !self.is_quiet(seen, now) {
                    found = self.clash(seen, false, log, now, who);
                }
            }
            *node = Node {
                write: now,
                reads: [0; 2],
            };
        } else if self.is_quiet(first, now)
            || self.partial && !self.is_quiet(second, now) && self.is_known(first, log, now, who)
        {
            node.reads[0] = now;
        } else {
            node.reads[1] = now;
        }
        found.map(|(seen, byte)| (seen, start + byte))
    }

    /// Whether all of what was seen is known to come before.
    #[inline(never)]
    fn is_known(&self, seen: Cell, log: u64, now: Cell, who: &Who<'_>) -> bool {
        match self.epoch(seen) {
            Some(epoch) => self
                .first_unordered(epoch, seen, 1 << log, now, who)
                .is_none(),
            None => true,
        }
    }

    pub(super) fn epoch(&self, seen: Cell) -> Option<&Epoch> {
        let number = cell::epoch(seen).checked_sub(self.first_epoch)?;
        self.epochs.get(number as usize)
    }

    /// The first of `len` bytes that two lanes touch in no order.
    pub(super) fn first_unordered(
        &self,
        epoch: &Epoch,
        seen: Cell,
        len: u64,
        now: Cell,
        who: &Who<'_>,
    ) -> Option<u64> {
        if epoch.launch != who.launch {
            return (!who.before.has(epoch.launch)).then_some(0);
        }
        if epoch.moment.warp != who.clock.number() {
            return (!who.clock.knows(&epoch.moment)).then_some(0);
        }
        let step = cell::step(seen).min(cell::step(now));
        (0..len).step_by(step as usize).find(|byte| {
            let (own, other) = (cell::lane(now, *byte), cell::lane(seen, *byte));
            !who.clock.knows_lane(own, other, &epoch.moment)
        })
    }

    /// What an access clashes with, and at which byte of the piece.
    #[inline(never)]
    fn clash(
        &self,
        seen: Cell,
        writes: bool,
        log: u64,
        now: Cell,
        who: &Who<'_>,
    ) -> Option<(Seen, u64)> {
        let epoch = self.epoch(seen)?;
        let clash = |byte, constant| {
            let lane = cell::lane(seen, byte);
            let seen = Seen {
                epoch: epoch.clone(),
                lane,
                writes,
                constant,
            };
            Some((seen, byte))
        };
        let one_launch = epoch.launch == who.launch;
        if one_launch && (seen | now) & cell::CONSTANT != 0 {
            // One of them writes: that it does so earlier does not help.
            return clash(0, true);
        }
        let byte = self.first_unordered(epoch, seen, 1 << log, now, who)?;
        clash(byte, false)
    }
}

/// What decides whether an access can be noted at once.
struct Now {
    floor: Cell,
    launch: Cell,
    partial: bool,
    writes: bool,
}

impl Now {
    #[inline(always)]
    fn new(history: &History, writes: bool) -> Now {
        Now {
            floor: history.floor,
            launch: history.launch,
            partial: history.partial,
            writes,
        }
    }

    /// Notes an access of all of a piece; false, with nothing noted, if it must be looked at closely. A split piece is
    /// younger than anything, and nobody's.
    #[inline(always)]
    fn note(&self, now: Cell, write: &mut Cell, first: &mut Cell, second: &mut Cell) -> bool {
        let quiet = |seen| is_quiet(seen, now, self.floor, self.launch);
        if !quiet(*write) {
            return false;
        }
        let (a, b) = (quiet(*first), quiet(*second));
        if self.writes {
            if !(a && b) {
                return false;
            }
            (*write, *first, *second) = (now, 0, 0);
        } else if a {
            *first = now;
        } else if b || !self.partial {
            *second = now;
        } else {
            return false;
        }
        true
    }
}

/// Whether a cell cannot clash with `now`: older than `floor`, or the same threads' in this `launch`.
#[inline(always)]
fn is_quiet(seen: Cell, now: Cell, floor: Cell, launch: Cell) -> bool {
    (seen < floor) | (cell::same_threads(seen, now) & (seen >= launch))
}
