//! Neighbouring values of a lane: as many as one access moves, with the operators of one.

use crate::values::{F32, Word};
use half::{bf16, f16};
use std::ops::{Add, Mul, Sub};
use warpsmith_kernel::{AccessMark, Elem, Global, Val, Write, uni, uni::Uni};

/// How many neighbours an access moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One element.
    One = 1,
    /// Two, from an address that is a multiple of their size.
    Two = 2,
    /// Four, likewise.
    Four = 4,
}

/// Elements of a row that a lane takes at once: the first, how many, and from each to the next.
#[derive(Clone, Copy, Debug)]
pub struct At<'k> {
    /// The first.
    pub i: Word<'k>,
    /// How many.
    pub width: Width,
    /// How far they are apart: 1 for neighbours, which one access moves.
    pub apart: u32,
}

impl<'k> At<'k> {
    /// Neighbours.
    pub fn neighbours(i: Word<'k>, width: Width) -> At<'k> {
        At { i, width, apart: 1 }
    }
}

/// One, two or four values, mostly neighbours. Operators take another quad of that width, or one value for all.
#[derive(Clone, Copy, Debug)]
pub struct Quad<'k> {
    /// Those past the width are zero and not used.
    values: [F32<'k>; 4],
    width: Width,
}

/// A float that arrays are made of.
pub trait Float: Elem {
    /// `f32`, as kernels' names have it.
    const SHORT: &'static str;
    /// Reads neighbours.
    #[doc(hidden)]
    fn load<'k, A: AccessMark>(from: Global<'k, Self, A, uni::Lane>, at: At<'k>) -> Quad<'k>
    where
        Self: Sized;
    /// Writes neighbours from element `i` on.
    #[doc(hidden)]
    fn store<'k>(to: Global<'k, Self, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>])
    where
        Self: Sized;
}

/// What an operator has on its right: a value for each of a quad's.
pub trait Each<'k>: Copy {
    /// The one for value `at`.
    #[doc(hidden)]
    fn each(self, at: usize) -> F32<'k>;
}

impl<'k> Each<'k> for Quad<'k> {
    fn each(self, at: usize) -> F32<'k> {
        self.values[at]
    }
}

impl<'k, U: Uni> Each<'k> for Val<'k, f32, U> {
    fn each(self, _at: usize) -> F32<'k> {
        self.varying()
    }
}

impl<'k> Quad<'k> {
    /// One value in all places.
    pub fn splat(value: F32<'k>, width: Width) -> Quad<'k> {
        Quad {
            values: [value; 4],
            width,
        }
    }

    /// The elements at `at`.
    #[track_caller]
    pub fn read<T: Float, A: AccessMark, U: Uni>(
        from: Global<'k, T, A, U>,
        at: At<'k>,
    ) -> Quad<'k> {
        let from = from.varying();
        if at.apart == 1 {
            return T::load(from, at);
        }
        let one = |place: u32| {
            let i = at.i + place * at.apart;
            T::load(from, At::neighbours(i, Width::One)).values[0]
        };
        let zero = Val::constant(0.0);
        let values = [0, 1, 2, 3].map(|place| {
            let is_there = place < at.width as u32;
            if is_there { one(place) } else { zero }
        });
        Quad {
            values,
            width: at.width,
        }
    }

    /// Writes to `at`, rounded to nearest even where `T` is narrower.
    #[track_caller]
    pub fn put<T: Float, U: Uni>(self, to: Global<'k, T, Write, U>, at: At<'k>) {
        if at.apart == 1 {
            return self.write(to, at.i);
        }
        for (place, value) in (0u32..).zip(self.values()) {
            let i = at.i + place * at.apart;
            T::store(to.varying(), i, &[*value]);
        }
    }

    /// Writes from element `i` on, rounded to nearest even where `T` is narrower.
    #[track_caller]
    pub fn write<T: Float, U: Uni>(self, to: Global<'k, T, Write, U>, i: Word<'k>) {
        T::store(to.varying(), i, self.values());
    }

    /// The values.
    pub fn values(&self) -> &[F32<'k>] {
        &self.values[..self.width as usize]
    }

    /// The values with their places, the first at `i`.
    #[track_caller]
    pub fn places(self, i: Word<'k>) -> impl Iterator<Item = (Word<'k>, F32<'k>)> {
        let values = self.values.into_iter().take(self.width as usize);
        values.zip(0u32..).map(move |(x, at)| (i + at, x))
    }

    /// `f` of each value.
    #[track_caller]
    pub fn map(self, f: impl Fn(F32<'k>) -> F32<'k>) -> Quad<'k> {
        self.with(|_, x| f(x))
    }

    /// `f` of each value and how far behind the first it is.
    #[track_caller]
    pub fn map_at(self, f: impl Fn(u32, F32<'k>) -> F32<'k>) -> Quad<'k> {
        self.with(|at, x| f(at as u32, x))
    }

    /// `f` of each value and its own of `other`.
    #[track_caller]
    pub fn zip(self, other: impl Each<'k>, f: impl Fn(F32<'k>, F32<'k>) -> F32<'k>) -> Quad<'k> {
        self.with(|at, x| f(x, other.each(at)))
    }

    fn with(mut self, f: impl Fn(usize, F32<'k>) -> F32<'k>) -> Quad<'k> {
        let own = &mut self.values[..self.width as usize];
        for (at, x) in own.iter_mut().enumerate() {
            *x = f(at, *x);
        }
        self
    }

    /// `self * by + more`, rounded once.
    #[track_caller]
    pub fn mul_add(self, by: impl Each<'k>, more: impl Each<'k>) -> Quad<'k> {
        self.with(|at, x| x.mul_add(by.each(at), more.each(at)))
    }

    /// `state = f(state, x)` for each value in order.
    #[track_caller]
    pub fn fold<S>(self, state: S, f: impl FnMut(S, F32<'k>) -> S) -> S {
        self.values().iter().copied().fold(state, f)
    }

    /// `sum` and the values.
    #[track_caller]
    pub fn sum(self, sum: F32<'k>) -> F32<'k> {
        self.fold(sum, |sum, x| sum + x)
    }

    /// `sum` and the squares, each rounded once.
    #[track_caller]
    pub fn squares(self, sum: F32<'k>) -> F32<'k> {
        self.fold(sum, |sum, x| x.mul_add(x, sum))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:tt;)*) => {$(
        impl<'k, Q: Each<'k>> $trait<Q> for Quad<'k> {
            type Output = Quad<'k>;
            #[track_caller]
            fn $method(self, other: Q) -> Quad<'k> {
                self.zip(other, |x, y| x $op y)
            }
        }
    )*};
}

operators! { Add add +; Sub sub -; Mul mul *; }

impl<'k> From<F32<'k>> for Quad<'k> {
    fn from(x: F32<'k>) -> Self {
        let rest = Val::constant(0.0);
        Quad {
            values: [x, rest, rest, rest],
            width: Width::One,
        }
    }
}

impl<'k> From<[F32<'k>; 2]> for Quad<'k> {
    fn from([x, y]: [F32<'k>; 2]) -> Self {
        let rest = Val::constant(0.0);
        Quad {
            values: [x, y, rest, rest],
            width: Width::Two,
        }
    }
}

impl<'k> From<[F32<'k>; 4]> for Quad<'k> {
    fn from(values: [F32<'k>; 4]) -> Self {
        Quad {
            values,
            width: Width::Four,
        }
    }
}

impl Float for f32 {
    const SHORT: &'static str = "f32";

    #[track_caller]
    fn load<'k, A: AccessMark>(from: Global<'k, f32, A, uni::Lane>, at: At<'k>) -> Quad<'k> {
        match at.width {
            Width::One => from.at(at.i).varying().into(),
            Width::Two => from.vector::<2, _>(at.i).map(Val::varying).into(),
            Width::Four => from.vector::<4, _>(at.i).map(Val::varying).into(),
        }
    }

    #[track_caller]
    fn store<'k>(to: Global<'k, f32, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>]) {
        match *values {
            [a, b, c, d] => to.set_vector(i, [a, b, c, d]),
            [a, b] => to.set_vector(i, [a, b]),
            [] | [..] => {
                for (at, value) in values.iter().enumerate() {
                    to.set(i + at as u32, *value);
                }
            }
        }
    }
}

/// Both f16 of a word.
pub(crate) fn two_halves<'k>(word: Word<'k>) -> [F32<'k>; 2] {
    let (low, high): (Val<'k, f16, _>, Val<'k, f16, _>) = word.into();
    [low.f32(), high.f32()]
}

impl Float for f16 {
    const SHORT: &'static str = "f16";

    #[track_caller]
    fn load<'k, A: AccessMark>(from: Global<'k, f16, A, uni::Lane>, at: At<'k>) -> Quad<'k> {
        match at.width {
            Width::One => from.at(at.i).f32().varying().into(),
            Width::Two => {
                let [word] = from.words::<1, _>(at.i).map(Val::varying);
                two_halves(word).into()
            }
            Width::Four => {
                let [[a, b], [c, d]] = from.words::<2, _>(at.i).map(Val::varying).map(two_halves);
                [a, b, c, d].into()
            }
        }
    }

    #[track_caller]
    fn store<'k>(to: Global<'k, f16, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>]) {
        match *values {
            [a, b, c, d] => to.set_words(i, [a.pack_f16(b), c.pack_f16(d)]),
            [a, b] => to.set_words(i, [a.pack_f16(b)]),
            [] | [..] => {
                for (at, value) in values.iter().enumerate() {
                    to.set(i + at as u32, value.f16());
                }
            }
        }
    }
}

/// The bits of a bf16 in the low half of a word: nearest even by integer arithmetic, the same on every target.
fn bf16_bits<'k>(x: F32<'k>) -> Word<'k> {
    let bits = x.to_bits();
    let rounded = (bits + (bits.bits(16, 1) + 0x7fff)) >> 16;
    // Rounding could carry a NaN over into an infinity or a zero; its top bits and a quiet bit stay one.
    let nan = (bits & 0x7fff_ffff).gt(0x7f80_0000);
    nan.select((bits >> 16) | 0x40, rounded)
}

impl Float for bf16 {
    const SHORT: &'static str = "bf16";

    #[track_caller]
    fn load<'k, A: AccessMark>(from: Global<'k, bf16, A, uni::Lane>, at: At<'k>) -> Quad<'k> {
        let pair = |word: Word<'k>| [(word << 16).as_f32(), (word & 0xffff_0000).as_f32()];
        match at.width {
            Width::One => {
                let zero: Val<bf16, uni::Lane> = Val::constant(bf16::ZERO);
                zero.pack(from.at(at.i).varying()).as_f32().into()
            }
            Width::Two => {
                let [word] = from.words::<1, _>(at.i).map(Val::varying);
                pair(word).into()
            }
            Width::Four => {
                let [[a, b], [c, d]] = from.words::<2, _>(at.i).map(Val::varying).map(pair);
                [a, b, c, d].into()
            }
        }
    }

    #[track_caller]
    fn store<'k>(to: Global<'k, bf16, Write, uni::Lane>, i: Word<'k>, values: &[F32<'k>]) {
        let pair = |lo, hi| bf16_bits(lo) | (bf16_bits(hi) << 16);
        match *values {
            [a, b, c, d] => to.set_words(i, [pair(a, b), pair(c, d)]),
            [a, b] => to.set_words(i, [pair(a, b)]),
            [] | [..] => {
                for (at, value) in values.iter().enumerate() {
                    let (low, _): (Val<bf16, uni::Lane>, _) = bf16_bits(*value).into();
                    to.set(i + at as u32, low);
                }
            }
        }
    }
}
