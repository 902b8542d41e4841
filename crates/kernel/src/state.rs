//! Loop-carried state: any bundle of values that a loop hands from one round to the next.

use crate::{
    build::Rep,
    uni::Uni,
    val::{Ty, Val},
};
use warpsmith_ptx::types::Type;

/// Values that a loop carries: a [`Val`], tuples, arrays and vectors of them, or a struct made by
/// [`state!`](crate::state!).
///
/// Whatever takes a state keeps its shape: a vector has as many elements after a loop as before it.
///
/// ```
/// use warpsmith_kernel::{Val, kernel};
///
/// kernel! {
///     /// Mean and variance of each row in one pass (Welford, 1962), by one thread a row.
///     pub struct Moments(MomentsArgs { x: In<f32>[rows, n], y: Out<f32>[rows, 2], rows: Scalar<u32>, n: Scalar<u32> });
///     grid(a) = a.rows.div_ceil(256);
///     body(cta, a) {
///         let row = cta.id() * 256 + cta.thread();
///         cta.if_(row.lt(a.rows), |lane| {
///             let (x, y) = (a.x.row(row), a.y.row(row));
///             let zero = Val::<f32>::constant(0.0);
///             // What a round hands to the next: here a tuple.
///             let (mean, squares) = lane.fold_lanes(warpsmith_kernel::upto(a.n), (zero, zero), |_, i, (mean, squares)| {
///                 let delta = x.at(i) - mean;
///                 let mean = mean + delta / (i + 1).f32();
///                 (mean, delta.mul_add(x.at(i) - mean, squares))
///             });
///             y.set(0, mean);
///             y.set(1, squares / a.n.f32());
///         });
///     }
/// }
/// # use warpsmith_kernel::{Options, build};
/// # build(&Moments, warpsmith_ptx::target::Target::sm(70), Options::default())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait State<'k>: Clone {
    /// The same shape with each register replaced by what `f` gives for it.
    #[doc(hidden)]
    fn map(&self, f: &mut Mapper<'_>) -> Self;
}

/// What replaces the registers of a state.
#[doc(hidden)]
pub struct Mapper<'f>(&'f mut dyn FnMut(Type, Rep) -> Rep);

impl std::fmt::Debug for Mapper<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mapper")
    }
}

/// `state` with each register replaced by what `f` gives for it.
pub(crate) fn mapped<'k, S: State<'k>>(state: &S, mut f: impl FnMut(Type, Rep) -> Rep) -> S {
    state.map(&mut Mapper(&mut f))
}

/// Declares structs whose fields are states, so that they are states themselves.
///
/// ```
/// use warpsmith_kernel::{Cta, Scope, Val, state, upto};
///
/// state! {
///     /// A running mean and variance (Welford).
///     pub struct Moments<'k> {
///         /// The mean so far.
///         mean: Val<'k, f32>,
///         /// The sum of squares about it.
///         squares: Val<'k, f32>,
///     }
/// }
///
/// fn of_row<'k>(cta: &mut Cta<'k>, x: impl Fn(Val<'k, u32>) -> Val<'k, f32>, n: u32) -> Moments<'k> {
///     let zero = Moments { mean: 0.0.into(), squares: 0.0.into() };
///     cta.fold_lanes(upto(n), zero, |_, i, so_far| {
///         let (x, count) = (x(i), (i + 1).f32());
///         let off = x - so_far.mean;
///         let mean = so_far.mean + off / count;
///         Moments { mean, squares: off.mul_add(x - mean, so_far.squares) }
///     })
/// }
/// ```
#[macro_export]
macro_rules! state {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident<$k:lifetime> {
        $($(#[$fdoc:meta])* $fvis:vis $field:ident: $ty:ty),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        $vis struct $name<$k> {
            $($(#[$fdoc])* $fvis $field: $ty,)*
        }

        impl<$k> $crate::State<$k> for $name<$k> {
            fn map(&self, f: &mut $crate::Mapper<'_>) -> Self {
                $name { $($field: $crate::State::map(&self.$field, f),)* }
            }
        }
    )*};
}

impl<'k, T: Ty, U: Uni> State<'k> for Val<'k, T, U> {
    fn map(&self, f: &mut Mapper<'_>) -> Self {
        Val::from_rep((f.0)(T::TYPE, self.rep()))
    }
}

impl<'k, S: State<'k>, const N: usize> State<'k> for [S; N] {
    fn map(&self, f: &mut Mapper<'_>) -> Self {
        std::array::from_fn(|at| self[at].map(f))
    }
}

impl<'k, S: State<'k>> State<'k> for Vec<S> {
    fn map(&self, f: &mut Mapper<'_>) -> Self {
        self.iter().map(|state| state.map(f)).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        #[allow(unused_variables, non_snake_case, clippy::unused_unit)]
        impl<'k, $($name: State<'k>),*> State<'k> for ($($name,)*) {
            fn map(&self, f: &mut Mapper<'_>) -> Self {
                let ($($name,)*) = self;
                ($($name.map(f),)*)
            }
        }
    )*};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
