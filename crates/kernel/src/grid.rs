//! What CTAs that run at the same time say to each other, and to the host, through global memory.

use crate::{
    build::with,
    memory::{Global, Index, Write},
    scope::{Cta, Lane, Scope},
    slot::Slot,
    uni::{self, Join, Uni},
    val::{Arg, Val},
};
use std::panic::Location;
use warpsmith_ptx::{op::Op, qual::Qual, types::Type};

type Counters<'k, U> = Global<'k, u32, Write, U>;

fn fence(at: &'static Location<'static>, scope: Qual) {
    with(|b| b.push(at, Op::Fence, &[Qual::AcqRel, scope], &[]));
}

impl<'k> Cta<'k> {
    /// Adds 1 to `counters[index]`, seen by whoever then waits for it together with all that this CTA wrote before.
    #[track_caller]
    pub fn signal<U: Uni, I: Index<'k> + Copy>(&mut self, counters: Counters<'k, U>, index: I) {
        let at = Location::caller();
        self.barrier();
        let first = self.thread().equals(0);
        self.if_(first, |_| {
            fence(at, Qual::Gpu);
            let pointer = counters.element(at, index);
            let one = Slot::int(1);
            let quals = [Qual::Global, Qual::Add, Qual::T(Type::U32)];
            with(|b| b.push(at, Op::Red, &quals, &[pointer.slot(), one]));
        });
    }

    /// Waits until `counters[index]` has come to `target`, compared modulo 2^32 within 2^31. Those it waits for must be
    /// running: a cooperative launch.
    #[track_caller]
    pub fn wait_for<U: Uni, I: Index<'k> + Copy>(
        &mut self,
        counters: Counters<'k, U>,
        index: I,
        target: Val<'k, u32, uni::Cta>,
    ) {
        let at = Location::caller();
        let first = self.thread().equals(0);
        self.if_(first, |lane| {
            let pointer = counters.element(at, index);
            let quals = [Qual::Acquire, Qual::Gpu, Qual::Global, Qual::T(Type::U32)];
            let load = || -> Val<'k, u32> {
                Val::from_reg(with(|b| {
                    b.def(at, Op::Ld, &quals, Type::U32, &[pointer.slot()])
                }))
            };
            let behind = |seen: Val<'k, u32>| (seen - target).ge::<u32>(1 << 31);
            lane.while_(
                load(),
                |_, seen| behind(seen),
                |_, _| {
                    let nanoseconds = Slot::int(64);
                    let quals = [Qual::T(Type::U32)];
                    with(|b| b.push(at, Op::Nanosleep, &quals, &[nanoseconds]));
                    load()
                },
            );
        });
        self.barrier();
    }

    /// Adds 1 to `counters[index]`; what was there, in every thread: the next of a number of tiles.
    #[track_caller]
    pub fn claim<U: Uni, I: Index<'k> + Copy>(
        &mut self,
        counters: Counters<'k, U>,
        index: I,
    ) -> Val<'k, u32, uni::Cta> {
        let at = Location::caller();
        let first = self.thread().equals(0);
        let mut lane = self.lane_scope();
        let own = lane.either(
            first,
            |_| {
                let pointer = counters.element(at, index);
                let one = Slot::int(1);
                let quals = [Qual::Global, Qual::Add, Qual::T(Type::U32)];
                let sources = [pointer.slot(), one];
                Val::<u32>::from_reg(with(|b| b.def(at, Op::Atom, &quals, Type::U32, &sources)))
            },
            |_| Val::constant(0),
        );
        self.broadcast(own)
    }
}

impl Lane<'_> {
    /// Has the host see what this thread wrote before, or this thread see in what follows what the host wrote by then, or
    /// both (`fence.sc.sys`): the host does the same between what it writes and what it reads.
    #[track_caller]
    pub fn meet_host(&mut self) {
        let at = Location::caller();
        with(|b| b.push(at, Op::Fence, &[Qual::Sc, Qual::Sys], &[]));
    }
}

impl<'k, U: Uni> Global<'k, u32, Write, U> {
    /// What the host or another kernel wrote here last (`ld.relaxed.sys`).
    #[track_caller]
    pub fn at_system<I: Index<'k>>(self, index: I) -> Val<'k, u32, uni::Lane>
    where
        U: Join<I::U>,
    {
        let at = Location::caller();
        let pointer = self.element(at, index);
        let quals = [Qual::Relaxed, Qual::Sys, Qual::Global, Qual::T(Type::U32)];
        Val::from_reg(with(|b| {
            b.def(at, Op::Ld, &quals, Type::U32, &[pointer.slot()])
        }))
    }

    /// Writes for the host to see, after all that this thread wrote before (`st.release.sys`).
    #[track_caller]
    pub fn set_system<I: Index<'k>>(self, index: I, value: impl Arg<'k, u32>) {
        let at = Location::caller();
        let pointer = self.element(at, index);
        let value = with(|b| b.to_reg(at, Type::U32, value.val().rep()));
        let quals = [Qual::Release, Qual::Sys, Qual::Global, Qual::T(Type::U32)];
        let slots = [pointer.slot(), Slot::reg(value)];
        with(|b| b.push(at, Op::St, &quals, &slots));
    }
}
