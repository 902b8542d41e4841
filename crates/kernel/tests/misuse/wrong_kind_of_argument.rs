//! An argument of a kind that there is none of.
// says: `x: Input<..>`: an argument is `In`, `Maybe`, `Out` or `InOut` with a shape, as `In<f32>[n]`, or `Scalar<..>`, or `Group<..>`

mod prelude;
use prelude::*;

#[cfg(not(fixed))]
args! { //~ none
    pub struct CopyArgs { x: Input<f32>[n], y: Out<f32>[n], n: Scalar<u32> }
}
#[cfg(fixed)]
args! {
    pub struct CopyArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> }
}
