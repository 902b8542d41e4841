//! What a whole warp can do: reductions, and work spread over its lanes.

use crate::{
    agreed::Agreed,
    build::with,
    exchange::{Way, distances},
    scope::{FULL, Lane, Scope, WARP, Warp, lane_id, looped, steps, warp_id},
    uni::{self, Uni},
    val::{Num, Ty, Val},
};
use std::panic::Location;
use warpsmith_ptx::{op::Op, qual::Qual};

impl<'k> Warp<'k> {
    /// This warp's index in the CTA.
    pub fn id(&self) -> Val<'k, u32, uni::Warp> {
        warp_id()
    }

    /// The lane's index, 0 to 31.
    pub fn lane(&self) -> Val<'k, u32, uni::Lane> {
        lane_id()
    }

    /// `combine` over all lanes, by exchanges at distances 16, 8, 4, 2, 1: all lanes get the same bits.
    #[track_caller]
    pub fn reduce<T: Ty>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        combine: impl Fn(Val<'k, T, uni::Lane>, Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Warp> {
        self.reduce_within(WARP, value, combine).same()
    }

    /// `combine` over groups of `size` neighbouring lanes (a power of two up to 32).
    #[track_caller]
    pub fn reduce_within<T: Ty>(
        &mut self,
        size: u32,
        value: Val<'k, T, uni::Lane>,
        combine: impl Fn(Val<'k, T, uni::Lane>, Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Lane> {
        let at = Location::caller();
        distances(size).fold(value, |value, distance| {
            let other = Way::xor(distance).state(at, &value);
            combine(value, other)
        })
    }

    /// The sum over all lanes.
    #[track_caller]
    pub fn sum<T: Num>(&mut self, value: Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Warp> {
        self.reduce(value, |a, b| a + b)
    }

    /// The largest over all lanes.
    #[track_caller]
    pub fn max<T: Num>(&mut self, value: Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Warp> {
        self.reduce(value, |a, b| a.max(b))
    }

    /// Orders the lanes' accesses to shared memory (`bar.warp.sync`).
    #[track_caller]
    pub fn sync(&mut self) {
        let at = Location::caller();
        with(|b| b.push(at, Op::Bar, &[Qual::Warp, Qual::Sync], &[FULL]));
    }

    /// `body(i)` for each `i < n`, spread over the lanes.
    #[track_caller]
    pub fn each(
        &mut self,
        n: impl Agreed<'k, u32, uni::Lane>,
        body: impl FnOnce(&mut Lane<'k>, Val<'k, u32, uni::Lane>),
    ) {
        let mut lane = self.lane_scope();
        let range = steps(self.lane(), n, WARP);
        looped("each", Location::caller(), range, (), |i, ()| {
            body(&mut lane, i)
        });
    }

    /// Runs `body` in lane 0.
    #[track_caller]
    pub fn leader(&mut self, body: impl FnOnce(&mut Lane<'k>)) {
        let first = self.lane().equals(0);
        self.if_(first, body);
    }
}

impl<'k, T: Ty> Val<'k, T, uni::Lane> {
    /// The lanes are known to agree by construction (a full exchange).
    pub(crate) fn same<U: Uni>(self) -> Val<'k, T, U> {
        Val::from_rep(self.rep())
    }
}
