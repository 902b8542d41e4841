//! Shared memory: tiles that are filled, synchronised, and only then read.

use crate::{
    agreed::Agreed,
    build::with,
    elem::Elem,
    memory::{Index, Pointer},
    scope::{Cta, Lane, Scope, Warp},
    slot::Slot,
    uni::{self, Uni},
    val::{Arg, Num, Ty, Val},
};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{
    ir::RegId,
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

type At = &'static Location<'static>;

/// A part of the CTA's shared memory.
///
/// ```
/// use warpsmith_kernel::kernel;
///
/// kernel! {
///     /// Each block of 256 elements backwards; n is a multiple of 256.
///     pub struct Backwards(BackwardsArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> });
///     grid(a) = a.n / 256;
///     body(cta, a) {
///         let (i, first) = (cta.thread(), cta.id() * 256);
///         let mut tile = cta.tile::<f32>(256);
///         let x = tile.fill(cta, |_, slots| slots.set(i, a.x.at(first + i))); // a barrier, then a view to read
///         a.y.set(first + i, x.at(255 - i));
///     }
/// }
/// # use warpsmith_kernel::{Options, build};
/// # build(&Backwards, warpsmith_ptx::target::Target::sm(70), Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tile<'k, T> {
    offset: u32,
    len: u32,
    depth: u32,
    filled: bool,
    mark: PhantomData<(fn(&'k ()) -> &'k (), T)>,
}

/// Slots of a tile: its barrier waits for what is stored, not for asynchronous copies.
#[derive(Clone, Copy, Debug)]
pub struct Stored;

/// Slots of a stage of a [`Pipeline`](crate::Pipeline), whose wait is for asynchronous copies too.
#[derive(Clone, Copy, Debug)]
pub struct Staged;

/// The writable side of a tile while it is filled, or of a part of a stage.
#[derive(Debug)]
pub struct Slots<'t, 'k, T, S = Stored> {
    place: Place,
    mark: PhantomData<(&'t (), fn(&'k ()) -> &'k (), T, S)>,
}

/// The readable side of a tile after its barrier.
#[derive(Debug)]
pub struct View<'t, 'k, T> {
    place: Place,
    mark: PhantomData<(&'t (), fn(&'k ()) -> &'k (), T)>,
}

impl<T> Clone for View<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, '_, T> {}

impl<T, S> Clone for Slots<'_, '_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S> Copy for Slots<'_, '_, T, S> {}

/// A shared address: a register and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) base: RegId,
    pub(crate) offset: i64,
}

impl Place {
    pub(crate) fn pointer(self) -> Pointer {
        Pointer {
            space: Space::Shared,
            base: self.base,
            offset: self.offset,
            read_only: false,
        }
    }
}

/// The CTA's shared memory from byte `offset` on.
pub(crate) fn arena(offset: u32) -> Place {
    Place {
        base: with(|b| b.shared_base()),
        offset: i64::from(offset),
    }
}

impl<'k> Cta<'k> {
    /// Reserves shared memory for `len` elements.
    pub fn tile<T: Elem>(&mut self, len: u32) -> Tile<'k, T> {
        let (offset, depth) = with(|b| (b.shared(len * T::MEMORY.bytes(), 16), b.loop_depth));
        Tile {
            offset,
            len,
            depth,
            filled: false,
            mark: PhantomData,
        }
    }

    /// The value of thread 0 in every thread.
    #[track_caller]
    pub fn broadcast<T: Num>(&mut self, value: Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Cta> {
        let at = Location::caller();
        let first = self.thread().equals(0);
        let place = self.scratch(T::TYPE.bytes());
        let value = value.reg();
        self.if_(first, |_| place.pointer().store(at, T::TYPE, [value]));
        self.barrier();
        let [reg] = place.pointer().load(at, T::TYPE, T::TYPE);
        Val::from_reg(reg)
    }

    /// Scratch bytes that are free to be written by all threads here.
    pub(crate) fn scratch(&mut self, bytes: u32) -> Place {
        let (offset, looped) = with(|b| (b.shared(bytes, 16), b.loop_depth > 0));
        if looped {
            self.barrier();
        }
        arena(offset)
    }

    /// `combine` over the threads' values: within warps by shuffles, then over the warps in order. All threads get the
    /// same bits.
    #[track_caller]
    pub fn reduce<T: Num>(
        &mut self,
        value: Val<'k, T, uni::Lane>,
        combine: impl Fn(Val<'k, T, uni::Lane>, Val<'k, T, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Cta> {
        let at = Location::caller();
        let warps = self.warps();
        let own = self.in_warps(|warp| warp.reduce(value, &combine));
        if warps == 1 {
            return own.varying().same();
        }
        let place = self.scratch(warps * T::TYPE.bytes());
        self.each_warp(|warp| {
            let first = warp.lane().equals(0);
            let slot = warp.id();
            warp.if_(first, |_| {
                let own = own.reg();
                slot.add_to(at, place.pointer(), T::TYPE.bytes())
                    .store(at, T::TYPE, [own]);
            });
        });
        self.barrier();
        let mut total: Option<Val<'k, T, uni::Lane>> = None;
        for warp in 0..warps {
            let [reg] =
                warp.add_to(at, place.pointer(), T::TYPE.bytes())
                    .load(at, T::TYPE, T::TYPE);
            let part = Val::from_reg(reg);
            total = Some(match total {
                None => part,
                Some(total) => combine(total, part),
            });
        }
        total.expect("a CTA has a warp").same()
    }

    /// The sum of `term(i)` over `i < n`, spread over the threads.
    #[track_caller]
    pub fn sum<T: Num + Zero>(
        &mut self,
        n: impl Agreed<'k, u32, uni::Cta>,
        term: impl FnOnce(Val<'k, u32, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Cta> {
        let range = crate::scope::steps(self.thread(), n.agreed().varying(), self.threads());
        let own = self.fold_lanes(range, Val::constant(T::ZERO), |_, i, sum| sum + term(i));
        self.reduce(own, |a, b| a + b)
    }

    /// The largest `term(i)` over `i < n`, or `floor` if that is larger.
    #[track_caller]
    pub fn max<T: Num>(
        &mut self,
        floor: T,
        n: impl Agreed<'k, u32, uni::Cta>,
        term: impl FnOnce(Val<'k, u32, uni::Lane>) -> Val<'k, T, uni::Lane>,
    ) -> Val<'k, T, uni::Cta> {
        let range = crate::scope::steps(self.thread(), n.agreed().varying(), self.threads());
        let own = self.fold_lanes(range, Val::constant(floor), |_, i, most| most.max(term(i)));
        self.reduce(own, |a, b| a.max(b))
    }

    /// Counts this CTA in at `counter[index]`, after its writes so far; true in the last of `of` CTAs, which then sees
    /// the writes of all. The counter is back at 0 afterwards.
    #[track_caller]
    pub fn arrive_last<V: Uni>(
        &mut self,
        counter: crate::memory::Global<'k, u32, crate::memory::Write, V>,
        of: Val<'k, u32, uni::Cta>,
    ) -> Val<'k, bool, uni::Cta> {
        let at = Location::caller();
        let fence = |b: &mut crate::build::Builder| {
            b.push(at, Op::Fence, &[Qual::AcqRel, Qual::Gpu], &[]);
        };
        with(fence);
        self.barrier();
        let first = self.thread().equals(0);
        let mut lane = self.lane_scope();
        let before = lane.either(
            first,
            |_| counter.atomic(0).inc(of - 1),
            |_| Val::constant(0),
        );
        let before = self.broadcast(before);
        with(fence);
        before.equals(of - 1)
    }
}

/// A number with a zero.
pub trait Zero {
    /// The neutral element of addition.
    const ZERO: Self;
}
impl Zero for f32 {
    const ZERO: f32 = 0.0;
}
impl Zero for u32 {
    const ZERO: u32 = 0;
}
impl Zero for i32 {
    const ZERO: i32 = 0;
}
impl Zero for u64 {
    const ZERO: u64 = 0;
}
impl Zero for i64 {
    const ZERO: i64 = 0;
}
impl Zero for f64 {
    const ZERO: f64 = 0.0;
}

impl<'k, T: Elem> Tile<'k, T> {
    /// Elements.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lets `write` store through the slots, then waits for all threads. Views from an earlier filling end here.
    #[track_caller]
    pub fn fill<'t>(
        &'t mut self,
        cta: &mut Cta<'k>,
        write: impl FnOnce(&mut Cta<'k>, Slots<'t, 'k, T>),
    ) -> View<'t, 'k, T> {
        if self.filled || with(|b| b.loop_depth) > self.depth {
            cta.barrier();
        }
        self.filled = true;
        let place = arena(self.offset);
        write(
            cta,
            Slots {
                place,
                mark: PhantomData,
            },
        );
        cta.barrier();
        View {
            place,
            mark: PhantomData,
        }
    }

    /// Fills within one warp, which uses a part of the tile that is its own: only the warp is synchronised.
    #[track_caller]
    pub fn fill_warp<'t>(
        &'t mut self,
        warp: &mut Warp<'k>,
        write: impl FnOnce(&mut Lane<'k>, Slots<'t, 'k, T>),
    ) -> View<'t, 'k, T> {
        warp.sync();
        let place = arena(self.offset);
        let mut lane = warp.lane_scope();
        write(
            &mut lane,
            Slots {
                place,
                mark: PhantomData,
            },
        );
        warp.sync();
        View {
            place,
            mark: PhantomData,
        }
    }
}

impl<'t, 'k, T: Elem, S> Slots<'t, 'k, T, S> {
    pub(crate) fn new(place: Place) -> Self {
        Slots {
            place,
            mark: PhantomData,
        }
    }

    fn pointer(self, at: At, index: impl Index<'k>) -> Pointer {
        index.add_to(at, self.place.pointer(), T::MEMORY.bytes())
    }

    /// The slots from element `index` on.
    #[track_caller]
    pub fn from(self, index: impl Index<'k>) -> Slots<'t, 'k, T, S> {
        let pointer = self.pointer(Location::caller(), index);
        Slots::new(Place {
            base: pointer.base,
            offset: pointer.offset,
        })
    }

    /// Writes one element.
    #[track_caller]
    pub fn set(self, index: impl Index<'k>, value: impl Arg<'k, T::Reg>) {
        let at = Location::caller();
        let value = value.val().reg();
        self.pointer(at, index).store(at, T::MEMORY, [value]);
    }

    /// Writes `N` (1, 2 or 4) words of 32 bits from element `index` on.
    #[track_caller]
    pub fn set_words<const N: usize, V: Uni>(
        self,
        index: impl Index<'k>,
        words: [Val<'k, u32, V>; N],
    ) {
        let at = Location::caller();
        let words = words.map(|word| word.reg());
        self.pointer(at, index).store(at, Type::B32, words);
    }

    /// The address of its first element in shared memory, for [`raw`](crate::raw) code.
    #[track_caller]
    pub fn shared_address(self) -> Val<'k, u32, uni::Lane> {
        Val::<u32>::from_reg(self.place.base) + self.place.offset as u32
    }
}

impl<'k, T: Elem> Slots<'_, 'k, T, Staged> {
    /// Copies 16 bytes from `source` to element `index`; zeros where `valid` is false (nothing is read then).
    ///
    /// From sm_80 on this is `cp.async`, complete at the stage's wait; below it is a load and a store.
    #[track_caller]
    pub fn copy16<A: crate::memory::AccessMark, U: Uni>(
        self,
        index: impl Index<'k>,
        source: crate::memory::Global<'k, T, A, U>,
        valid: impl Arg<'k, bool>,
    ) {
        let at = Location::caller();
        let valid = valid.val();
        let to = self.pointer(at, index);
        let from = source.pointer(at);
        if with(|b| b.target.sm >= 80) {
            let predicate = valid.reg();
            with(|b| {
                let bytes = Slot::int;
                let sizes = [bytes(16), bytes(0), Slot::reg(predicate)];
                let size = b.def(at, Op::Selp, &[Qual::T(Type::B32)], Type::B32, &sizes);
                let quals = [Qual::Async, Qual::Cg, Qual::Shared, Qual::Global];
                let slots = [to.slot(), from.slot(), bytes(16), Slot::reg(size)];
                b.push(at, Op::Cp, &quals, &slots);
            });
            return;
        }
        let zero: [Val<'k, u32, uni::Lane>; 4] = [Val::constant(0); 4];
        let mut lane = Cta::entry().lane_scope();
        let words = lane.either(
            valid,
            |_| {
                from.load::<4>(at, Type::B32, Type::B32)
                    .map(Val::<u32, uni::Lane>::from_reg)
            },
            |_| zero,
        );
        to.store(at, Type::B32, words.map(|word| word.reg()));
    }
}

impl<'t, 'k, T: Elem> View<'t, 'k, T> {
    pub(crate) fn new(place: Place) -> Self {
        View {
            place,
            mark: PhantomData,
        }
    }

    pub(crate) fn pointer(self, at: At, index: impl Index<'k>) -> Pointer {
        index.add_to(at, self.place.pointer(), T::MEMORY.bytes())
    }

    /// The element at `index`.
    #[track_caller]
    pub fn at<I: Index<'k>>(self, index: I) -> Val<'k, T::Reg, I::U> {
        let at = Location::caller();
        let [reg] = self.pointer(at, index).load(at, T::MEMORY, T::Reg::TYPE);
        Val::from_reg(reg)
    }

    /// The view from element `index` on.
    #[track_caller]
    pub fn from(self, index: impl Index<'k>) -> View<'t, 'k, T> {
        let pointer = index.add_to(Location::caller(), self.place.pointer(), T::MEMORY.bytes());
        View {
            place: Place {
                base: pointer.base,
                offset: pointer.offset,
            },
            mark: PhantomData,
        }
    }

    /// `N` (1, 2 or 4) words of 32 bits from element `index` on.
    #[track_caller]
    pub fn words<const N: usize, I: Index<'k>>(self, index: I) -> [Val<'k, u32, I::U>; N] {
        let at = Location::caller();
        self.pointer(at, index)
            .load::<N>(at, Type::B32, Type::B32)
            .map(Val::from_reg)
    }

    /// `N` (2 or 4) neighbouring elements from `index` on.
    #[track_caller]
    pub fn vector<const N: usize, I: Index<'k>>(self, index: I) -> [Val<'k, T::Reg, I::U>; N] {
        let at = Location::caller();
        self.pointer(at, index)
            .load::<N>(at, T::MEMORY, T::Reg::TYPE)
            .map(Val::from_reg)
    }
}
