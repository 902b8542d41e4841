//! One value with the shape of an array.
// says: `n: Scalar<..>` is one value, which has no shape: leave `[1]` away, or make it an array, `In<..>`

mod prelude;
use prelude::*;

#[cfg(not(fixed))]
args! { //~ none
    pub struct CopyArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32>[1] }
}
#[cfg(fixed)]
args! {
    pub struct CopyArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> }
}
