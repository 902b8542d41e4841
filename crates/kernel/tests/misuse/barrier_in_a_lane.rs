//! A barrier by a scope that promises nothing.
// says: no method named `barrier` found for mutable reference `&mut warpsmith_kernel::Lane<'_>` in the current scope

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, _a: NormArgs<InKernel<'k>>) {
    cta.leader(|lane| {
        #[cfg(not(fixed))]
        lane.barrier(); //~ E0599
        #[cfg(fixed)]
        let _ = lane;
    });
}
