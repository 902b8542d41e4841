//! An input that is written.
// says: no method named `set` found for struct `warpsmith_kernel::Global<'_, f32, warpsmith_kernel::Read>` in the current scope

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, a: NormArgs<InKernel<'k>>) {
    let row = a.x.row(cta.id());
    #[cfg(not(fixed))]
    row.set(0u32, 1.0); //~ E0599
    #[cfg(fixed)]
    let _ = row;
}
