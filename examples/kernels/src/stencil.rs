//! A step of heat flowing in a plane: each point and its four neighbours.

use warpsmith::kernel::kernel;

/// Rows and columns that a CTA computes; in shared memory there is one more at each side.
pub const TILE: u32 = 32;
const SIDE: u32 = TILE + 2;

kernel! {
    /// `y = x + rate (left + right + above + below - 4 x)`; outside of the plane it is 0.
    pub struct Stencil(StencilArgs {
        x: In<f32>[rows, cols], y: Out<f32>[rows, cols], rows: Scalar<u32>, cols: Scalar<u32>, rate: Scalar<f32>,
    });
    grid(a) = a.rows.div_ceil(TILE) * a.cols.div_ceil(TILE);
    body(cta, a) {
        let across = a.cols.div_ceil(TILE);
        let (row0, col0) = (cta.id() / across * TILE, cta.id() % across * TILE);
        let mut tile = cta.tile::<f32>(SIDE * SIDE);
        let x = tile.fill(cta, |cta, tile| {
            cta.each(SIDE * SIDE, |lane, i| {
                // Row -1 is 2^32 - 1, which is not below `rows` either.
                let (row, col) = (row0 + i / SIDE - 1, col0 + i % SIDE - 1);
                let inside = row.lt(a.rows) & col.lt(a.cols);
                tile.set(i, lane.either(inside, |_| a.x.row(row).at(col), |_| 0.0.into()));
            });
        });
        cta.each(TILE * TILE, |lane, i| {
            let (row, col) = (i / TILE, i % TILE);
            let (r, c, at) = (row0 + row, col0 + col, (row + 1) * SIDE + col + 1);
            let around = x.at(at - 1) + x.at(at + 1) + x.at(at - SIDE) + x.at(at + SIDE);
            let new = (around - x.at(at) * 4.0).mul_add(a.rate, x.at(at));
            lane.if_(r.lt(a.rows) & c.lt(a.cols), |_| a.y.row(r).set(c, new));
        });
    }
}
