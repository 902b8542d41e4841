//! A product of two types.
// says: cannot multiply `Val<'_, f32, warpsmith_kernel::uni::Cta>` by `Val<'k, u32, warpsmith_kernel::uni::Cta>`

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    let x = a.x.row(cta.id()).at(0u32);
    #[cfg(not(fixed))]
    let y = x * a.n; //~ E0277
    #[cfg(fixed)]
    let y = x * a.n.f32();
    a.y.row(cta.id()).set(0u32, y);
}
