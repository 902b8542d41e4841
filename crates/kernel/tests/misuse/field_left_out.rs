//! Arguments without one of them.
// says: missing field `eps` in initializer of `prelude::NormArgs<_>`

mod prelude;
use prelude::*;

pub fn launch<'a>(x: &'a [f32], w: &'a [f32], y: &'a mut [f32]) -> NormArgs<Slices<'a>> {
    NormArgs { //~ E0063
        x,
        w,
        y,
        rows: 1,
        n: 576,
        #[cfg(fixed)]
        eps: 1e-5,
    }
}
