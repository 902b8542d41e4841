//! `if_all` on constants between which a varying predicate chose.
// says: `Val<'_, bool>` may differ between threads that must agree on it

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, _a: NormArgs<InKernel<'k>>) {
    #[cfg(not(fixed))]
    let chosen = cta.thread().lt(7u32).select(1u32, 2u32);
    #[cfg(fixed)]
    let chosen = cta.id().lt(7u32).select(1u32, 2u32);
    cta.if_all(chosen.equals(1u32), |cta| cta.barrier()); //~ E0277
}
