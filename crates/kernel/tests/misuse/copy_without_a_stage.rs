//! An asynchronous copy into a tile, whose barrier does not wait for it.
// says: no method named `copy16` found for struct `Slots<'_, '_, f32>` in the current scope

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    let mut tile = cta.tile::<f32>(1024);
    tile.fill(cta, |cta, slots| {
        let i = cta.thread() * 4;
        #[cfg(not(fixed))]
        slots.copy16(i, a.w.from(i), true); //~ E0599
        #[cfg(fixed)]
        slots.set(i, a.w.at(i));
    });
}
