//! Uniformity: which threads of a launch agree on a value.

/// The threads that agree on a value.
pub trait Uni: Copy + 'static + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

/// The same in every thread of the CTA.
#[derive(Clone, Copy, Debug)]
pub struct Cta;
/// The same in every thread of the warp.
#[derive(Clone, Copy, Debug)]
pub struct Warp;
/// May differ in each thread.
#[derive(Clone, Copy, Debug)]
pub struct Lane;

macro_rules! unis {
    ($($name:ident)*) => {$(
        impl sealed::Sealed for $name {}
        impl Uni for $name {}
    )*};
}
unis! { Cta Warp Lane }

/// What holds for a value computed from an `A` and a `B`: the weaker of the two.
pub trait Join<B: Uni>: Uni {
    /// The weaker.
    type Out: Uni;
}

macro_rules! joins {
    ($($a:ident $b:ident $out:ident;)*) => {$(impl Join<$b> for $a { type Out = $out; })*};
}

joins! {
    Cta Cta Cta; Cta Warp Warp; Cta Lane Lane;
    Warp Cta Warp; Warp Warp Warp; Warp Lane Lane;
    Lane Cta Lane; Lane Warp Lane; Lane Lane Lane;
}
