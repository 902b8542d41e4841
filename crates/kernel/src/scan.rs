//! Reductions and prefix sums of anything that a loop can carry, over a warp or a CTA.

use crate::{
    build::{Rep, with},
    exchange::{Way, chosen, distances, nonzero, one_or_zero},
    memory::Index,
    scope::{Cta, Scope, WARP, Warp},
    shared::Place,
    slot::Slot,
    state::{State, mapped},
    uni,
    val::Val,
};
use std::panic::Location;
use warpsmith_ptx::types::Type;

type At = &'static Location<'static>;
type Flag<'k> = Val<'k, bool, uni::Lane>;

/// A value with whether a segment begins in what it sums up.
fn segmented<'k, S: State<'k>>(
    at: At,
    combine: impl Fn(S, S) -> S,
) -> impl Fn((S, Flag<'k>), (S, Flag<'k>)) -> (S, Flag<'k>) {
    move |(before, begun), (own, begins)| {
        let joined = combine(before, own.clone());
        (chosen(at, begins.reg(), &own, &joined), begun | begins)
    }
}

impl<'k> Warp<'k> {
    /// `combine` over all lanes, by exchanges at distances 16, 8, 4, 2, 1: all lanes get the same bits if `combine(a, b)` and
    /// `combine(b, a)` are the same.
    ///
    /// ```
    /// # use warpsmith_kernel::{Warp, Val, Scope};
    /// /// The largest value of the warp and the lowest lane that has it.
    /// fn argmax<'k>(warp: &mut Warp<'k>, x: Val<'k, f32>) -> (Val<'k, f32>, Val<'k, u32>) {
    ///     warp.reduce_state((x, warp.lane()), |(x, i), (y, j)| {
    ///         let second = y.gt(x) | (y.equals(x) & j.lt(i));
    ///         (second.select(y, x), second.select(j, i))
    ///     })
    /// }
    /// ```
    #[track_caller]
    pub fn reduce_state<S: State<'k>>(&mut self, value: S, combine: impl Fn(S, S) -> S) -> S {
        let at = Location::caller();
        distances(WARP).fold(value, |value, distance| {
            let other = Way::xor(distance).state(at, &value);
            combine(value, other)
        })
    }

    /// The inclusive scan: lane l gets `combine` over lanes 0 to l, in order (Hillis and Steele, five exchanges).
    #[track_caller]
    pub fn scan<S: State<'k>>(&mut self, value: S, combine: impl Fn(S, S) -> S) -> S {
        inclusive(Location::caller(), self, WARP, value, combine)
    }

    /// The exclusive scan: lane l gets `combine` over lanes 0 to l - 1, and lane 0 `identity`.
    #[track_caller]
    pub fn scan_exclusive<S: State<'k>>(
        &mut self,
        value: S,
        identity: S,
        combine: impl Fn(S, S) -> S,
    ) -> S {
        let at = Location::caller();
        let scanned = inclusive(at, self, WARP, value, combine);
        exclusive(at, self, &scanned, &identity)
    }

    /// The inclusive scan of segments: each begins at a lane where `begins` holds, and at lane 0.
    #[track_caller]
    pub fn scan_segments<S: State<'k>>(
        &mut self,
        value: S,
        begins: Flag<'k>,
        combine: impl Fn(S, S) -> S,
    ) -> S {
        let at = Location::caller();
        inclusive(at, self, WARP, (value, begins), segmented(at, combine)).0
    }
}

/// Scans groups of `size` lanes.
fn inclusive<'k, S: State<'k>>(
    at: At,
    warp: &Warp<'k>,
    size: u32,
    value: S,
    combine: impl Fn(S, S) -> S,
) -> S {
    let mut value = value;
    let mut distance = 1;
    while distance < size {
        let before = Way::up(distance).state(at, &value);
        let joined = combine(before, value.clone());
        let has = warp.lane().ge(distance).reg();
        value = chosen(at, has, &joined, &value);
        distance *= 2;
    }
    value
}

/// Each lane with what the lane before it has, lane 0 with `identity`.
fn exclusive<'k, S: State<'k>>(at: At, warp: &Warp<'k>, scanned: &S, identity: &S) -> S {
    let before = Way::up(1).state(at, scanned);
    let first = warp.lane().equals(0).reg();
    chosen(at, first, identity, &before)
}

/// A row of shared memory for each register of a state, one place for each warp.
struct Totals {
    place: Place,
    warps: u32,
}

impl Totals {
    /// Bytes of a register's place: predicates lie as words.
    fn bytes(ty: Type) -> u32 {
        match ty {
            Type::Pred => 4,
            _ => ty.bytes().max(4),
        }
    }

    fn reserve<'k, S: State<'k>>(cta: &mut Cta<'k>, warps: u32, like: &S) -> Totals {
        let mut bytes = 0;
        mapped(like, |ty, rep| {
            bytes += Totals::bytes(ty).max(8) * warps;
            rep
        });
        let place = cta.scratch(bytes.max(4));
        Totals { place, warps }
    }

    /// The state with each register replaced by what `f` makes of its type, itself and its place at `index`.
    fn each<'k, S: State<'k>>(
        &self,
        at: At,
        state: &S,
        index: impl Index<'k> + Copy,
        mut f: impl FnMut(Type, Rep, crate::memory::Pointer) -> Rep,
    ) -> S {
        let mut offset = 0;
        mapped(state, |ty, rep| {
            let row = Place {
                offset: self.place.offset + i64::from(offset),
                ..self.place
            };
            let bytes = Totals::bytes(ty);
            offset += bytes.max(8) * self.warps;
            f(ty, rep, index.add_to(at, row.pointer(), bytes))
        })
    }

    fn write<'k, S: State<'k>>(&self, at: At, state: &S, index: impl Index<'k> + Copy) {
        self.each(at, state, index, |ty, rep, pointer| {
            let (memory, reg) = match (ty, ty.bits()) {
                (Type::Pred, _) => {
                    let predicate = with(|b| b.to_reg(at, ty, rep));
                    (Type::B32, one_or_zero(at, predicate))
                }
                (_, 64) => (Type::B64, with(|b| b.to_reg(at, ty, rep))),
                (_, 32) => (Type::B32, with(|b| b.to_reg(at, ty, rep))),
                _ => (Type::B16, with(|b| b.to_reg(at, ty, rep))),
            };
            pointer.store(at, memory, [reg]);
            rep
        });
    }

    fn read<'k, S: State<'k>>(&self, at: At, like: &S, index: impl Index<'k> + Copy) -> S {
        self.each(at, like, index, |ty, _, pointer| {
            let [reg] = match (ty, ty.bits()) {
                (Type::Pred, _) => {
                    let [word] = pointer.load(at, Type::B32, Type::U32);
                    [nonzero(at, word)]
                }
                (_, 64) => pointer.load(at, Type::B64, ty),
                (_, 32) => pointer.load(at, Type::B32, ty),
                _ => pointer.load(at, Type::B16, ty),
            };
            Rep::Reg(reg)
        })
    }
}

impl<'k> Cta<'k> {
    /// `combine` over the threads' values: within warps by exchanges, then over the warps in order. All threads get the same
    /// bits if `combine(a, b)` and `combine(b, a)` are the same.
    #[track_caller]
    pub fn reduce_state<S: State<'k>>(&mut self, value: S, combine: impl Fn(S, S) -> S) -> S {
        let at = Location::caller();
        let warps = self.warps();
        let own = self.in_warps(|warp| warp.reduce_state(value, &combine));
        if warps == 1 {
            return own;
        }
        let totals = Totals::reserve(self, warps, &own);
        self.each_warp(|warp| {
            let (first, id) = (warp.lane().equals(0), warp.id());
            warp.if_(first, |_| totals.write(at, &own, id));
        });
        self.barrier();
        let first = totals.read(at, &own, 0);
        (1..warps).fold(first, |total, warp| {
            combine(total, totals.read(at, &own, warp))
        })
    }

    /// The inclusive scan: thread t gets `combine` over threads 0 to t, in order.
    #[track_caller]
    pub fn scan<S: State<'k>>(&mut self, value: S, combine: impl Fn(S, S) -> S) -> S {
        let at = Location::caller();
        let own = self.in_warps(|warp| inclusive(at, warp, WARP, value, &combine));
        let Some((totals, _)) = self.totals(at, &own, &combine) else {
            return own;
        };
        self.in_warps(|warp| {
            let later = warp.id().gt(0);
            let before = Way::index((warp.id() - 1).slot()).state(at, &totals);
            let joined = combine(before, own.clone());
            chosen(at, later.reg(), &joined, &own)
        })
    }

    /// The exclusive scan, and the total: thread t gets `combine` over threads 0 to t - 1, thread 0 `identity`.
    ///
    /// ```
    /// # use warpsmith_kernel::{Cta, Val, Scope};
    /// /// Where each thread's `count` items go in a list without gaps, and how long the list is.
    /// fn places<'k>(cta: &mut Cta<'k>, count: Val<'k, u32>) -> (Val<'k, u32>, Val<'k, u32>) {
    ///     cta.scan_exclusive(count, 0.into(), |a, b| a + b)
    /// }
    /// ```
    #[track_caller]
    pub fn scan_exclusive<S: State<'k>>(
        &mut self,
        value: S,
        identity: S,
        combine: impl Fn(S, S) -> S,
    ) -> (S, S) {
        let at = Location::caller();
        let own = self.in_warps(|warp| inclusive(at, warp, WARP, value, &combine));
        let within = self.in_warps(|warp| exclusive(at, warp, &own, &identity));
        let Some((totals, warps)) = self.totals(at, &own, &combine) else {
            let total = self.in_warps(|_| Way::index(Slot::int(31)).state(at, &own));
            return (within, total);
        };
        self.in_warps(|warp| {
            let later = warp.id().gt(0);
            let before = Way::index((warp.id() - 1).slot()).state(at, &totals);
            let joined = combine(before, within.clone());
            let last = Slot::int(i64::from(warps) - 1);
            let total = Way::index(last).state(at, &totals);
            (chosen(at, later.reg(), &joined, &within), total)
        })
    }

    /// The inclusive scan of segments: each begins at a thread where `begins` holds, and at thread 0.
    #[track_caller]
    pub fn scan_segments<S: State<'k>>(
        &mut self,
        value: S,
        begins: Flag<'k>,
        combine: impl Fn(S, S) -> S,
    ) -> S {
        let at = Location::caller();
        self.scan((value, begins), segmented(at, combine)).0
    }

    /// In lane l of every warp the total of warps 0 to l, of scans within warps; `None` where there is one warp.
    fn totals<S: State<'k>>(
        &mut self,
        at: At,
        own: &S,
        combine: &impl Fn(S, S) -> S,
    ) -> Option<(S, u32)> {
        let warps = self.warps();
        if warps == 1 {
            return None;
        }
        let totals = Totals::reserve(self, warps, own);
        self.each_warp(|warp| {
            let (last, id) = (warp.lane().equals(31), warp.id());
            warp.if_(last, |_| totals.write(at, own, id));
        });
        self.barrier();
        Some(self.in_warps(|warp| {
            // Lanes behind the last warp read its total again; nobody asks what they make of it.
            let read = totals.read(at, own, warp.lane().min(warps - 1));
            let size = warps.next_power_of_two();
            (inclusive(at, warp, size, read, combine), warps)
        }))
    }
}
