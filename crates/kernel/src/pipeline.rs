//! Asynchronous rings: stages of shared memory that are filled ahead of their use.

use crate::{
    agreed::Agreed,
    build::with,
    elem::Elem,
    scope::{Cta, Scope, upto},
    shared::{Place, Slots, Staged, View},
    slot::Slot,
    state::State,
    uni,
    val::Val,
};
use std::{marker::PhantomData, panic::Location};
use warpsmith_ptx::{op::Op, qual::Qual};

/// One array of a stage.
#[derive(Debug)]
pub struct Part<T> {
    offset: u32,
    mark: PhantomData<T>,
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Part<T> {}

/// `N` stages, each holding the same parts.
///
/// ```
/// use warpsmith_kernel::{Pipeline, Val, kernel};
///
/// kernel! {
///     /// The sum of each column of `x`, 256 columns to a CTA: rows are fetched two ahead of their use.
///     pub struct ColumnSums(ColumnSumsArgs { x: In<f32>[rows, 256], y: Out<f32>[256], rows: Scalar<u32> });
///     grid(a) = a.rows.min(1);
///     body(cta, a) {
///         let i = cta.thread();
///         let mut pipeline = Pipeline::<3>::new();
///         let part = pipeline.part::<f32>(256);
///         let sum = pipeline.run(
///             cta,
///             a.rows,
///             Val::<f32>::constant(0.0),
///             |cta, stage, row| { // asynchronously on sm_80 and later, 16 bytes to a thread
///                 cta.if_(i.lt(64), |_| stage.part(part).copy16(i * 4, a.x.row(row).from(i * 4), true));
///             },
///             |_, stage, _, sum| sum + stage.part(part).at(i),
///         );
///         a.y.set(i, sum);
///     }
/// }
/// # use warpsmith_kernel::{Options, build};
/// # build(&ColumnSums, warpsmith_ptx::target::Target::sm(80), Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pipeline<'k, const N: usize> {
    bytes: u32,
    mark: PhantomData<fn(&'k ()) -> &'k ()>,
}

/// A stage that is being filled: it can only be written.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'t, 'k> {
    place: Place,
    mark: PhantomData<(&'t (), fn(&'k ()) -> &'k ())>,
}

/// A stage whose data have arrived: it can only be read.
#[derive(Clone, Copy, Debug)]
pub struct Filled<'t, 'k> {
    place: Place,
    mark: PhantomData<(&'t (), fn(&'k ()) -> &'k ())>,
}

impl<'t, 'k> Filling<'t, 'k> {
    /// The slots of a part.
    pub fn part<T: Elem>(self, part: Part<T>) -> Slots<'t, 'k, T, Staged> {
        Slots::new(Place {
            base: self.place.base,
            offset: self.place.offset + i64::from(part.offset),
        })
    }
}

impl<'t, 'k> Filled<'t, 'k> {
    /// The view of a part.
    pub fn part<T: Elem>(self, part: Part<T>) -> View<'t, 'k, T> {
        View::new(Place {
            base: self.place.base,
            offset: self.place.offset + i64::from(part.offset),
        })
    }
}

impl<'k, const N: usize> Default for Pipeline<'k, N> {
    fn default() -> Self {
        Pipeline {
            bytes: 0,
            mark: PhantomData,
        }
    }
}

impl<'k, const N: usize> Pipeline<'k, N> {
    /// A ring without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an array of `len` elements, 16-byte aligned, to every stage.
    pub fn part<T: Elem>(&mut self, len: u32) -> Part<T> {
        let part = Part {
            offset: self.bytes,
            mark: PhantomData,
        };
        self.bytes = (self.bytes + len * T::MEMORY.bytes()).next_multiple_of(16);
        part
    }

    /// Runs `count` rounds: round i is filled `N - 1` rounds ahead by `fill(stage, i)` and used by
    /// `consume(stage, i, state)` after its data have arrived.
    ///
    /// One barrier a round: a stage is refilled only after the barrier that follows its use.
    #[track_caller]
    pub fn run<S: State<'k>>(
        self,
        cta: &mut Cta<'k>,
        count: impl Agreed<'k, u32, uni::Cta>,
        state: S,
        mut fill: impl FnMut(&mut Cta<'k>, Filling<'_, 'k>, Val<'k, u32, uni::Cta>),
        consume: impl FnOnce(&mut Cta<'k>, Filled<'_, 'k>, Val<'k, u32, uni::Cta>, S) -> S,
    ) -> S {
        let at = Location::caller();
        let count = count.agreed();
        let bytes = self.bytes;
        let ahead = N as u32 - 1;
        let (start, looped) = with(|b| (b.shared(bytes * N as u32, 16), b.loop_depth > 0));
        if looped {
            cta.barrier();
        }
        let base: Val<'k, u32, uni::Cta> = Val::from_reg(with(|b| b.shared_base())) + start;
        let stage = |offset: Val<'k, u32, uni::Cta>| Place {
            base: (base + offset).reg(),
            offset: 0,
        };
        for round in 0..ahead {
            let round_val = Val::constant(round);
            let within = Val::<u32, uni::Cta>::constant(round).lt(count);
            cta.if_all(within, |cta| {
                fill(
                    cta,
                    Filling {
                        place: stage(Val::constant(round * bytes)),
                        mark: PhantomData,
                    },
                    round_val,
                );
            });
            commit(at);
        }
        let offsets = (
            Val::<u32, uni::Cta>::constant(0),
            Val::<u32, uni::Cta>::constant((ahead % N as u32) * bytes),
        );
        let wrap = bytes * N as u32;
        let next = move |offset: Val<'k, u32, uni::Cta>| -> Val<'k, u32, uni::Cta> {
            let moved = offset + bytes;
            moved.equals(wrap).select(0u32, moved)
        };
        let (_, state) = cta.fold(
            upto(count),
            (offsets, state),
            |cta, round, ((used, filled), state)| {
                wait(at, ahead.saturating_sub(1));
                cta.barrier();
                let later = round + ahead;
                cta.if_all(later.lt(count), |cta| {
                    fill(
                        cta,
                        Filling {
                            place: stage(filled),
                            mark: PhantomData,
                        },
                        later,
                    );
                });
                commit(at);
                let state = consume(
                    cta,
                    Filled {
                        place: stage(used),
                        mark: PhantomData,
                    },
                    round,
                    state,
                );
                ((next(used), next(filled)), state)
            },
        );
        wait(at, 0);
        state
    }
}

fn asynchronous() -> bool {
    with(|b| b.target.sm >= 80)
}

fn commit(at: &'static Location<'static>) {
    if asynchronous() {
        with(|b| b.push(at, Op::Cp, &[Qual::Async, Qual::CommitGroup], &[]));
    }
}

fn wait(at: &'static Location<'static>, pending: u32) {
    if asynchronous() {
        let pending = Slot::int(i64::from(pending));
        let quals = [Qual::Async, Qual::WaitGroup];
        with(|b| b.push(at, Op::Cp, &quals, &[pending]));
    }
}
