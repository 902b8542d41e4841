//! The order of accesses: each is noted in the history of its memory, and clashes are reported.

use super::{
    Access, Kind, Place,
    access::{AccessInfo, Memory, Pattern, Region, Request, Stored},
    cell::{self, Cell},
    checker::{At, Checker, Launched, Mark, thread},
    copies::Pending,
    history::{Epoch, SECTOR, Seen, Who},
    host::HOST,
    report::New,
};

impl Launched {
    /// Where it accessed what was seen.
    pub(super) fn place(&self, seen: &Seen) -> Place {
        let warps = self.block.iter().product::<u32>().div_ceil(32).max(1);
        let warp = seen.epoch.moment.warp;
        let number = warp / warps;
        let [x, y, _] = self.grid.map(|n| n.max(1));
        Place {
            kernel: self.subject.name.clone(),
            span: self.subject.span(seen.epoch.span),
            cta: [number % x, number / x % y, number / x / y],
            thread: thread(self.block, warp % warps * 32 + seen.lane),
            access: Some(if seen.writes {
                Access::Write
            } else {
                Access::Read
            }),
        }
    }
}

impl Checker {
    /// The cell of an access of a warp, without lanes.
    #[inline(always)]
    pub(super) fn mark(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        memory: Memory,
    ) -> Option<Cell> {
        let (_, cta) = self.current.as_mut()?;
        let of_global = usize::from(memory == Memory::Global);
        let accesses = at.subject.accesses.len();
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
            cta_scope: order.cta_scope,
            observes: request.info.observes,
        };
        let history = match memory {
            Memory::Global => &mut self.history,
            Memory::Shared | Memory::Local | Memory::Param => &mut cta.history,
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
    pub(super) fn order_all(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (memory, base): Region,
        shape: &Pattern,
        stored: &dyn Stored,
    ) {
        let info = request.info;
        let Some(mark) = self.mark(at, request, memory) else {
            return;
        };
        let bytes = info.bytes();
        let log = bytes.trailing_zeros();
        let writes = info.writes();
        let mut lanes = at.mask;
        let Some((_, cta)) = &mut self.current else {
            return;
        };
        let history = match memory {
            Memory::Global => &mut self.history,
            Memory::Shared | Memory::Local | Memory::Param => &mut cta.history,
        };
        match *shape {
            _ if info.order.strong => {}
            Pattern::Run {
                start,
                first,
                count,
            } if bytes <= SECTOR => {
                let start = start - base;
                let len = bytes * u64::from(count);
                if start.is_multiple_of(SECTOR) && len.is_multiple_of(SECTOR) {
                    let now = cell::of_lane(mark, first, log);
                    let step = (SECTOR >> log) << cell::LANE;
                    let count = (len / SECTOR) as usize;
                    if history.sweep(start, count, (now, step), writes) {
                        return;
                    }
                }
            }
            // Of many reads of one place the first and the last are as good as all.
            Pattern::Same(_) if info.access == Access::Read => {
                lanes = 1 << lanes.trailing_zeros() | 1 << (31 - lanes.leading_zeros());
            }
            Pattern::Run { .. } | Pattern::Same(_) | Pattern::Apart(_) => {}
        }
        let inside = shape.inside(bytes, base);
        if !info.order.strong {
            lanes = match bytes {
                16 => history.rows(&inside, lanes, mark, writes),
                8 => history.words::<2>(&inside, lanes, mark, writes),
                4 => history.words::<1>(&inside, lanes, mark, writes),
                _ => lanes,
            };
        }
        if lanes != 0 {
            let at = At { mask: lanes, ..*at };
            self.order_each(&at, request, (memory, mark), &inside, stored);
        }
    }

    /// Copies that were issued in an earlier phase of the warp are there: only now do they count as written.
    pub(super) fn landed(&mut self, at: &At<'_>, copies: &[Pending]) {
        if !self.findings.wants_races() {
            return;
        }
        for copy in copies {
            let number = copy.number;
            let at = At {
                span: copy.span,
                ..*at
            };
            let request = Request {
                info: &at.subject.accesses[number as usize],
                number,
                defined: true,
            };
            let Some(mark) = self.mark(&at, &request, Memory::Shared) else {
                continue;
            };
            let Some((_, cta)) = &mut self.current else {
                return;
            };
            let inside = copy.addresses.map(u64::from);
            let mut rest = match copy.len {
                16 => cta.history.rows(&inside, copy.lanes, mark, true),
                8 => cta.history.words::<2>(&inside, copy.lanes, mark, true),
                _ => cta.history.words::<1>(&inside, copy.lanes, mark, true),
            };
            let who = Who {
                clock: &cta.warps[at.warp as usize],
                launch: self.launch,
                before: &self.before,
                strong: false,
                cta_scope: false,
                writes: true,
                depends: false,
                warps: self.warps,
            };
            while rest != 0 {
                let lane = rest.trailing_zeros();
                rest &= rest - 1;
                let now = cell::of_lane(mark, lane, cell::ONE);
                // What comes between is reported where it reads too early.
                let (start, len) = (inside[lane as usize], u64::from(copy.len));
                let _between = cta.history.touch(start, len, now, &who);
            }
        }
    }

    /// Notes reads that were put off, of the lanes in which they matter.
    #[inline(never)]
    pub(crate) fn settle(
        &mut self,
        at: &At<'_>,
        number: u32,
        addresses: &[u64; 32],
        stored: &dyn Stored,
    ) {
        let request = Request {
            info: &at.subject.accesses[number as usize],
            number,
            defined: true,
        };
        for lane in at.lanes() {
            let address = addresses[lane as usize];
            if let Some(peer) = Self::peer_of(at, request.info, address) {
                let mut there = [0; 32];
                there[lane as usize] = address - peer.base + at.view.own.shared;
                let at = At {
                    mask: 1 << lane,
                    ..*at
                };
                // Of a CTA that has ended it was told when the memory was read.
                self.at_peer(peer.index, |checker| {
                    checker.settle(&at, number, &there, stored);
                });
                continue;
            }
            let (memory, inside) = Self::resolve(at, request.info, lane, address);
            if matches!(memory, Memory::Local | Memory::Param) {
                continue;
            }
            if let Some(mark) = self.mark(at, &request, memory) {
                self.order(at, &request, lane, (memory, inside, mark), stored);
            }
        }
    }

    #[inline(never)]
    fn order_each(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (memory, mark): (Memory, Cell),
        inside: &[u64; 32],
        stored: &dyn Stored,
    ) {
        for lane in at.lanes() {
            let place = (memory, inside[lane as usize], mark);
            self.order(at, request, lane, place, stored);
        }
    }

    /// Notes one lane's access: races, and what strong accesses order.
    #[inline(always)]
    pub(super) fn order(
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
            depends: info.depends,
            warps: self.warps,
        };
        let history = match memory {
            Memory::Global => &mut self.history,
            Memory::Shared | Memory::Local | Memory::Param => &mut cta.history,
        };
        let now = cell::of_lane(mark, lane, cell::ONE);
        let found = history.touch(inside, info.bytes(), now, &who);
        if info.order.strong && !info.object {
            self.synchronize(at, info, (memory, inside), (index, lane));
        }
        if let Some((seen, address)) = found {
            let same = info.access == Access::Write && seen.writes && !seen.constant;
            let kind = match memory {
                _ if same && stored.same() >> lane & 1 != 0 => Kind::BenignRace,
                Memory::Global => Kind::RaceGlobal,
                Memory::Shared | Memory::Local | Memory::Param => Kind::RaceShared,
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
            cta.history.order_some();
            self.history.order_some();
        }
        if info.writes() {
            place.write(info.order, index, clock, info.access == Access::Atomic);
        }
    }

    fn race(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (kind, memory, address): (Kind, Memory, u64),
        seen: &Seen,
    ) {
        // Of a copy that was not waited for it was told already.
        let told = memory == Memory::Shared && self.told.contains(&seen.epoch.span);
        if told && seen.epoch.launch == self.launch {
            return;
        }
        let launched = self.launches.iter().find(|l| l.number == seen.epoch.launch);
        let Some(launched) = launched else {
            return;
        };
        let other = launched.place(seen);
        let message = if launched.subject.name == *HOST {
            format!("nothing orders this launch with a copy by which the host reads 0x{address:x}")
        } else if seen.constant {
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
