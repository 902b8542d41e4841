//! A product of f16 matrices on tensor cores: `y = x wᵀ`, as a linear layer has it.

use half::f16;
use warpsmith::kernel::{Acc, kernel, steps};

/// Rows of x and of w that a CTA multiplies, and columns it takes at once.
pub const TILE: u32 = 32;
const PITCH: u32 = TILE + 8; // eight rows of a tile lie in different banks

kernel! {
    /// `y = x wᵀ`, x being m x k and w n x k; all sizes are multiples of [`TILE`]. A warp computes 16 x 16 of y (sm_75).
    pub struct MmaProduct(MmaProductArgs {
        x: In<f16>[m, k], w: In<f16>[n, k], y: Out<f32>[m, n], m: Scalar<u32>, n: Scalar<u32>, k: Scalar<u32>,
    });
    threads = 128;
    grid(s) = s.m / TILE * (s.n / TILE);
    body(cta, s) {
        let (row0, col0) = (cta.id() / (s.n / TILE) * TILE, cta.id() % (s.n / TILE) * TILE);
        let (mut tile_x, mut tile_w) = (cta.tile::<f16>(TILE * PITCH), cta.tile::<f16>(TILE * PITCH));
        let accs = cta.fold(steps(0, s.k, TILE), [Acc::zero(); 2], |cta, k0, accs| {
            let x = tile_x.fill(cta, |cta, tile| cta.each(TILE * TILE / 8, |_, i| {
                let (row, col) = (i / (TILE / 8), i % (TILE / 8) * 8);
                tile.set_words(row * PITCH + col, s.x.row(row0 + row).words::<4, _>(k0 + col));
            }));
            let w = tile_w.fill(cta, |cta, tile| cta.each(TILE * TILE / 8, |_, i| {
                let (row, col) = (i / (TILE / 8), i % (TILE / 8) * 8);
                tile.set_words(row * PITCH + col, s.w.row(col0 + row).words::<4, _>(k0 + col));
            }));
            cta.in_warps(|warp| (0..TILE / 16).fold(accs, |accs, part| {
                let a = warp.load_a(x.matrix(PITCH), warp.id() / 2 * 16, part * 16);
                let [b0, b1] = warp.load_b(w.matrix(PITCH), warp.id() % 2 * 16, part * 16);
                [warp.mma(a, b0, accs[0]), warp.mma(a, b1, accs[1])]
            }))
        });
        cta.each_warp(|warp| for (acc, right) in accs.into_iter().zip([0, 8]) {
            let (row, col) = (row0 + warp.id() / 2 * 16, col0 + warp.id() % 2 * 16 + right);
            acc.each_pair(warp, |r, c, pair| s.y.row(row + r).set_vector(col + c, pair));
        });
    }
}
