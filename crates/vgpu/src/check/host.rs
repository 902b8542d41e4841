//! Copies to the host, in the order of their streams: a launch that nothing orders with one may write what it reads.

use super::{
    Kind, cell,
    checker::Checker,
    clock::WarpClock,
    history::{Epoch, SECTOR, Seen, Who},
    order::LaunchOrder,
    report::New,
    subject::Subject,
};
use crate::{ids::SpanId, view::LaunchView};
use std::sync::Arc;

/// The name that stands for a kernel where the host is who accesses.
pub(super) const HOST: &str = "the host";

/// The place of a copy to the host among the launches of its stream.
#[derive(Clone, Debug)]
pub struct Turn(pub(crate) LaunchOrder);

/// One thread, as which the host reads.
fn one() -> LaunchView {
    LaunchView {
        grid: [1; 3],
        block: [1; 3],
        cluster: [1; 3],
        sms: 1,
        ..LaunchView::default()
    }
}

impl Checker {
    /// The host reads a range in this turn: as a launch of one thread does.
    pub(crate) fn host_copies(&mut self, turn: &Turn, address: u64, len: u64) {
        if !self.findings.wants_races() {
            return;
        }
        let subject = Arc::new(Subject {
            name: HOST.into(),
            ..Subject::default()
        });
        self.start_launch(&subject, &one(), turn.0.clone());
        let clock = WarpClock::new(0, 1);
        let epoch = Epoch {
            moment: clock.moment(),
            launch: self.launch,
            span: SpanId(0),
            cta_scope: false,
            observes: false,
        };
        let mark = cell::mark(self.history.add(epoch), clock.number(), false);
        let now = cell::of_lane(mark, 0, cell::ONE);
        let who = Who {
            clock: &clock,
            launch: self.launch,
            before: &self.before,
            strong: false,
            cta_scope: false,
            writes: false,
            depends: false,
            warps: 1,
        };
        let end = address.saturating_add(len);
        let mut at = address;
        let mut found = None;
        while at < end && found.is_none() {
            let whole = ((end - at) / SECTOR).min(MANY);
            // Many at once, where none of them has to be looked at closely.
            if at.is_multiple_of(SECTOR)
                && whole > 0
                && self.history.sweep(at, whole as usize, (now, 0), false)
            {
                at += whole * SECTOR;
                continue;
            }
            let stop = end.min((at / SECTOR + whole.max(1)) * SECTOR);
            while at < stop && found.is_none() {
                let next = stop.min((at / SECTOR + 1) * SECTOR);
                found = self.history.touch(at, next - at, now, &who);
                at = next;
            }
        }
        if let Some((seen, address)) = found {
            self.host_reads_early(&seen, address);
        }
    }

    fn host_reads_early(&mut self, seen: &Seen, address: u64) {
        let launched = self.launches.iter().find(|l| l.number == seen.epoch.launch);
        let Some(launched) = launched else {
            return;
        };
        let place = launched.place(seen);
        self.add(New {
            kind: Kind::RaceGlobal,
            place,
            other: None,
            address: Some(address),
            allocation: self.global.nearest(address),
            message: format!(
                "the host reads 0x{address:x} by a copy that nothing orders behind this launch"
            ),
        });
    }
}

/// Pieces that are looked at as one.
const MANY: u64 = 4096;
