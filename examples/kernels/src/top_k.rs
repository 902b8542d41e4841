//! The k largest numbers of each row, and where they are.

use warpsmith::kernel::{Val, kernel, steps, upto};

/// Numbers of a row, at most: they lie in shared memory.
pub const MOST: u32 = 8192;

kernel! {
    /// The j-th largest of row r and its place; of equal ones the first comes first. No NaNs; k ≤ n ≤ [`MOST`].
    pub struct TopK(TopKArgs {
        x: In<f32>[rows, n], values: Out<f32>[rows, k], places: Out<u32>[rows, k],
        rows: Scalar<u32>, n: Scalar<u32>, k: Scalar<u32>,
    });
    grid(a) = a.rows;
    body(cta, a) {
        let (x, values, places) = (a.x.row(cta.id()), a.values.row(cta.id()), a.places.row(cta.id()));
        let mut left = cta.array::<f32>(MOST);
        cta.step(&mut left, |cta, left| cta.each(a.n, |_, i| left.set(i, x.at(i))));
        cta.for_(upto(a.k), |cta, j| {
            let (value, place) = cta.step(&mut left, |cta, left| {
                let own = steps(cta.thread(), a.n, cta.threads());
                let none = (f32::NEG_INFINITY.into(), u32::MAX.into());
                let own = cta.fold_lanes(own, none, |_, i, best| larger(best, (left.at(i), i)));
                cta.reduce_state(own, larger)
            });
            cta.step(&mut left, |cta, left| cta.leader(|_| {
                values.set(j, value);
                places.set(j, place);
                left.set(place, f32::NEG_INFINITY);
            }));
        });
    }
}

type Best<'k> = (Val<'k, f32>, Val<'k, u32>);
/// The larger of two; of equal ones the first.
fn larger<'k>((x, i): Best<'k>, (y, j): Best<'k>) -> Best<'k> {
    let second = y.gt(x) | (y.equals(x) & j.lt(i));
    (second.select(y, x), second.select(j, i))
}
