//! A buffer that is only lent for reading, given as an output.
// says: mismatched types

mod prelude;
use prelude::*;

pub fn launch<'a>(x: &'a [f32], w: &'a [f32], y: &'a mut [f32]) -> NormArgs<Slices<'a>> {
    #[cfg(not(fixed))]
    let _ = &y;
    NormArgs {
        x,
        w,
        #[cfg(not(fixed))]
        y: x, //~ E0308
        #[cfg(fixed)]
        y,
        rows: 1,
        n: 576,
        eps: 1e-5,
    }
}
