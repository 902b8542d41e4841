//! A size and a constant in each other's place.
// says: mismatched types

mod prelude;
use prelude::*;

pub fn launch<'a>(x: &'a [f32], w: &'a [f32], y: &'a mut [f32]) -> NormArgs<Slices<'a>> {
    #[cfg(not(fixed))]
    let (n, eps) = (1e-5f32, 576u32);
    #[cfg(fixed)]
    let (n, eps) = (576u32, 1e-5f32);
    NormArgs {
        x,
        w,
        y,
        rows: 1,
        n,   //~ E0308
        eps, //~ E0308
    }
}
