//! A broadcast from a lane on which lanes differ.
// says: `Val<'_, u32>` may differ between threads that must agree on it

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    let i = cta.thread();
    cta.each_warp(|warp| {
        let x = a.x.at(i);
        #[cfg(not(fixed))]
        let first = warp.broadcast(x, i); //~ E0277
        #[cfg(fixed)]
        let first = warp.broadcast(x, 0u32);
        a.y.set(i, first);
    });
}
