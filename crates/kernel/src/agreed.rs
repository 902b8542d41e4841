//! Values on which the threads of a scope agree.

use crate::{
    uni::{self, Uni},
    val::{Ty, Val},
};

/// What stands where all threads of a scope must agree on a value: a plain constant, or a [`Val`] on which they do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may differ between threads that must agree on it",
    label = "expected a value that is the same in all threads of the scope (`{U}`)",
    note = "what comes from scalars and `cta.id()` is the same in the CTA, what comes from `warp.id()` in the warp; `if_`, \
            `fold_lanes` and `while_` take what each thread has for itself"
)]
pub trait Agreed<'k, T: Ty, U: Uni> {
    /// As a value.
    fn agreed(self) -> Val<'k, T, U>;
}

impl<'k, T: Ty, U: Uni> Agreed<'k, T, U> for T {
    fn agreed(self) -> Val<'k, T, U> {
        Val::constant(self)
    }
}

macro_rules! agreed {
    ($($own:ident $scope:ident;)*) => {$(
        impl<'k, T: Ty> Agreed<'k, T, uni::$scope> for Val<'k, T, uni::$own> {
            fn agreed(self) -> Val<'k, T, uni::$scope> {
                Val::from_rep(self.rep())
            }
        }
    )*};
}

agreed! { Cta Cta; Cta Warp; Cta Lane; Warp Warp; Warp Lane; Lane Lane; }
