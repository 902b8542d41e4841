//! Sums of rows, as a crate that uses warpsmith has them: a kernel, and a function that runs it.
//!
//! `tests/check.rs` shows how such a crate checks its kernels without a card.
#![forbid(unsafe_code)]

use warpsmith::{
    device::{Device, Error},
    kernel::{Cta, InKernel, Kernel, LaunchError, args},
};

args! {
    /// `y[r] = x[r, 0] + x[r, 1] + ..`
    pub struct RowSumsArgs { x: In<f32>[rows, n], y: Out<f32>[rows], rows: Scalar<u32>, n: Scalar<u32> }
}

/// A CTA for each row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowSums;

impl Kernel for RowSums {
    type Args = RowSumsArgs;

    fn name(&self) -> String {
        "row_sums".into()
    }

    fn grid(&self, a: &RowSumsArgs) -> Result<u64, LaunchError> {
        Ok(a.rows.into())
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: RowSumsArgs<InKernel<'k>>) {
        let x = a.x.row(cta.id());
        let sum = cta.sum(a.n, |i| x.at(i));
        let row = cta.id();
        cta.each(1, |_, _| a.y.set(row, sum));
    }
}

/// The sums of the rows of `x`, each of `n` numbers.
///
/// # Errors
/// If the device is out of memory, or `n` does not divide the length of `x`.
pub fn row_sums(device: &Device, x: &[f32], n: usize) -> Result<Vec<f32>, Error> {
    let rows = x.len() / n;
    let stream = device.stream()?;
    let (x, mut y) = (stream.upload_new(x)?, stream.alloc(rows)?);
    let args = RowSumsArgs {
        x: x.view(),
        y: y.view_mut(),
        rows: rows as u32,
        n: n as u32,
    };
    stream.launch(&RowSums, &args)?;
    stream.download(&y)?.wait()
}
