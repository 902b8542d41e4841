//! How a number becomes an element of a cache.

use half::f16;
use warpsmith_kernel::{Elem, Global, Val, Write, uni};

/// An element of a cache.
pub(super) trait Cached: Elem {
    fn put<'k>(to: Global<'k, Self, Write, uni::Lane>, i: Val<'k, u32>, x: Val<'k, f32>)
    where
        Self: Sized;
}

impl Cached for f32 {
    fn put<'k>(to: Global<'k, f32, Write, uni::Lane>, i: Val<'k, u32>, x: Val<'k, f32>) {
        to.set(i, x);
    }
}

impl Cached for f16 {
    fn put<'k>(to: Global<'k, f16, Write, uni::Lane>, i: Val<'k, u32>, x: Val<'k, f32>) {
        to.set(i, x.f16());
    }
}
