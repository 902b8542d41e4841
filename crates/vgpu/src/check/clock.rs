//! Which accesses are known to come before which: vector clocks of warps, and of the lanes inside of one.
//!
//! A warp counts the moments at which it publishes what it did: at barriers, fences and releases. It knows of
//! other warps up to which moment it has seen them. Lanes of one warp are ordered by `bar.warp.sync` and barriers
//! only: that they often run together is not a promise.

use rustc_hash::FxHashMap;

/// Moments of warps, by their number in the launch.
pub(crate) type Known = FxHashMap<u32, u32>;

/// When and by whom an access was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The launch; 0 is none.
    pub(crate) launch: u32,
    /// The warp's number in the launch.
    pub(crate) warp: u32,
    pub(crate) clock: u32,
    pub(crate) lane_clock: u32,
    pub(crate) lane: u8,
}

/// What one warp knows.
#[derive(Clone, Debug)]
pub(crate) struct WarpClock {
    number: u32,
    now: u32,
    known: Known,
    lane_now: [u32; 32],
    lanes: Box<[[u32; 32]; 32]>,
    /// What the last fence published.
    fenced: Option<Known>,
    /// What strong reads have seen, before a fence or a barrier makes it known.
    seen: Known,
    /// Up to which moment of its own warp each lane knows by what it acquired, and what strong reads saw of it.
    own: [u32; 32],
    own_seen: [u32; 32],
}

pub(crate) fn join(into: &mut Known, other: &Known) {
    for (warp, clock) in other {
        let mine = into.entry(*warp).or_insert(0);
        *mine = (*mine).max(*clock);
    }
}

impl WarpClock {
    /// A warp that has done nothing.
    pub(crate) fn new(number: u32) -> WarpClock {
        WarpClock {
            number,
            now: 1,
            known: Known::default(),
            lane_now: [1; 32],
            lanes: Box::new([[0; 32]; 32]),
            fenced: None,
            seen: Known::default(),
            own: [0; 32],
            own_seen: [0; 32],
        }
    }

    /// The stamp of an access of `lane` now.
    pub(crate) fn stamp(&self, launch: u32, lane: u32) -> Stamp {
        Stamp {
            launch,
            warp: self.number,
            clock: self.now,
            lane_clock: self.lane_now[lane as usize & 31],
            lane: lane as u8,
        }
    }

    /// Whether an access of the same launch is known to come before what `lane` does now.
    pub(crate) fn is_before(&self, stamp: &Stamp, lane: u32) -> bool {
        if stamp.warp == self.number {
            let (own, other) = (lane as usize & 31, usize::from(stamp.lane) & 31);
            return own == other
                || self.lanes[own][other] > stamp.lane_clock
                || self.own[own] > stamp.clock;
        }
        self.known
            .get(&stamp.warp)
            .is_some_and(|clock| *clock > stamp.clock)
    }

    /// Orders what lanes did before with what they do after.
    pub(crate) fn sync_lanes(&mut self, lanes: u32) {
        let members = || (0..32usize).filter(move |lane| lanes >> lane & 1 != 0);
        let mut all = [0; 32];
        for lane in members() {
            self.lane_now[lane] += 1;
            for (all, known) in all.iter_mut().zip(&self.lanes[lane]) {
                *all = (*all).max(*known);
            }
        }
        for lane in members() {
            all[lane] = all[lane].max(self.lane_now[lane]);
        }
        let own = members().map(|lane| self.own[lane]).max().unwrap_or(0);
        for lane in members() {
            self.lanes[lane] = all;
            self.own[lane] = own;
        }
    }

    /// All this warp knows and did, for others; a new moment begins.
    pub(crate) fn publish(&mut self) -> Known {
        self.now += 1;
        let mut all = self.known.clone();
        all.insert(self.number, self.now);
        all
    }

    /// Learns what others published.
    pub(crate) fn learn(&mut self, other: &Known) {
        join(&mut self.known, other);
    }

    /// A fence: what was done so far may be published by later strong writes, and what strong reads saw is known.
    pub(crate) fn fence(&mut self) {
        self.settle();
        self.fenced = Some(self.publish());
    }

    /// What it has fenced so far.
    pub(crate) fn fenced(&self) -> Option<&Known> {
        self.fenced.as_ref()
    }

    /// What others fenced before a barrier can be published behind it.
    pub(crate) fn share_fenced(&mut self, other: &Known) {
        if !other.is_empty() {
            join(self.fenced.get_or_insert_default(), other);
        }
    }

    /// A barrier makes known what strong reads saw.
    pub(crate) fn settle(&mut self) {
        let seen = std::mem::take(&mut self.seen);
        self.learn(&seen);
        for (own, seen) in self.own.iter_mut().zip(self.own_seen) {
            *own = (*own).max(seen);
        }
    }
}

/// A place in memory by which threads order what they do.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncPlace {
    /// For every thread of the device.
    all: Known,
    /// For threads of one CTA.
    within: FxHashMap<u32, Known>,
}

/// How an access orders others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// `atom`, `red`, `.volatile`, `.relaxed` and stronger.
    pub(crate) strong: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    /// For the CTA only.
    pub(crate) cta_scope: bool,
}

impl SyncPlace {
    /// A strong read of it by a lane.
    pub(crate) fn read(&self, order: Order, cta: u32, warp: &mut WarpClock, lane: u32) {
        let mine = self.within.get(&cta);
        for known in std::iter::once(&self.all).chain(mine) {
            if let Some(clock) = known.get(&warp.number) {
                let own = if order.acquire {
                    &mut warp.own
                } else {
                    &mut warp.own_seen
                };
                own[lane as usize & 31] = own[lane as usize & 31].max(*clock);
            }
            if order.acquire {
                warp.learn(known);
            } else {
                join(&mut warp.seen, known);
            }
        }
    }

    /// A strong write of it. What an atomic finds there stays published: it heads a release sequence.
    pub(crate) fn write(&mut self, order: Order, cta: u32, warp: &mut WarpClock, keeps: bool) {
        let known = if order.release {
            Some(warp.publish())
        } else {
            warp.fenced.clone()
        };
        if !keeps {
            *self = SyncPlace::default();
        }
        if let Some(known) = known {
            let place = if order.cta_scope {
                self.within.entry(cta).or_default()
            } else {
                &mut self.all
            };
            join(place, &known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_ordered_by_what_they_both_wait_for() {
        let mut warp = WarpClock::new(0);
        let first = warp.stamp(1, 3);
        assert!(warp.is_before(&first, 3));
        assert!(!warp.is_before(&first, 4));
        warp.sync_lanes(0b1_0000);
        assert!(!warp.is_before(&first, 4));
        warp.sync_lanes(0b1_1000);
        assert!(warp.is_before(&first, 4));
        let second = warp.stamp(1, 3);
        assert!(!warp.is_before(&second, 4));
    }

    #[test]
    fn a_message_is_passed_by_fence_and_flag() {
        let (mut one, mut two) = (WarpClock::new(0), WarpClock::new(1));
        let data = one.stamp(1, 0);
        let mut flag = SyncPlace::default();
        let relaxed = Order {
            strong: true,
            ..Order::default()
        };
        flag.write(relaxed, 0, &mut one, false);
        flag.read(relaxed, 1, &mut two, 0);
        two.fence();
        assert!(!two.is_before(&data, 0), "no fence before the flag");
        one.fence();
        flag.write(relaxed, 0, &mut one, false);
        let late = one.stamp(1, 0);
        flag.read(relaxed, 1, &mut two, 0);
        assert!(!two.is_before(&data, 0), "no fence behind the flag");
        two.fence();
        assert!(two.is_before(&data, 0));
        assert!(!two.is_before(&late, 0), "after the fence");
    }

    #[test]
    fn lanes_of_one_warp_pass_messages_too() {
        let mut warp = WarpClock::new(0);
        let data = warp.stamp(1, 3);
        let mut flag = SyncPlace::default();
        let of = |acquire, release| Order {
            strong: true,
            acquire,
            release,
            cta_scope: true,
        };
        flag.write(of(false, true), 0, &mut warp, false);
        flag.read(of(false, false), 0, &mut warp, 4);
        assert!(!warp.is_before(&data, 4), "no fence behind the flag");
        warp.fence();
        assert!(warp.is_before(&data, 4));
        assert!(!warp.is_before(&data, 5), "it did not look");
        flag.read(of(true, false), 0, &mut warp, 5);
        assert!(warp.is_before(&data, 5));
        let late = warp.stamp(1, 3);
        assert!(!warp.is_before(&late, 5), "after the flag");
    }
}
