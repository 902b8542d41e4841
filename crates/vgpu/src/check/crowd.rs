//! The accesses that are kept of 16 bytes which strong accesses touch.
//!
//! Plain accesses that nothing orders are a race, so of those the last one stands for all before it. Strong ones may
//! come in any order: of `atom` by lane 3, `atom` by lane 5 and `st` by lane 5 the last two are ordered, the first and
//! the last are not. So each is kept, with what it must not hide, until something follows that comes after it for sure.

use super::{
    cell::{self, CROWD, Cell, SPLIT},
    history::{Epoch, History, Node, Seen, Who},
};

/// The most accesses of one way to the same bytes that are kept.
const MOST: usize = 4;

/// What an access does, as far as clashes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Write,
    StrongWrite,
    Read,
    StrongRead,
}

impl Way {
    fn of(who: &Who<'_>) -> Way {
        match (who.strong, who.writes) {
            (false, true) => Way::Write,
            (true, true) => Way::StrongWrite,
            (false, false) => Way::Read,
            (true, false) => Way::StrongRead,
        }
    }

    fn writes(self) -> bool {
        matches!(self, Way::Write | Way::StrongWrite)
    }

    fn is_strong(self) -> bool {
        matches!(self, Way::StrongWrite | Way::StrongRead)
    }

    /// Whether whatever clashes with an earlier access `other` clashes with this one too.
    fn stands_for(self, other: Way) -> bool {
        match self {
            Way::Write => true,
            Way::StrongWrite => other.is_strong(),
            Way::Read => matches!(other, Way::Read | Way::StrongRead),
            Way::StrongRead => other == Way::StrongRead,
        }
    }
}

/// One lane's access to bytes `from..to` of the 16.
#[derive(Clone, Copy, Debug)]
struct Past {
    cell: Cell,
    from: u8,
    to: u8,
    way: Way,
}

/// The accesses kept of one piece, the latest last.
type Crowd = Vec<Past>;

/// All that are kept, by the numbers in the cells of their pieces.
#[derive(Default)]
pub(super) struct Crowds {
    all: Vec<Crowd>,
    first: u64,
}

impl Crowds {
    /// All that happened so far comes before all that follows.
    pub(super) fn settle(&mut self) {
        self.first += self.all.len() as u64;
        self.all.clear();
    }
}

/// Bytes `from..to` as bits.
fn bits(from: u8, to: u8) -> u32 {
    (1 << to) - (1 << from)
}

impl History {
    /// Notes one lane's access to bytes `at..stop` of the piece from `sector` on; what it clashes with first, and where.
    #[inline(never)]
    pub(super) fn in_crowd(
        &mut self,
        node: &mut Node,
        sector: u64,
        (at, stop): (u64, u64),
        now: Cell,
        who: &Who<'_>,
    ) -> Option<(Seen, u64)> {
        let number = self.gather(node);
        let mut crowd = std::mem::take(self.crowds.all.get_mut(number)?);
        let new = Past {
            from: (at - sector) as u8,
            to: (stop - sector) as u8,
            way: Way::of(who),
            cell: cell::alone(now, 0),
        };
        let found = self.clash_in(&crowd, &new, who);
        self.join(&mut crowd, new, who);
        self.crowds.all[number] = crowd;
        found.map(|(seen, byte)| (seen, sector + byte))
    }

    /// The number of a piece's crowd, which begins with what was known of the piece.
    fn gather(&mut self, node: &mut Node) -> usize {
        if node.write & CROWD != 0
            && let Some(number) = cell::epoch(node.write).checked_sub(self.crowds.first)
        {
            return number as usize;
        }
        let mut crowd = Crowd::new();
        if node.write & CROWD == 0 {
            self.import(node, (4, 0), &mut crowd);
        }
        self.crowds.all.push(crowd);
        let number = self.crowds.all.len() - 1;
        *node = Node {
            write: cell::crowd(self.crowds.first + number as u64),
            reads: [0; 2],
        };
        number
    }

    /// The accesses that a piece of `1 << log` bytes from byte `start` on knows of.
    fn import(&self, node: &Node, (log, start): (u64, u64), crowd: &mut Crowd) {
        if node.write & SPLIT != 0 {
            let number = cell::epoch(node.write).checked_sub(self.first_part);
            let parts = number.and_then(|number| self.parts.get(number as usize));
            let parts = parts.map_or(&[][..], |parts| &parts[..]);
            // The first bytes last, so that they are found first.
            for (k, part) in parts.iter().enumerate().rev() {
                let start = start + ((k as u64) << (log - 2));
                self.import(part, (log - 2, start), crowd);
            }
            return;
        }
        let [a, b] = node.reads;
        for (seen, way) in [(node.write, Way::Write), (a, Way::Read), (b, Way::Read)] {
            if seen < self.floor {
                continue;
            }
            let step = cell::step(seen).min(1 << log);
            for byte in (0..1usize << log).step_by(step as usize).rev() {
                let byte = byte as u64;
                crowd.push(Past {
                    from: (start + byte) as u8,
                    to: (start + byte + step) as u8,
                    way,
                    cell: cell::alone(seen, byte),
                });
            }
        }
    }

    /// Whether an access that is kept is known to come before one that is made now.
    fn is_before(&self, past: &Past, epoch: &Epoch, now: Cell, who: &Who<'_>) -> bool {
        self.first_unordered(epoch, past.cell, 1, now, who)
            .is_none()
    }

    fn clash_in(&self, crowd: &Crowd, new: &Past, who: &Who<'_>) -> Option<(Seen, u64)> {
        // Bytes of which it knows by what a strong read or an atomic gave that strong writes had come before.
        let mut observed = 0;
        for past in crowd.iter().rev() {
            let (from, to) = (past.from.max(new.from), past.to.min(new.to));
            if from >= to {
                continue;
            }
            let Some(epoch) = self.epoch(past.cell) else {
                continue;
            };
            let seen = |constant| {
                let seen = Seen {
                    epoch: epoch.clone(),
                    lane: cell::lane(past.cell, 0),
                    writes: past.way.writes(),
                    constant,
                };
                Some((seen, u64::from(from)))
            };
            let one_launch = epoch.launch == who.launch;
            let one_writes = new.way.writes() || past.way.writes();
            if one_launch && one_writes && (past.cell | new.cell) & cell::CONSTANT != 0 {
                // That one of them writes earlier does not help.
                return seen(true);
            }
            if self.is_before(past, epoch, new.cell, who) {
                if who.depends && epoch.observes {
                    observed |= bits(from, to);
                }
                continue;
            }
            let told = past.way == Way::StrongWrite && bits(from, to) & !observed == 0;
            if one_writes && !told && !is_atomic(past, epoch, new, who) {
                return seen(false);
            }
        }
        None
    }

    fn join(&self, crowd: &mut Crowd, new: Past, who: &Who<'_>) {
        let mut rest = Vec::new();
        let observes = self.epoch(new.cell).is_some_and(|epoch| epoch.observes);
        crowd.retain_mut(|past| {
            let Some(epoch) = self.epoch(past.cell) else {
                return false;
            };
            if past.to <= new.from || new.to <= past.from {
                return true;
            }
            if new.way == Way::Write {
                // What it does not come after was told.
                let behind = Past {
                    from: new.to,
                    ..*past
                };
                rest.extend((behind.from < behind.to).then_some(behind));
                past.to = past.to.min(new.from);
                return past.from < past.to;
            }
            let inside = new.from <= past.from && past.to <= new.to;
            let gives = epoch.observes && !observes;
            !(inside
                && new.way.stands_for(past.way)
                && !gives
                && self.is_before(past, epoch, new.cell, who))
        });
        crowd.extend(rest);
        crowd.push(new);
        // The first and the latest say most.
        let mut alike = crowd
            .iter()
            .enumerate()
            .filter(|(_, past)| past.way == new.way && past.from < new.to && new.from < past.to);
        if let Some((second, _)) = alike.nth(1)
            && alike.count() >= MOST - 1
        {
            crowd.remove(second);
        }
    }
}

/// Whether two accesses that nothing orders are no race, since both are strong and see each other.
fn is_atomic(past: &Past, epoch: &Epoch, new: &Past, who: &Who<'_>) -> bool {
    let (own, other) = (who.clock.number(), epoch.moment.warp);
    let one_cta = epoch.launch == who.launch && own / who.warps == other / who.warps;
    past.way.is_strong() && new.way.is_strong() && (one_cta || !(who.cta_scope || epoch.cta_scope))
}
