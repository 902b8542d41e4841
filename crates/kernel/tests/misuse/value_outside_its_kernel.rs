//! A value that outlives the kernel whose register it is.
// says: borrowed data escapes outside of function

mod prelude;
use prelude::*;
use std::cell::Cell;

type Kept = Val<'static, f32, uni::Lane>;

thread_local! {
    static KEPT: Cell<Option<Kept>> = const { Cell::new(None) };
}

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    let value = a.x.row(cta.id()).at(cta.thread());
    #[cfg(not(fixed))]
    KEPT.set(Some(value)); //~ E0521
    #[cfg(fixed)]
    let _ = (&KEPT, value);
}
