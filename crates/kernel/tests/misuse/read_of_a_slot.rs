//! A tile that is read while it is filled.
// says: no method named `at` found for struct `Slots<'t, 'k, T, S>` in the current scope

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, _a: NormArgs<InKernel<'k>>) {
    let mut tile = cta.tile::<f32>(256);
    tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        #[cfg(not(fixed))]
        slots.set(i, slots.at(i) + 1.0); //~ E0599
        #[cfg(fixed)]
        slots.set(i, 1.0);
    });
}
