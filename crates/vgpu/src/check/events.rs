//! What orders threads, what ends asynchronous copies, and what the host does.

use super::{
    Kind,
    checker::{At, Checker, linear, nowhere, slice},
    clock::{WarpClock, join},
    memory::state,
    report::New,
};
use crate::exec::LaunchView;

impl Checker {
    fn warp(&mut self, view: &LaunchView, warp: u32) -> Option<&mut WarpClock> {
        let cta = self.ctas.get_mut(&linear(view))?;
        cta.warps.get_mut(warp as usize)
    }

    /// `bar.warp.sync`.
    pub(crate) fn sync_lanes(&mut self, at: &At<'_>, lanes: u32) {
        if let Some(warp) = self.warp(at.view, at.warp) {
            warp.sync_lanes(lanes);
        }
    }

    /// A fence.
    pub(crate) fn fence(&mut self, at: &At<'_>) {
        if let Some(warp) = self.warp(at.view, at.warp) {
            warp.fence();
        }
    }

    /// Lanes of a warp come to a barrier.
    pub(crate) fn arrive(&mut self, view: &LaunchView, warp: u32, lanes: u32, barrier: usize) {
        let Some(cta) = self.ctas.get_mut(&linear(view)) else {
            return;
        };
        let clock = &mut cta.warps[warp as usize];
        clock.sync_lanes(lanes);
        clock.settle();
        let known = clock.publish();
        let [all, fenced] = &mut cta.barriers[barrier & 15];
        join(all, &known);
        if let Some(own) = clock.fenced() {
            join(fenced, own);
        }
    }

    /// A barrier lets lanes of a warp go on.
    pub(crate) fn release(&mut self, view: &LaunchView, warp: u32, lanes: u32, barrier: usize) {
        let Some(cta) = self.ctas.get_mut(&linear(view)) else {
            return;
        };
        let clock = &mut cta.warps[warp as usize];
        clock.sync_lanes(lanes);
        let [all, fenced] = &cta.barriers[barrier & 15];
        clock.learn(all);
        clock.share_fenced(fenced);
    }

    /// A barrier is empty again.
    pub(crate) fn reset(&mut self, view: &LaunchView, barrier: usize) {
        if let Some(cta) = self.ctas.get_mut(&linear(view)) {
            cta.barriers[barrier & 15] = Default::default();
        }
    }

    /// `cp.async.commit_group`.
    pub(crate) fn commit(&mut self, at: &At<'_>) {
        let Some(cta) = self.ctas.get_mut(&linear(at.view)) else {
            return;
        };
        let groups = &mut cta.groups[at.warp as usize];
        for lane in at.lanes() {
            let group = groups[lane as usize];
            groups[lane as usize] += 1;
            let own = cta.pending[at.warp as usize].iter_mut();
            for copy in own.filter(|copy| copy.lane == lane && copy.group.is_none()) {
                copy.group = Some(group);
            }
        }
    }

    /// `cp.async.wait_group`, for all but the latest `left` groups, or `cp.async.wait_all` for everything.
    pub(crate) fn wait(&mut self, at: &At<'_>, left: Option<u32>) {
        let Some(cta) = self.ctas.get_mut(&linear(at.view)) else {
            return;
        };
        let groups = cta.groups[at.warp as usize];
        let shared = &mut cta.shared;
        cta.pending[at.warp as usize].retain(|copy| {
            let done = at.mask >> copy.lane & 1 != 0
                && match (left, copy.group) {
                    (None, _) => true,
                    (Some(left), Some(group)) => group + left < groups[copy.lane as usize],
                    (Some(_), None) => false,
                };
            if done && let Some(states) = slice(shared, copy.address, copy.len) {
                for state in states.iter_mut().filter(|state| **state == state::PENDING) {
                    *state = state::WRITTEN;
                }
            }
            !done
        });
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
