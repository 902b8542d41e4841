//! A view that is used after its tile was filled again.
// says: cannot borrow `tile` as mutable more than once at a time

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    let mut tile = cta.tile::<f32>(256);
    let old = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        slots.set(i, a.x.row(0u32).at(i));
    });
    let before = old.at(0u32);
    let new = tile.fill(cta, |cta, slots| { //~ E0499
        let i = cta.thread();
        slots.set(i, before + 1.0);
    });
    #[cfg(not(fixed))]
    let sum = old.at(1u32) + new.at(1u32);
    #[cfg(fixed)]
    let sum = before + new.at(1u32);
    a.y.row(0u32).set(0u32, sum);
}
