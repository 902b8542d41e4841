//! An array whose length nobody says.
// says: `x: In<..>` is an array and needs its shape, in terms of the scalars: `x: In<..>[n]`

mod prelude;
use prelude::*;

#[cfg(not(fixed))]
args! { //~ none
    pub struct CopyArgs { x: In<f32>, y: Out<f32>[n], n: Scalar<u32> }
}
#[cfg(fixed)]
args! {
    pub struct CopyArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32> }
}
