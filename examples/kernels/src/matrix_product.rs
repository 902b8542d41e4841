//! A product of f32 matrices, tile by tile through shared memory.

use warpsmith::kernel::{Val, kernel, steps, upto};

/// Rows and columns of a tile.
pub const TILE: u32 = 16;

kernel! {
    /// `c = a b`, with a m x k, b k x n. A CTA computes 16 x 16 of c, a thread one element.
    pub struct MatrixProduct(MatrixProductArgs {
        a: In<f32>[m, k], b: In<f32>[k, n], c: Out<f32>[m, n], m: Scalar<u32>, n: Scalar<u32>, k: Scalar<u32>,
    });
    grid(s) = s.m.div_ceil(TILE) * s.n.div_ceil(TILE);
    body(cta, s) {
        let across = s.n.div_ceil(TILE);
        let (row0, col0) = (cta.id() / across * TILE, cta.id() % across * TILE);
        let (y, x) = (cta.thread() / TILE, cta.thread() % TILE);
        let (row, col) = (row0 + y, col0 + x);
        let (mut tile_a, mut tile_b) = (cta.tile::<f32>(TILE * TILE), cta.tile::<f32>(TILE * TILE));
        let sum = cta.fold(steps(0, s.k, TILE), Val::<f32>::constant(0.0), |cta, k0, sum| {
            let own = cta.thread();
            let a = tile_a.fill(cta, |cta, a| {
                let (col, valid) = (k0 + x, row.lt(s.m) & (k0 + x).lt(s.k));
                a.set(own, cta.either(valid, |_| s.a.row(row).at(col), |_| 0.0.into()));
            });
            let b = tile_b.fill(cta, |cta, b| {
                let (row, valid) = (k0 + y, col.lt(s.n) & (k0 + y).lt(s.k));
                b.set(own, cta.either(valid, |_| s.b.row(row).at(col), |_| 0.0.into()));
            });
            cta.fold(upto(TILE), sum, |_, i, sum| a.at(y * TILE + i).mul_add(b.at(i * TILE + x), sum))
        });
        cta.if_(row.lt(s.m) & col.lt(s.n), |_| s.c.row(row).set(col, sum));
    }
}
