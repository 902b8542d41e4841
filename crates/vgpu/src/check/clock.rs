//! Which accesses are known to come before which: vector clocks of warps, and of the lanes inside of one.
//!
//! A warp counts the moments at which it publishes what it did: at barriers, fences and releases. It knows of
//! other warps up to which moment it has seen them. Lanes of one warp are ordered by `bar.warp.sync` and barriers
//! only: that they often run together is not a promise.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Moments of warps, by their number in the launch, in the order of the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known(Vec<(u32, u32)>);

impl Known {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, warp: u32) -> u32 {
        match self.0.binary_search_by_key(&warp, |(warp, _)| *warp) {
            Ok(at) => self.0[at].1,
            Err(_) => 0,
        }
    }

    fn set(&mut self, warp: u32, clock: u32) {
        match self.0.binary_search_by_key(&warp, |(warp, _)| *warp) {
            Ok(at) => self.0[at].1 = clock,
            Err(at) => self.0.insert(at, (warp, clock)),
        }
    }

    /// The later moment of each warp.
    pub(crate) fn join(&mut self, other: &Known) {
        if self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.0 == b.0) {
            for ((_, own), (_, other)) in self.0.iter_mut().zip(&other.0) {
                *own = (*own).max(*other);
            }
            return;
        }
        let mut both = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(own), Some(their)) = (a.peek(), b.peek()) {
            both.push(match own.0.cmp(&their.0) {
                std::cmp::Ordering::Less => **own,
                std::cmp::Ordering::Greater => **their,
                std::cmp::Ordering::Equal => (own.0, own.1.max(their.1)),
            });
            let (own, their) = (own.0, their.0);
            a.next_if(|_| own <= their);
            b.next_if(|_| their <= own);
        }
        both.extend(a);
        both.extend(b);
        self.0 = both;
    }
}

/// Launches that come before one, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before(pub(crate) Vec<u32>);

impl Before {
    pub(crate) fn has(&self, launch: u32) -> bool {
        self.0.contains(&launch)
    }
}

/// When an access was made, and by which warp.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// The warp's number in the launch.
    pub(crate) warp: u32,
    clock: u32,
    lanes: Lanes,
}

/// The clocks of a warp's lanes.
#[derive(Clone, Debug)]
enum Lanes {
    Even(u32),
    Each(Arc<[u32; 32]>),
}

/// What the lanes of a warp know of each other.
#[derive(Clone, Debug)]
enum Table {
    /// All the same: a row of what is known of each.
    Row([u32; 32]),
    Each(Box<[[u32; 32]; 32]>),
}

/// What one warp knows.
#[derive(Clone, Debug)]
pub(crate) struct WarpClock {
    number: u32,
    /// Its lanes when it began.
    all: u32,
    now: u32,
    known: Known,
    lane_now: [u32; 32],
    lanes: Table,
    /// What the last fence published, and what the last one did for the CTA alone.
    fenced: Option<Known>,
    fenced_within: Option<Known>,
    /// What strong reads have seen, before a fence or a barrier makes it known.
    seen: Known,
    /// Up to which moment of its own warp each lane knows by what it acquired, and what strong reads saw of it.
    own: [u32; 32],
    own_seen: [u32; 32],
    /// Changes with every moment, of the warp or of its lanes.
    phase: u32,
}

impl WarpClock {
    /// A warp of some lanes that has done nothing.
    pub(crate) fn new(number: u32, all: u32) -> WarpClock {
        WarpClock {
            number,
            all,
            now: 1,
            known: Known::default(),
            lane_now: [1; 32],
            lanes: Table::Row([0; 32]),
            fenced: None,
            fenced_within: None,
            seen: Known::default(),
            own: [0; 32],
            own_seen: [0; 32],
            phase: 1,
        }
    }

    /// Its number in the launch.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// A number for as long as nothing it does is told from the rest by time.
    pub(crate) fn phase(&self) -> u32 {
        self.phase
    }

    /// Now.
    pub(crate) fn moment(&self) -> Moment {
        let mut own = (0..32).filter(|lane| self.all >> lane & 1 != 0);
        let first = own.next().map_or(0, |lane| self.lane_now[lane]);
        Moment {
            warp: self.number,
            clock: self.now,
            lanes: if own.all(|lane| self.lane_now[lane] == first) {
                Lanes::Even(first)
            } else {
                Lanes::Each(Arc::new(self.lane_now))
            },
        }
    }

    /// Whether what another warp of the same launch did then is known to come before what this one does now.
    pub(crate) fn knows(&self, moment: &Moment) -> bool {
        self.known.get(moment.warp) > moment.clock
    }

    /// Whether what lane `other` of this warp did then is known to come before what lane `own` does now.
    pub(crate) fn knows_lane(&self, own: u32, other: u32, moment: &Moment) -> bool {
        let (own, other) = (own as usize & 31, other as usize & 31);
        let then = match &moment.lanes {
            Lanes::Even(clock) => *clock,
            Lanes::Each(clocks) => clocks[other],
        };
        let known = match &self.lanes {
            Table::Row(row) => row[other],
            Table::Each(rows) => rows[own][other],
        };
        own == other || known > then || self.own[own] > moment.clock
    }

    /// Orders what lanes did before with what they do after.
    pub(crate) fn sync_lanes(&mut self, lanes: u32) {
        self.phase += 1;
        let members = || (0..32usize).filter(move |lane| lanes >> lane & 1 != 0);
        for lane in members() {
            self.lane_now[lane] += 1;
        }
        let own = members().map(|lane| self.own[lane]).max().unwrap_or(0);
        for lane in members() {
            self.own[lane] = own;
        }
        let everyone = lanes & self.all == self.all;
        if everyone && let Table::Row(row) = &mut self.lanes {
            for lane in members() {
                row[lane] = self.lane_now[lane];
            }
            return;
        }
        let rows = match &mut self.lanes {
            Table::Each(rows) => rows,
            Table::Row(row) => {
                self.lanes = Table::Each(Box::new([*row; 32]));
                match &mut self.lanes {
                    Table::Each(rows) => rows,
                    Table::Row(_) => return,
                }
            }
        };
        let mut all = [0; 32];
        for lane in members() {
            for (all, known) in all.iter_mut().zip(&rows[lane]) {
                *all = (*all).max(*known);
            }
        }
        for lane in members() {
            all[lane] = all[lane].max(self.lane_now[lane]);
        }
        if everyone {
            self.lanes = Table::Row(all);
            return;
        }
        for lane in members() {
            rows[lane] = all;
        }
    }

    /// All this warp knows and did, for others; a new moment begins.
    pub(crate) fn publish(&mut self) -> Known {
        self.phase += 1;
        self.now += 1;
        let mut all = self.known.clone();
        all.set(self.number, self.now);
        all
    }

    /// Learns what others published.
    pub(crate) fn learn(&mut self, other: &Known) {
        self.known.join(other);
    }

    /// A fence: what was done so far may be published by later strong writes, and what strong reads saw is known.
    pub(crate) fn fence(&mut self, within: bool) {
        self.settle();
        let known = Some(self.publish());
        if within {
            self.fenced_within = known;
        } else {
            self.fenced_within = None;
            self.fenced = known;
        }
    }

    /// What it has fenced so far.
    pub(crate) fn fenced(&self) -> Option<&Known> {
        self.fenced.as_ref()
    }

    /// What others fenced before a barrier can be published behind it.
    pub(crate) fn share_fenced(&mut self, other: &Known) {
        if !other.is_empty() {
            self.fenced.get_or_insert_default().join(other);
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
            let clock = known.get(warp.number);
            let own = if order.acquire {
                &mut warp.own
            } else {
                &mut warp.own_seen
            };
            own[lane as usize & 31] = own[lane as usize & 31].max(clock);
            if order.acquire {
                warp.learn(known);
            } else {
                warp.seen.join(known);
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
        if let Some(known) = &warp.fenced_within {
            self.within.entry(cta).or_default().join(known);
        }
        if let Some(known) = known {
            let place = if order.cta_scope {
                self.within.entry(cta).or_default()
            } else {
                &mut self.all
            };
            place.join(&known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_ordered_by_what_they_both_wait_for() {
        let mut warp = WarpClock::new(0, !0);
        let first = warp.moment();
        assert!(warp.knows_lane(3, 3, &first));
        assert!(!warp.knows_lane(4, 3, &first));
        warp.sync_lanes(0b1_0000);
        assert!(!warp.knows_lane(4, 3, &first));
        warp.sync_lanes(0b1_1000);
        assert!(warp.knows_lane(4, 3, &first));
        assert!(!warp.knows_lane(5, 3, &first));
        let second = warp.moment();
        assert!(!warp.knows_lane(4, 3, &second));
        warp.sync_lanes(!0);
        assert!(warp.knows_lane(5, 3, &second));
        let third = warp.moment();
        warp.sync_lanes(!0);
        assert!(warp.knows_lane(5, 3, &third));
    }

    #[test]
    fn a_warp_with_fewer_lanes_is_whole_without_the_rest() {
        let mut warp = WarpClock::new(0, 0xF);
        let first = warp.moment();
        warp.sync_lanes(0xF);
        assert!(matches!(warp.lanes, Table::Row(_)));
        assert!(warp.knows_lane(0, 3, &first));
        assert!(!warp.knows_lane(0, 3, &warp.moment()));
    }

    #[test]
    fn of_two_the_later_moments_are_known() {
        let mut a = Known(vec![(1, 5), (3, 1), (9, 9)]);
        a.join(&Known(vec![(0, 2), (3, 4), (12, 1)]));
        assert_eq!(a, Known(vec![(0, 2), (1, 5), (3, 4), (9, 9), (12, 1)]));
        a.join(&Known::default());
        assert_eq!([a.get(3), a.get(4)], [4, 0]);
        let same = Known(vec![(0, 7), (1, 1), (3, 4), (9, 9), (12, 1)]);
        a.join(&same);
        assert_eq!([a.get(0), a.get(1)], [7, 5]);
    }

    #[test]
    fn a_message_is_passed_by_fence_and_flag() {
        let (mut one, mut two) = (WarpClock::new(0, !0), WarpClock::new(1, !0));
        let data = one.moment();
        let mut flag = SyncPlace::default();
        let relaxed = Order {
            strong: true,
            ..Order::default()
        };
        flag.write(relaxed, 0, &mut one, false);
        flag.read(relaxed, 1, &mut two, 0);
        two.fence(false);
        assert!(!two.knows(&data), "no fence before the flag");
        one.fence(false);
        flag.write(relaxed, 0, &mut one, false);
        let late = one.moment();
        flag.read(relaxed, 1, &mut two, 0);
        assert!(!two.knows(&data), "no fence behind the flag");
        two.fence(false);
        assert!(two.knows(&data));
        assert!(!two.knows(&late), "after the fence");
    }

    #[test]
    fn lanes_of_one_warp_pass_messages_too() {
        let mut warp = WarpClock::new(0, !0);
        let data = warp.moment();
        let mut flag = SyncPlace::default();
        let of = |acquire, release| Order {
            strong: true,
            acquire,
            release,
            cta_scope: true,
        };
        flag.write(of(false, true), 0, &mut warp, false);
        flag.read(of(false, false), 0, &mut warp, 4);
        assert!(!warp.knows_lane(4, 3, &data), "no fence behind the flag");
        warp.fence(false);
        assert!(warp.knows_lane(4, 3, &data));
        assert!(!warp.knows_lane(5, 3, &data), "it did not look");
        flag.read(of(true, false), 0, &mut warp, 5);
        assert!(warp.knows_lane(5, 3, &data));
        let late = warp.moment();
        assert!(!warp.knows_lane(5, 3, &late), "after the flag");
    }
}
