//! `if_all` on a predicate on which threads differ.
// says: `Val<'_, bool>` may differ between threads that must agree on it

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, _a: NormArgs<InKernel<'k>>) {
    #[cfg(not(fixed))]
    let condition = cta.thread().lt(7u32);
    #[cfg(fixed)]
    let condition = cta.id().lt(7u32);
    cta.if_all(condition, |cta| cta.barrier()); //~ E0277
}
