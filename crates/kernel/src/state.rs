//! Loop-carried state: any bundle of values that a loop hands from one round to the next.

use crate::{
    build::Rep,
    uni::Uni,
    val::{Ty, Val},
};
use warpsmith_ptx::types::Type;

/// Values that a loop carries: a [`Val`], or tuples, arrays and vectors of them.
pub trait State<'k>: Clone {
    /// The same shape with each register replaced by what `f` gives for it.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn map(&self, f: &mut dyn FnMut(Type, Rep) -> Rep) -> Self;
}

#[allow(private_interfaces)]
impl<'k, T: Ty, U: Uni> State<'k> for Val<'k, T, U> {
    fn map(&self, f: &mut dyn FnMut(Type, Rep) -> Rep) -> Self {
        Val::from_rep(f(T::TYPE, self.rep()))
    }
}

#[allow(private_interfaces)]
impl<'k, S: State<'k>, const N: usize> State<'k> for [S; N] {
    fn map(&self, f: &mut dyn FnMut(Type, Rep) -> Rep) -> Self {
        std::array::from_fn(|at| self[at].map(f))
    }
}

#[allow(private_interfaces)]
impl<'k, S: State<'k>> State<'k> for Vec<S> {
    fn map(&self, f: &mut dyn FnMut(Type, Rep) -> Rep) -> Self {
        self.iter().map(|state| state.map(f)).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        #[allow(private_interfaces, unused_variables, non_snake_case, clippy::unused_unit)]
        impl<'k, $($name: State<'k>),*> State<'k> for ($($name,)*) {
            fn map(&self, f: &mut dyn FnMut(Type, Rep) -> Rep) -> Self {
                let ($($name,)*) = self;
                ($($name.map(f),)*)
            }
        }
    )*};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
