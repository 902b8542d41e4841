//! What orders threads, what ends asynchronous copies, and what the host does.

use super::{
    Kind,
    checker::{At, Checker, Pending, nowhere},
    clock::{Order, WarpClock},
    memory::state,
    report::New,
    states::slice,
};

/// What a thread does with an `mbarrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ObjectEvent {
    Init,
    /// It arrives, with what it did before if it `releases` that, and with its asynchronous `copies`.
    Arrive {
        releases: bool,
        copies: bool,
    },
    /// It has seen a phase end.
    Wait {
        acquires: bool,
    },
}

impl Checker {
    /// A lane and the `mbarrier` at a shared address.
    pub(crate) fn object(&mut self, at: &At<'_>, lane: u32, inside: u64, event: ObjectEvent) {
        let Some((index, cta)) = &mut self.current else {
            return;
        };
        let order = |acquire, release| Order {
            strong: true,
            acquire,
            release,
            cta_scope: true,
        };
        let clock = &mut cta.warps[at.warp as usize];
        let place = self.sync.entry((Some(*index), inside)).or_default();
        match event {
            ObjectEvent::Init => {
                if let Some(states) = slice(&mut cta.shared, inside, 8) {
                    states.fill(state::WRITTEN);
                }
            }
            ObjectEvent::Arrive { releases, copies } => {
                if copies {
                    let pending = &mut cta.pending[at.warp as usize];
                    let (mut rest, mut late) = (Vec::new(), Vec::new());
                    let phase = clock.phase();
                    pending.retain_mut(|copy| {
                        let mine = copy.lanes & 1 << lane;
                        if mine != 0 {
                            rest.extend(copy.without(mine));
                            copy.arrive(&mut cta.shared);
                            late.extend((copy.phase != phase).then_some(*copy));
                        }
                        mine == 0
                    });
                    pending.extend(rest);
                    self.landed(at, &late);
                }
                let Some((index, cta)) = &mut self.current else {
                    return;
                };
                let clock = &mut cta.warps[at.warp as usize];
                let place = self.sync.entry((Some(*index), inside)).or_default();
                place.write(order(false, releases), *index, clock, true);
            }
            ObjectEvent::Wait { acquires } => {
                place.read(order(acquires, false), *index, clock, lane);
                cta.history.order_some();
                self.history.order_some();
            }
        }
    }

    fn warp(&mut self, warp: u32) -> Option<&mut WarpClock> {
        let cta = self.cta()?;
        cta.warps.get_mut(warp as usize)
    }

    /// `bar.warp.sync`.
    pub(crate) fn sync_lanes(&mut self, at: &At<'_>, lanes: u32) {
        if !self.findings.wants_races() {
            return;
        }
        if let Some(warp) = self.warp(at.warp) {
            warp.sync_lanes(lanes);
        }
    }

    /// A fence, for the CTA alone if `within`.
    pub(crate) fn fence(&mut self, at: &At<'_>, within: bool) {
        if !self.findings.wants_races() {
            return;
        }
        if let Some(warp) = self.warp(at.warp) {
            warp.fence(within);
        }
    }

    /// Lanes of a warp come to a barrier.
    pub(crate) fn arrive(&mut self, warp: u32, lanes: u32, barrier: usize) {
        if !self.findings.wants_races() {
            return;
        }
        let Some(cta) = self.cta() else {
            return;
        };
        let clock = &mut cta.warps[warp as usize];
        clock.sync_lanes(lanes);
        clock.settle();
        let known = clock.publish();
        let [all, fenced] = &mut cta.barriers[barrier & 15];
        all.join(&known);
        if let Some(own) = clock.fenced() {
            fenced.join(own);
        }
    }

    /// A barrier lets lanes of a warp go on.
    pub(crate) fn release(&mut self, warp: u32, lanes: u32, barrier: usize) {
        if !self.findings.wants_races() {
            return;
        }
        let Some(cta) = self.cta() else {
            return;
        };
        let clock = &mut cta.warps[warp as usize];
        clock.sync_lanes(lanes);
        let [all, fenced] = &cta.barriers[barrier & 15];
        clock.learn(all);
        clock.share_fenced(fenced);
    }

    /// A barrier is empty again; `all` threads of the CTA were at it.
    pub(crate) fn reset(&mut self, barrier: usize, all: bool) {
        if !self.findings.wants_races() {
            return;
        }
        if let Some(cta) = self.cta() {
            cta.barriers[barrier & 15] = Default::default();
            if all {
                cta.history.settle();
            } else {
                cta.history.order_some();
            }
        }
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
                late.extend((copy.phase != phase).then_some(*copy));
            }
            !done
        });
        cta.pending[at.warp as usize].extend(kept);
        self.landed(at, &late);
    }

    /// The host reads a range: nobody may have left a hole in it.
    pub(crate) fn host_reads(&mut self, address: u64, len: u64) {
        let hole = self.global.states(address, len).and_then(|states| {
            let first = states.iter().position(|state| *state == state::FRESH)?;
            let holes = states
                .iter()
                .filter(|state| **state == state::FRESH)
                .count();
            Some((first as u64, holes))
        });
        let Some((first, holes)) = hole else {
            return;
        };
        let allocation = self.global.nearest(address);
        self.findings.add(New {
            kind: Kind::UnwrittenOutput,
            place: nowhere(),
            other: None,
            address: Some(address + first),
            message: format!("{holes} of {len} bytes that the host reads were never written, the first at offset {first}"),
            allocation,
        });
    }

    /// Everything that is still allocated.
    pub(crate) fn leaks(&mut self) {
        let blocks: Vec<_> = self
            .global
            .blocks()
            .filter(|(_, _, name)| name.is_none())
            .map(|(start, bytes, _)| (start, bytes))
            .collect();
        for (start, bytes) in blocks {
            self.findings.add(New {
                kind: Kind::Leak,
                place: nowhere(),
                other: None,
                address: Some(start),
                allocation: self.global.nearest(start),
                message: format!("{bytes} bytes at 0x{start:x} are still allocated"),
            });
        }
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

    /// What was copied is there.
    fn arrive(&self, shared: &mut [u8]) {
        if let Some((start, len)) = self.together {
            if let Some(states) = slice(shared, u64::from(start), u64::from(len)) {
                arrived(states);
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
            rows.iter_mut().for_each(|row| arrived(row));
            arrived(rest);
        }
    }
}

#[inline(always)]
fn arrived(states: &mut [u8]) {
    for state in states {
        let now = *state;
        let rest = if now == state::HOLLOW {
            state::FRESH
        } else {
            now
        };
        *state = if now == state::PENDING {
            state::WRITTEN
        } else {
            rest
        };
    }
}
