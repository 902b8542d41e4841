//! What the misuses share: the language, a signature, and arguments on a host of slices.

#![allow(dead_code)] // each misuse needs a part of this

pub use std::marker::PhantomData;
pub use warpsmith_kernel::{
    Cta, InKernel, Elem, Scope, Val, args,
    args::{Mode, ScalarArg},
    uni,
};

args! {
    /// `y = x * w / rms(x)`.
    pub struct NormArgs {
        x: In<f32>[rows, n], w: In<f32>[n], y: Out<f32>[rows, n],
        rows: Scalar<u32>, n: Scalar<u32>, eps: Scalar<f32>,
    }
}

args! {
    /// `y = w x` for blocks of Q4_K, 144 bytes each.
    pub struct GemvArgs {
        w: In<u8>[rows, blocks * 144], x: In<f32>[blocks * 256], y: Out<f32>[rows],
        rows: Scalar<u32>, blocks: Scalar<u32>,
    }
}

/// Arguments that are slices.
pub struct Slices<'a>(PhantomData<&'a ()>);

impl<'a> Mode for Slices<'a> {
    type In<T: Elem> = &'a [T];
    type Maybe<T: Elem> = Option<&'a [T]>;
    type Out<T: Elem> = &'a mut [T];
    type InOut<T: Elem> = &'a mut [T];
    type Scalar<T: ScalarArg> = T;
}
