//! Asynchronous copies in flight: what they write is not there yet, and what they read must stay as it is.

use super::{
    Access, Kind, Place,
    access::{AccessInfo, Request, Stored},
    checker::{At, Checker, Cta, place_in},
    memory::state,
    report::New,
    states::slice,
    stretch::Stretch,
};
use crate::ids::SpanId;

/// Where each lane of a copy reads, and how many bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    pub(crate) addresses: [u64; 32],
    pub(crate) bytes: [u8; 32],
}

/// Copies of one instruction that nobody has waited for.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    pub(super) lanes: u32,
    /// Their group, once that is committed.
    pub(super) group: Option<u32>,
    /// The `mbarrier` that they arrive at.
    pub(super) object: Option<u64>,
    /// The range that they fill, if they do.
    pub(super) together: Option<(u32, u32)>,
    pub(super) addresses: [u32; 32],
    pub(super) len: u32,
    pub(super) lent: Lent,
    /// The access, its place, and the warp's phase when it was issued.
    pub(super) number: u32,
    pub(super) span: SpanId,
    pub(super) phase: u32,
}

/// From the first to behind the last of some addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: u64,
    end: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            low: u64::MAX,
            end: 0,
        }
    }
}

impl Bounds {
    pub(super) fn add(&mut self, low: u64, end: u64) {
        self.low = self.low.min(low);
        self.end = self.end.max(end);
    }

    #[inline(always)]
    fn meets(&self, low: u64, len: u64) -> bool {
        low < self.end && low.saturating_add(len) > self.low
    }
}

impl Checker {
    /// Whether global memory that nobody should write may be in a stretch: constants, or what copies still read.
    #[inline(always)]
    pub(crate) fn keeps(&self, stretch: Stretch, bytes: u64) -> bool {
        let len = stretch.len(bytes);
        self.lent.meets(stretch.low, len) || self.constants.meets(stretch.low, len)
    }

    /// Whether a copy may still read some of these bytes.
    pub(super) fn is_lent(&self, inside: u64, bytes: u64) -> bool {
        self.lent.meets(inside, bytes)
    }

    /// A copy by these lanes is on its way to the addresses.
    #[inline(always)]
    pub(super) fn depart(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        lanes: u32,
        (addresses, together): ([u32; 32], Option<(u32, u32)>),
        stored: &dyn Stored,
    ) {
        let lent = stored.lent().unwrap_or(Lent {
            addresses: [0; 32],
            bytes: [0; 32],
        });
        let (mut low, mut end) = (u64::MAX, 0);
        for lane in 0..32 {
            let reads = lanes >> lane & 1 != 0 && lent.bytes[lane] != 0;
            let (from, to) = (
                lent.addresses[lane],
                lent.addresses[lane].wrapping_add(u64::from(lent.bytes[lane])),
            );
            low = low.min(if reads { from } else { u64::MAX });
            end = end.max(if reads { to } else { 0 });
        }
        self.lent.add(low, end);
        let Some((_, cta)) = &mut self.current else {
            return;
        };
        cta.pending[at.warp as usize].push(Pending {
            lanes,
            group: None,
            object: None,
            together,
            addresses,
            len: request.info.bytes() as u32,
            lent,
            number: request.number,
            span: at.span,
            phase: cta.warps[at.warp as usize].phase(),
        });
    }

    /// An access to what a copy still writes.
    pub(super) fn too_early(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (address, inside): (u64, u64),
    ) {
        let to = (inside, inside + info.bytes());
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        let flying = cta.pending.iter().enumerate().find_map(|(warp, all)| {
            let hit = |copy: &Pending| copy.lane_to(to).map(|lane| (warp, copy.span, lane));
            all.iter().find_map(hit)
        });
        self.told.extend(flying.map(|(_, span, _)| span));
        let other = flying.map(|(warp, span, lane)| Place {
            access: Some(Access::Write),
            ..place_in(at, *index, warp as u32 * 32 + lane, span)
        });
        let message = if info.asynchronous {
            // Whichever is done last stays, and it may be the first that is waited for.
            cta.crossed = true;
            "another asynchronous copy, which was not waited for, still writes to this address"
        } else {
            "the asynchronous copy to this address was not waited for"
        };
        self.findings.add(New {
            kind: Kind::AsyncEarly,
            place: at.place(lane, Some(info.access)),
            other,
            address: Some(address),
            allocation: at.subject.shared.nearest(inside),
            message: message.to_owned(),
        });
    }

    /// A write to what a copy may still read.
    pub(super) fn overwritten(&mut self, at: &At<'_>, info: &AccessInfo, lane: u32, inside: u64) {
        let range = (inside, inside + info.bytes());
        let of = |index: u32, cta: &Cta| {
            let all = cta.pending.iter().enumerate();
            let mut all = all.flat_map(|(warp, all)| all.iter().map(move |copy| (warp, copy)));
            all.find_map(|(warp, copy)| {
                // That it was not waited for was told where what it writes was read.
                let told = self.told.contains(&copy.span);
                let lane = copy.lane_from(range).filter(|_| !told)?;
                Some(Place {
                    access: Some(Access::Read),
                    ..place_in(at, index, warp as u32 * 32 + lane, copy.span)
                })
            })
        };
        let current = self.current.iter().find_map(|(index, cta)| of(*index, cta));
        let Some(other) = current.or_else(|| self.of_waiting(&of)) else {
            return;
        };
        let allocation = self.global.nearest(inside);
        self.findings.add(New {
            kind: Kind::AsyncEarly,
            place: at.place(lane, Some(info.access)),
            other: Some(other),
            address: Some(inside),
            allocation,
            message: "the asynchronous copy that reads this address was not waited for".to_owned(),
        });
    }

    /// `cp.async.commit_group`.
    pub(crate) fn commit(&mut self, at: &At<'_>) {
        if !self.findings.wants_copies() {
            return;
        }
        let Some(cta) = self.cta() else {
            return;
        };
        let groups = &mut cta.groups[at.warp as usize];
        let pending = &mut cta.pending[at.warp as usize];
        let mut rest = at.mask;
        while rest != 0 {
            // The lanes that have committed as often.
            let group = groups[rest.trailing_zeros() as usize];
            let alike = at.lanes().filter(|lane| groups[*lane as usize] == group);
            let lanes = alike.fold(0, |lanes, lane| lanes | 1 << lane) & rest;
            rest &= !lanes;
            for at in 0..pending.len() {
                let copy = &mut pending[at];
                let mine = copy.lanes & lanes;
                if copy.group.is_some() || mine == 0 {
                    continue;
                }
                let left = copy.without(mine);
                copy.group = Some(group);
                pending.extend(left);
            }
        }
        for lane in at.lanes() {
            groups[lane as usize] += 1;
        }
    }

    /// `cp.async.wait_group`, for all but the latest `left` groups, or `cp.async.wait_all` for everything.
    pub(crate) fn wait(&mut self, at: &At<'_>, left: Option<u32>) {
        if !self.findings.wants_copies() {
            return;
        }
        let Some(cta) = self.cta() else {
            return;
        };
        let groups = &cta.groups[at.warp as usize];
        let shared = &mut cta.shared;
        let phase = cta.warps[at.warp as usize].phase();
        let (mut kept, mut late) = (Vec::new(), Vec::new());
        cta.pending[at.warp as usize].retain_mut(|copy| {
            let is_done = |lane: &u32| match (left, copy.group) {
                (None, _) => true,
                (Some(left), Some(group)) => group + left < groups[*lane as usize],
                (Some(_), None) => false,
            };
            let done_lanes = at.lanes().filter(is_done);
            let mine = copy.lanes & done_lanes.fold(0, |lanes, lane| lanes | 1 << lane);
            let done = mine != 0;
            if done {
                kept.extend(copy.without(mine));
                copy.arrive(shared);
                // What arrives at an mbarrier was noted there.
                let is_late = copy.phase != phase && copy.object.is_none();
                late.extend(is_late.then_some(*copy));
            }
            !done
        });
        cta.pending[at.warp as usize].extend(kept);
        cta.cross();
        self.landed(at, &late);
        self.copies_ended();
    }

    /// The copies of a lane so far arrive at an `mbarrier` when they are done.
    pub(super) fn tie(&mut self, at: &At<'_>, lane: u32, object: u64) {
        let Some(cta) = self.cta() else {
            return;
        };
        let phase = cta.warps[at.warp as usize].phase();
        let pending = &mut cta.pending[at.warp as usize];
        let (mut rest, mut late) = (Vec::new(), Vec::new());
        for copy in pending.iter_mut() {
            let mine = copy.lanes & 1 << lane;
            if mine == 0 || copy.object.is_some() {
                continue;
            }
            rest.extend(copy.without(mine));
            copy.object = Some(object);
            late.extend((copy.phase != phase).then_some(*copy));
        }
        pending.extend(rest);
        self.landed(at, &late);
    }

    /// A phase of an `mbarrier` has ended: the copies that arrived at it are done.
    pub(super) fn untie(&mut self, object: u64) {
        let Some(cta) = self.cta() else {
            return;
        };
        let shared = &mut cta.shared;
        for pending in &mut cta.pending {
            pending.retain_mut(|copy| {
                let done = copy.object == Some(object);
                if done {
                    copy.arrive(shared);
                }
                !done
            });
        }
        cta.cross();
        self.copies_ended();
    }
}

impl Cta {
    /// Where copies have crossed, what is still on its way is not there though another copy to it is.
    fn cross(&mut self) {
        if !self.crossed {
            return;
        }
        for copy in self.pending.iter().flatten() {
            copy.each(&mut self.shared, |state| match state {
                state::WRITTEN => state::PENDING,
                state::FRESH => state::HOLLOW,
                other => other,
            });
        }
        self.pages.reset(self.shared.len() as u64);
    }
}

impl Pending {
    /// Keeps those of `lanes`; the others, if there are any.
    fn without(&mut self, lanes: u32) -> Option<Pending> {
        let rest = self.lanes & !lanes;
        self.lanes &= lanes;
        if rest != 0 {
            self.together = None;
        }
        (rest != 0).then_some(Pending {
            lanes: rest,
            ..*self
        })
    }

    fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let lanes = self.lanes;
        (0..32).filter(move |lane| lanes >> lane & 1 != 0)
    }

    /// A lane that writes to some of a range.
    fn lane_to(&self, (from, to): (u64, u64)) -> Option<u32> {
        self.lanes().find(|lane| {
            let start = u64::from(self.addresses[*lane as usize]);
            start < to && from < start + u64::from(self.len)
        })
    }

    /// A lane that reads some of a range.
    fn lane_from(&self, (from, to): (u64, u64)) -> Option<u32> {
        self.lanes().find(|lane| {
            let start = self.lent.addresses[*lane as usize];
            let bytes = u64::from(self.lent.bytes[*lane as usize]);
            bytes != 0 && start < to && from < start.saturating_add(bytes)
        })
    }

    /// What was copied is there.
    fn arrive(&self, shared: &mut [u8]) {
        self.each(shared, |state| {
            let rest = if state == state::HOLLOW {
                state::FRESH
            } else {
                state
            };
            if state == state::PENDING {
                state::WRITTEN
            } else {
                rest
            }
        });
    }

    /// Changes the states of what it writes.
    #[inline(always)]
    fn each(&self, shared: &mut [u8], change: impl Fn(u8) -> u8) {
        let all = |states: &mut [u8]| states.iter_mut().for_each(|state| *state = change(*state));
        if let Some((start, len)) = self.together {
            if let Some(states) = slice(shared, u64::from(start), u64::from(len)) {
                all(states);
            }
            return;
        }
        for (lane, address) in self.addresses.iter().enumerate() {
            if self.lanes >> lane & 1 == 0 {
                continue;
            }
            let Some(states) = slice(shared, u64::from(*address), u64::from(self.len)) else {
                continue;
            };
            let (rows, rest) = states.as_chunks_mut::<16>();
            rows.iter_mut().for_each(|row| all(row));
            all(rest);
        }
    }
}
