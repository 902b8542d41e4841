//! A sum by the whole CTA over a number of terms on which threads differ.
// says: `Val<'_, u32>` may differ between threads that must agree on it

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    #[cfg(not(fixed))]
    let n = cta.thread();
    #[cfg(fixed)]
    let n = cta.id();
    let row = a.x.row(0u32);
    cta.sum(n, |i| row.at(i)); //~ E0277
}
