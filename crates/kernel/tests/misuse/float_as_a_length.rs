//! A length that is not an integer.
// says: `Val<'_, f32, warpsmith_kernel::uni::Cta>` is no size of an array

mod prelude;
use prelude::*;

#[cfg(not(fixed))]
args! {
    pub struct CopyArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<f32> } //~ E0277
}
#[cfg(fixed)]
args! {
    pub struct CopyArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> }
}
