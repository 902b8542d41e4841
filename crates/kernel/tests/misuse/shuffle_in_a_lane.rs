//! A shuffle where some lanes of the warp may be absent.
// says: no method named `shuffle_xor` found for mutable reference `&mut warpsmith_kernel::Lane<'_>` in the current scope

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, _a: NormArgs<InKernel<'k>>) {
    cta.each_warp(|warp| {
        let value = warp.lane();
        warp.each(7u32, |lane, _| {
            #[cfg(not(fixed))]
            lane.shuffle_xor(value, 1); //~ E0599
            #[cfg(fixed)]
            let _ = (lane, value);
        });
    });
}
