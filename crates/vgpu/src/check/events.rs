//! What orders threads, and what is left when all is done.

use super::{
    Kind,
    access::AccessInfo,
    checker::{At, Checker, nowhere, place_in},
    clock::{Order, WarpClock},
    memory::state,
    report::New,
    states::slice,
};

/// What a thread does with an `mbarrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ObjectEvent {
    /// It is an object from now on.
    Init,
    /// It is an object no more.
    Inval,
    /// It arrives, with what it did before if it `releases` that, and with its asynchronous `copies`.
    Arrive { releases: bool, copies: bool },
    /// It has seen a phase end.
    Wait { acquires: bool },
}

impl Checker {
    /// A lane and the `mbarrier` at a shared address.
    pub(crate) fn object(&mut self, at: &At<'_>, lane: u32, inside: u64, event: ObjectEvent) {
        let order = |acquire, release| Order {
            strong: true,
            acquire,
            release,
            cta_scope: true,
        };
        match event {
            ObjectEvent::Init => {
                let Some(cta) = self.cta() else {
                    return;
                };
                if let Some(states) = slice(&mut cta.shared, inside, 8) {
                    states.fill(state::OBJECT);
                    cta.pages.forget(inside, 8);
                    let thread = at.warp * 32 + lane;
                    cta.objects.insert(inside, (thread, at.span));
                }
            }
            ObjectEvent::Inval => {
                let Some(cta) = self.cta() else {
                    return;
                };
                cta.objects.remove(&inside);
                if let Some(states) = slice(&mut cta.shared, inside, 8) {
                    states.fill(state::FRESH);
                    cta.pages.forget(inside, 8);
                }
            }
            ObjectEvent::Arrive { releases, copies } => {
                if copies {
                    self.tie(at, lane, inside);
                }
                let Some((index, cta)) = &mut self.current else {
                    return;
                };
                let clock = &mut cta.warps[at.warp as usize];
                let place = self.sync.entry((Some(*index), inside)).or_default();
                place.write(order(false, releases), *index, clock, true);
            }
            ObjectEvent::Wait { acquires } => {
                self.untie(inside);
                self.lands(inside);
                let Some((index, cta)) = &mut self.current else {
                    return;
                };
                let clock = &mut cta.warps[at.warp as usize];
                let place = self.sync.entry((Some(*index), inside)).or_default();
                place.read(order(acquires, false), *index, clock, lane);
                cta.history.order_some();
                self.history.order_some();
            }
        }
    }

    /// An access writes to an `mbarrier` as if it were memory like any other.
    pub(super) fn clobbered(
        &mut self,
        at: &At<'_>,
        info: &AccessInfo,
        lane: u32,
        (address, inside): (u64, u64),
    ) {
        let Some((index, cta)) = &self.current else {
            return;
        };
        let end = inside + info.bytes();
        let mut objects = cta.objects.iter();
        let touched = objects.find(|(object, _)| **object < end && inside < **object + 8);
        let other = touched.map(|(_, (thread, span))| place_in(at, *index, *thread, *span));
        let object = touched.map_or(inside, |(object, _)| *object);
        self.add(New {
            kind: Kind::RaceShared,
            place: at.place(lane, Some(info.access)),
            other,
            address: Some(address),
            allocation: at.subject.shared.nearest(inside),
            message: format!(
                "{} bytes at 0x{address:x}, which are those of the mbarrier at shared 0x{object:x}: until mbarrier.inval only operations on mbarriers may write them",
                info.bytes()
            ),
        });
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
        // Of a cluster other CTAs access the same memory.
        let all = all && !self.clustered;
        if let Some(cta) = self.cta() {
            cta.barriers[barrier & 15] = Default::default();
            if all {
                cta.history.settle();
            } else {
                cta.history.order_some();
            }
        }
    }

    /// Everything that is still allocated and counts.
    pub(crate) fn leaks(&mut self, counts: &dyn Fn(u64) -> bool) {
        let blocks: Vec<_> = self
            .global
            .blocks()
            .filter(|(start, _, name)| name.is_none() && counts(*start))
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
