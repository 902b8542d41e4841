//! What a whole warp can do: shuffles, reductions, votes.

use crate::{
    build::with,
    scope::{FULL, Lane, Scope, WARP, Warp, lane_id, looped, steps, warp_id},
    slot::Slot,
    uni::{self, Uni},
    val::{Num, Ty, Val},
};
use std::panic::Location;
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

impl<'k> Warp<'k> {
    /// This warp's index in the CTA.
    pub fn id(&self) -> Val<'k, u32, uni::Warp> {
        warp_id()
    }

    /// The lane's index, 0 to 31.
    pub fn lane(&self) -> Val<'k, u32, uni::Lane> {
        lane_id()
    }

    /// The value of lane `lane ^ mask` (`shfl.sync.bfly`).
    #[track_caller]
    pub fn shuffle_xor<T: Ty>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        mask: u32,
    ) -> Val<'k, T, uni::Lane> {
        shuffle(
            Location::caller(),
            Qual::Bfly,
            value,
            Slot::int(i64::from(mask)),
        )
    }

    /// The value of lane `source` in every lane (`shfl.sync.idx`).
    #[track_caller]
    pub fn broadcast<T: Ty>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        source: impl Into<Val<'k, u32, uni::Warp>>,
    ) -> Val<'k, T, uni::Warp> {
        Val::from_rep(shuffle(Location::caller(), Qual::Idx, value, source.into().slot()).rep())
    }

    /// The value of lane `source`, which may differ in each lane (`shfl.sync.idx`).
    #[track_caller]
    pub fn shuffle<T: Ty>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        source: Val<'k, u32, uni::Lane>,
    ) -> Val<'k, T, uni::Lane> {
        shuffle(Location::caller(), Qual::Idx, value, source.slot())
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
        let mut value = value;
        let mut distance = size / 2;
        while distance > 0 {
            let other = shuffle(at, Qual::Bfly, value, Slot::int(i64::from(distance)));
            value = combine(value, other);
            distance /= 2;
        }
        value
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

    /// A mask of the lanes where `predicate` holds.
    #[track_caller]
    pub fn ballot(&mut self, predicate: Val<'k, bool, uni::Lane>) -> Val<'k, u32, uni::Warp> {
        let at = Location::caller();
        let quals = [Qual::Sync, Qual::Ballot, Qual::T(Type::B32)];
        let predicate = predicate.reg();
        Val::from_reg(with(|b| {
            b.def(
                at,
                Op::Vote,
                &quals,
                Type::B32,
                &[Slot::reg(predicate), FULL],
            )
        }))
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
        n: impl Into<Val<'k, u32, uni::Lane>>,
        body: impl FnOnce(&mut Lane<'k>, Val<'k, u32, uni::Lane>),
    ) {
        let mut lane = self.lane_scope();
        let range = steps(self.lane(), n, WARP);
        looped(Location::caller(), range, (), |i, ()| body(&mut lane, i));
    }
}

impl<'k, T: Ty> Val<'k, T, uni::Lane> {
    /// The lanes are known to agree by construction (a full exchange).
    pub(crate) fn same<U: Uni>(self) -> Val<'k, T, U> {
        Val::from_rep(self.rep())
    }
}

fn shuffle<'k, T: Ty>(
    at: &'static Location<'static>,
    how: Qual,
    value: Val<'k, T, uni::Lane>,
    lane: Slot,
) -> Val<'k, T, uni::Lane> {
    debug_assert_eq!(T::TYPE.bits(), 32, "shuffles move 32-bit registers");
    let value = value.reg();
    let quals = [Qual::Sync, how, Qual::T(Type::B32)];
    let sources = [Slot::reg(value), lane, Slot::int(31), FULL];
    Val::from_reg(with(|b| b.def(at, Op::Shfl, &quals, T::TYPE, &sources)))
}
