//! What the CTAs of a cluster do to each other: accesses to shared memory of another, and the barrier of all.

use super::{
    Kind,
    access::{AccessInfo, MOST, Request, Space},
    checker::{At, Checker, Cta, Mark, linear},
    clock::Known,
    look::Stores,
    report::New,
};
use crate::view::{LaunchView, Peer};

/// What those who come to the barrier of a cluster know: of the phase that fills, and of the one before it. Each: all, and what
/// they have fenced.
#[derive(Default)]
pub(super) struct Meeting {
    comes: [Known; 2],
    met: [Known; 2],
}

/// The cluster of a CTA, by the number of its first one.
fn cluster(view: &LaunchView) -> u32 {
    view.peers
        .first()
        .map_or_else(|| linear(view), |first| first.index)
}

/// Exchanges what is known of the shared memory of two CTAs.
fn exchange(one: &mut Cta, two: &mut Cta, marks: &mut Vec<Mark>) {
    std::mem::swap(&mut one.shared, &mut two.shared);
    std::mem::swap(&mut one.pages, &mut two.pages);
    std::mem::swap(&mut one.history, &mut two.history);
    std::mem::swap(&mut one.objects, &mut two.objects);
    std::mem::swap(&mut one.pending, &mut two.pending);
    std::mem::swap(&mut one.holes[0], &mut two.holes[0]);
    std::mem::swap(&mut one.proxy, &mut two.proxy);
    // Of each access when it was made there.
    std::mem::swap(&mut one.marks, marks);
}

impl Checker {
    /// Does something as if the running threads were of CTA `index`, whose shared memory they access; nothing if that has
    /// ended.
    pub(crate) fn at_peer<R>(
        &mut self,
        index: u32,
        f: impl FnOnce(&mut Checker) -> R,
    ) -> Option<R> {
        if matches!(&self.current, Some((own, _)) if *own == index) {
            return Some(f(self));
        }
        let (own, mut cta) = self.current.take()?;
        let Some(mut peer) = self.take_waiting(index) else {
            self.current = Some((own, cta));
            return None;
        };
        let mut marks = self.peer_marks.remove(&(own, index)).unwrap_or_default();
        marks.resize(cta.marks.len(), Mark::default());
        exchange(&mut cta, &mut peer, &mut marks);
        self.current = Some((index, cta));
        let done = f(self);
        let (_, mut cta) = self.current.take()?;
        exchange(&mut cta, &mut peer, &mut marks);
        self.peer_marks.insert((own, index), marks);
        self.put_waiting(index, peer);
        self.current = Some((own, cta));
        Some(done)
    }

    /// The other CTA of the cluster that a generic address is of.
    pub(super) fn peer_of<'a>(at: &At<'a>, info: &AccessInfo, address: u64) -> Option<&'a Peer> {
        if info.space != Space::Generic {
            return None;
        }
        let is_in = |peer: &&Peer| address.wrapping_sub(peer.base) < crate::memory::WINDOW;
        let found = at.view.peers.iter().find(is_in);
        found.filter(|peer| peer.base != at.view.own.shared)
    }

    /// One lane's access to shared memory of another CTA.
    pub(super) fn lane_of_peer(
        &mut self,
        at: &At<'_>,
        request: &Request<'_>,
        (lane, address): (u32, u64),
        (peer, stores): (&Peer, &Stores<'_>),
    ) -> Option<[u32; MOST]> {
        let inside = address - peer.base;
        if peer.lives {
            let there = at.view.own.shared + inside;
            return self
                .at_peer(peer.index, |checker| {
                    checker.lane(at, request, (lane, there), stores)
                })
                .flatten();
        }
        self.ended(at, request.info, lane, inside);
        None
    }

    /// An access to the shared memory of a CTA that has ended.
    pub(crate) fn ended(&mut self, at: &At<'_>, info: &AccessInfo, lane: u32, inside: u64) {
        self.add(New {
            kind: Kind::UseAfterFree,
            place: at.place(lane, Some(info.access)),
            other: None,
            address: Some(inside),
            allocation: at.subject.shared.nearest(inside),
            message: format!(
                "{} bytes at shared 0x{inside:x} of a CTA of the cluster that has ended: CTAs wait at barrier.cluster before \
                 they end while others use their memory",
                info.bytes()
            ),
        });
    }

    /// Lanes come to the barrier of the cluster, with what they did before if it `orders` that; else with what was fenced.
    pub(crate) fn meets(&mut self, at: &At<'_>, orders: bool) {
        if !self.findings.wants_races() {
            return;
        }
        let Some((_, cta)) = &mut self.current else {
            return;
        };
        let clock = &mut cta.warps[at.warp as usize];
        let [all, fenced] = &mut self.meetings.entry(cluster(at.view)).or_default().comes;
        if let Some(own) = clock.fenced() {
            fenced.join(own);
            all.join(own);
        }
        if orders {
            clock.settle();
            let known = clock.publish();
            all.join(&known);
        }
    }

    /// All lanes of the cluster have come to its barrier.
    pub(crate) fn all_met(&mut self, view: &LaunchView) {
        if let Some(meeting) = self.meetings.get_mut(&cluster(view)) {
            meeting.met = std::mem::take(&mut meeting.comes);
        }
    }

    /// All lanes of a warp have come to it: from here on each comes after what the others did before.
    pub(crate) fn lanes_met(&mut self, warp: u32, lanes: u32) {
        if self.findings.wants_races()
            && let Some((_, cta)) = &mut self.current
        {
            cta.warps[warp as usize].sync_lanes(lanes);
        }
    }

    /// Lanes that did not have to wait go on from it.
    pub(crate) fn has_met(&mut self, at: &At<'_>) {
        self.leaves(at.view, at.warp, at.mask);
    }

    /// Lanes go on from the barrier of the cluster.
    pub(crate) fn leaves(&mut self, view: &LaunchView, warp: u32, lanes: u32) {
        if !self.findings.wants_races() {
            return;
        }
        let Some((_, cta)) = &mut self.current else {
            return;
        };
        let Some(meeting) = self.meetings.get(&cluster(view)) else {
            return;
        };
        let clock = &mut cta.warps[warp as usize];
        clock.sync_lanes(lanes);
        let [all, fenced] = &meeting.met;
        clock.learn(all);
        clock.share_fenced(fenced);
        cta.history.order_some();
        self.history.order_some();
    }
}
