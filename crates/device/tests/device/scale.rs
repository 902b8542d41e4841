//! Kernels that tests of devices share, and their numbers.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args};

args! {
    /// `y = a * x`.
    pub struct ScaleArgs { x: In<f32>[rows, n], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32>, a: Scalar<f32> }
}

/// One row a CTA; `tag` only makes different kernels.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Scale {
    pub(crate) tag: u32,
}

/// How often a body of [`Scale`] was written, for each tag that a test has for itself.
pub(crate) static EMITTED: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

impl Kernel for Scale {
    type Args = ScaleArgs;

    fn name(&self) -> String {
        format!("scale_{}", self.tag)
    }

    fn grid(&self, a: &ScaleArgs) -> Result<u64, LaunchError> {
        Ok(if a.n == 0 { 0 } else { a.rows.into() })
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, k: ScaleArgs<InKernel<'k>>) {
        EMITTED[self.tag as usize % 16].fetch_add(1, Relaxed);
        let (x, y) = (k.x.row(cta.id()), k.y.row(cta.id()));
        cta.each(k.n, |_, i| y.set(i, x.at(i) * k.a));
    }
}

args! {
    /// `z = x + y`, or `z = x` without `y`.
    pub struct AddArgs { x: In<f32>[n], y: Maybe<f32>[n], small: Scalar<u32>, z: InOut<f32>[n], n: Scalar<u32> }
}

/// `z += x (+ y)`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Add {
    pub(crate) with_y: Y,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Y {
    Present,
    Absent,
}

impl Kernel for Add {
    type Args = AddArgs;

    fn name(&self) -> String {
        match self.with_y {
            Y::Present => "add_xy".into(),
            Y::Absent => "add_x".into(),
        }
    }

    fn grid(&self, _a: &AddArgs) -> Result<u64, LaunchError> {
        Ok(1)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, k: AddArgs<InKernel<'k>>) {
        cta.each(k.n, |_, i| {
            let sum = k.z.at(i) + k.x.at(i);
            match self.with_y {
                Y::Present => k.z.set(i, sum + k.y.at(i)),
                Y::Absent => k.z.set(i, sum),
            }
        });
    }
}

/// `0, 1, 2, ..`.
pub(crate) fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

/// As [`ramp`], times `a`.
pub(crate) fn scaled(n: usize, a: f32) -> Vec<f32> {
    (0..n).map(|i| i as f32 * a).collect()
}
