//! An element type of which only too little is known.
// says: `T` is no element type of an array

mod prelude;
use prelude::*;

/// What can be copied and sent.
pub trait Number: Copy + Send + Sync + 'static {}

#[cfg(not(fixed))]
args! { //~ E0277
    pub struct CopyArgs<T: Number> { x: In<T>[n], y: Out<f32>[n], n: Scalar<u32> } //~ E0277
}
#[cfg(fixed)]
args! {
    pub struct CopyArgs<T: Elem> { x: In<T>[n], y: Out<f32>[n], n: Scalar<u32> }
}
