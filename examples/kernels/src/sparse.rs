//! A sparse matrix by a vector, rows compressed (CSR).

use warpsmith::kernel::{kernel, steps};

kernel! {
    /// `y[r]` is the sum of `values[i] x[columns[i]]` for i from `starts[r]` to `starts[r + 1]`. A warp for each row.
    pub struct Sparse(SparseArgs {
        starts: In<u32>[rows + 1], columns: In<u32>[entries], values: In<f32>[entries], x: In<f32>[cols], y: Out<f32>[rows],
        rows: Scalar<u32>, cols: Scalar<u32>, entries: Scalar<u32>,
    });
    threads = 128;
    grid(a) = a.rows.div_ceil(4);
    body(cta, a) {
        let first = cta.id() * cta.warps();
        cta.each_warp(|warp| {
            let row = first + warp.id();
            warp.if_all(row.lt(a.rows), |warp| {
                let (from, to) = (a.starts.at(row), a.starts.at(row + 1));
                let own = steps(warp.lane() + from, to, 32);
                let sum = warp.fold_lanes(own, 0.0.into(), |_, i, sum| {
                    a.values.at(i).mul_add(a.x.at(a.columns.at(i)), sum)
                });
                let sum = warp.sum(sum);
                warp.leader(|_| a.y.set(row, sum));
            });
        });
    }
}
