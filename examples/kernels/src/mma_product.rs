//! A product of f16 matrices on tensor cores: `y = x wᵀ`, as a linear layer has it.

use half::f16;
use warpsmith::kernel::{Acc, kernel, steps};

/// Rows of x and rows of w of a CTA, and how far it looks along the sum at once.
pub const TILE: u32 = 32;
/// Elements from one row of a tile to the next: 8 more, so that eight rows lie in different banks.
const PITCH: u32 = TILE + 8;

kernel! {
    /// `y = x wᵀ`, with x m x k and w n x k in f16, sums and y in f32. All sizes are multiples of [`TILE`]. A warp computes
    /// 16 x 16 of y (sm_75).
    pub struct MmaProduct(MmaProductArgs {
        x: In<f16>[m, k], w: In<f16>[n, k], y: Out<f32>[m, n], m: Scalar<u32>, n: Scalar<u32>, k: Scalar<u32>,
    });
    threads = 128;
    grid(s) = s.m / TILE * (s.n / TILE);
    body(cta, s) {
        let (row0, col0) = (cta.id() / (s.n / TILE) * TILE, cta.id() % (s.n / TILE) * TILE);
        let (mut tile_x, mut tile_w) = (cta.tile::<f16>(TILE * PITCH), cta.tile::<f16>(TILE * PITCH));
        let accs = cta.fold(steps(0, s.k, TILE), [Acc::zero(); 2], |cta, k0, accs| {
            let x = tile_x.fill(cta, |cta, t| cta.each(TILE * TILE / 8, |_, i| {
                let (row, col) = (i / (TILE / 8), i % (TILE / 8) * 8);
                t.set_words(row * PITCH + col, s.x.row(row0 + row).words::<4, _>(k0 + col));
            }));
            let w = tile_w.fill(cta, |cta, t| cta.each(TILE * TILE / 8, |_, i| {
                let (row, col) = (i / (TILE / 8), i % (TILE / 8) * 8);
                t.set_words(row * PITCH + col, s.w.row(col0 + row).words::<4, _>(k0 + col));
            }));
            cta.in_warps(|warp| {
                let (row, col) = (warp.id() / 2 * 16, warp.id() % 2 * 16);
                (0..TILE / 16).fold(accs, |accs, part| {
                    let a = warp.load_a(x.matrix(PITCH), row, part * 16);
                    let b = warp.load_b(w.matrix(PITCH), col, part * 16);
                    [warp.mma(a, b[0], accs[0]), warp.mma(a, b[1], accs[1])]
                })
            })
        });
        cta.each_warp(|warp| {
            let (row, col) = (row0 + warp.id() / 2 * 16, col0 + warp.id() % 2 * 16);
            for (acc, right) in accs.into_iter().zip([0, 8]) {
                acc.each_pair(warp, |r, c, pair| s.y.row(row + r).set_vector(col + right + c, pair));
            }
        });
    }
}
