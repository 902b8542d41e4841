//! An array of what has no form in memory.
// says: `bool` is no element type of an array

mod prelude;
use prelude::*;

#[cfg(not(fixed))]
args! { //~ E0277
    pub struct CopyArgs { x: In<bool>[n], y: Out<f32>[n], n: Scalar<u32> } //~ E0277
}
#[cfg(fixed)]
args! {
    pub struct CopyArgs { x: In<u8>[n], y: Out<f32>[n], n: Scalar<u32> }
}
