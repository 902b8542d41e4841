//! A barrier where only some threads are.
// says: cannot borrow `*cta` as mutable because previous closure requires unique access
// says: closure requires unique access to `*cta` but it is already borrowed

mod prelude;
use prelude::*;

pub fn body<'k>(cta: &mut Cta<'k>, _a: NormArgs<InKernel<'k>>) {
    let first = cta.thread().equals(0u32);
    cta.if_(first, |_| { //~ E0500 E0501
        #[cfg(not(fixed))]
        cta.barrier();
    });
}
