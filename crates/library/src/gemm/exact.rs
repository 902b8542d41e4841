//! `y = epilogue(x W^T)` in f32 throughout: square tiles, a ring of two stages, 8 rows a warp.

use super::tile::Finish;
use crate::{
    epilogue::{Epilogue, Outputs},
    quantize::Columns,
    values::Uniform,
    weights::{BLOCK, GROUP, Layout, PlaneRow, Planes, layout_name},
};
use warpsmith_kernel::{
    Cta, Hardware, InKernel, Kernel, LaunchError, Pipeline, Scope, Slots, Staged, Val, View, args,
    uni,
};

args! {
    /// `x` is f32 `[m, columns]`, `W` is `[n, columns]` in the planes of its layout, `y` is f32 `[m, n]`.
    pub struct GemmF32Args {
        x: In<f32>[out.m, columns],
        w: Group<Planes>,
        out: Group<Outputs>,
         columns: Scalar<u32>,
    }
}

/// The kernel: a layout, an epilogue. Weights are the values of the scalar dequantisation; each product is fused with
/// its addition, columns in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GemmF32 {
    /// Layout of `W`.
    pub layout: Layout,
    /// How `x` is read.
    pub columns: Columns,
    /// Tile shape.
    pub square: Square,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

/// Rows of a warp: all its lanes share them, so activations are read at one address.
const ROWS: u32 = 8;

/// Groups of columns in shared memory: one is multiplied while the next comes.
const STAGES: usize = 2;

/// A tile with as many rows as columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Square {
    side: u32,
}

impl Square {
    /// 64 by 64, two columns a thread.
    pub const SMALL: Square = Square { side: 64 };
    /// 128 by 128, four columns a thread.
    pub const LARGE: Square = Square { side: 128 };

    /// The tile for `[m, n]` outputs. A larger one decodes each weight for more rows and copies each activation for more
    /// columns, which is what the virtual GPU has to do beside its products; a card fills more multiprocessors with small
    /// ones.
    pub fn choose(m: u32, n: u32, hardware: Hardware) -> Square {
        let large = Square::LARGE;
        let fits = hardware.target.shared_limit().unwrap_or(0) >= large.shared_bytes()
            && m > Square::SMALL.side
            && n > Square::SMALL.side
            && large.count(m, n) >= hardware.sms.into();
        if hardware.is_virtual() && fits {
            large
        } else {
            Square::SMALL
        }
    }

    /// Shared memory of the ring of stages.
    fn shared_bytes(self) -> u32 {
        STAGES as u32 * 2 * self.side * GROUP * 4
    }

    /// Rows of a tile, and its columns.
    pub(crate) fn side(self) -> u32 {
        self.side
    }

    pub(crate) fn threads(self) -> u32 {
        self.side / ROWS * 32
    }

    /// What shows of it in a kernel's name.
    fn suffix(self) -> &'static str {
        if self == Square::SMALL { "" } else { "_128" }
    }

    /// Tiles of `[m, n]` outputs.
    pub(crate) fn count(self, m: u32, n: u32) -> u64 {
        u64::from(m.div_ceil(self.side)) * u64::from(n.div_ceil(self.side))
    }
}

impl Kernel for GemmF32 {
    type Args = GemmF32Args;

    fn name(&self) -> String {
        let layout = layout_name(self.layout);
        let (columns, epilogue) = (self.columns.suffix(), self.epilogue.suffix());
        format!(
            "gemm_f32_{layout}{columns}{}{epilogue}",
            self.square.suffix()
        )
    }

    fn threads(&self) -> u32 {
        self.square.threads()
    }

    fn grid(&self, a: &GemmF32Args) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        a.w.check(self.layout, a.out.n, a.columns)?;
        Ok(self.square.count(a.out.m, a.out.n))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemmF32Args<InKernel<'k>>) {
        let square = self.square;
        let corner = square.corner(cta.id(), a.out.m);
        let [m0, n0] = corner;
        let sums = square.products(
            cta,
            self.layout,
            a.columns.div_ceil(GROUP),
            |cta, xs, round| match self.columns {
                Columns::Quads => cta.each(square.side * GROUP / 4, |_, piece| {
                    let (row, within) = (piece / (GROUP / 4), (piece % (GROUP / 4)) * 4);
                    let column = round * GROUP + within;
                    let valid = (m0 + row).lt(a.out.m) & column.lt(a.columns);
                    let row = a.x.row((m0 + row).min(a.out.m - 1));
                    // An address that is not read stays inside all the same.
                    let from = row.from(column.min(a.columns - 4));
                    xs.copy16(piece * 4, from, valid);
                }),
                Columns::Any => cta.each(square.side * GROUP, |lane, item| {
                    let (row, column) = (item / GROUP, round * GROUP + item % GROUP);
                    let valid = (m0 + row).lt(a.out.m) & column.lt(a.columns);
                    let read = a.x.row((m0 + row).min(a.out.m - 1));
                    let value = lane.either(valid, |_| read.at(column), |_| Val::constant(0.0));
                    xs.set(item, value);
                }),
            },
            |column| {
                // Rows of W past the last repeat it: their columns are not stored.
                let source = (n0 + column).min(a.out.n - 1);
                a.w.row(source / BLOCK, source % BLOCK)
            },
        );
        let outputs = Finish {
            epilogue: self.epilogue,
            row_scale: None,
            out: a.out,
        };
        square.store(cta, corner, sums, &outputs);
    }
}

/// The sums of a thread: some columns of each row of its warp.
type Sums<'k> = Vec<Vec<Val<'k, f32>>>;

impl Square {
    /// The corner of tile `id` among those of `m` rows.
    pub(crate) fn corner<'k>(self, id: Uniform<'k>, m: Uniform<'k>) -> [Uniform<'k>; 2] {
        let down = m.div_ceil(self.side);
        [(id % down) * self.side, (id / down) * self.side]
    }

    /// Columns of a thread.
    fn own_columns(self) -> u32 {
        self.side / 32
    }

    /// The sums of a tile over `rounds` groups of columns. `fill(xs, round)` puts a group of `[side, GROUP]` of `x` in
    /// place, `planes(row)` says where a row of `W` is.
    pub(crate) fn products<'k>(
        self,
        cta: &mut Cta<'k>,
        layout: Layout,
        rounds: Uniform<'k>,
        fill: impl Fn(&mut Cta<'k>, Slots<'_, 'k, f32, Staged>, Uniform<'k>),
        planes: impl Fn(Val<'k, u32>) -> PlaneRow<'k>,
    ) -> Sums<'k> {
        let side = self.side;
        let mut ring = Pipeline::<STAGES>::new();
        let x_part = ring.part::<f32>(side * GROUP);
        let w_part = ring.part::<f32>(GROUP * side);
        let zero: Sums<'k> =
            vec![vec![Val::constant(0.0); self.own_columns() as usize]; ROWS as usize];
        ring.run(
            cta,
            rounds,
            zero,
            |cta, stage, round| {
                let (xs, ws) = (stage.part(x_part), stage.part(w_part));
                fill(cta, xs, round);
                cta.each(side * 2, |_, item| {
                    let (column, half) = (item % side, item / side);
                    let values = planes(column).half_values(layout, round, half);
                    let slot = half * (16 * side) + column;
                    for (at, value) in values.into_iter().enumerate() {
                        ws.set(slot + at as u32 * side, value);
                    }
                });
            },
            |cta, stage, _, sums| self.multiply(cta, stage.part(x_part), stage.part(w_part), sums),
        )
    }

    /// Writes the sums of the tile whose corner is at `[m0, n0]`.
    pub(crate) fn store<'k>(
        self,
        cta: &mut Cta<'k>,
        [m0, n0]: [Uniform<'k>; 2],
        sums: Sums<'k>,
        to: &Finish<'k>,
    ) {
        cta.each_warp(|warp| {
            let top = m0 + warp.id() * ROWS;
            for (r, sums) in sums.into_iter().enumerate() {
                let row = (top + r as u32).varying();
                for (at, sum) in sums.into_iter().enumerate() {
                    let column = n0 + warp.lane() + at as u32 * 32;
                    warp.if_(row.lt(to.out.m) & column.lt(to.out.n), |_| {
                        to.out.set(to.epilogue, row, column, sum);
                    });
                }
            }
        });
    }

    /// Adds one group of columns: a lane has every 32nd column of the tile.
    fn multiply<'k>(
        self,
        cta: &mut Cta<'k>,
        xs: View<'_, 'k, f32>,
        ws: View<'_, 'k, f32>,
        mut sums: Sums<'k>,
    ) -> Sums<'k> {
        cta.in_warps(|warp| {
            let xs = xs.from(warp.id() * (ROWS * GROUP));
            let ws = ws.from(warp.lane());
            for k in (0..GROUP).step_by(4) {
                let rows: Vec<[Val<'k, f32, uni::Warp>; 4]> = (0..ROWS)
                    .map(|r| xs.vector::<4, _>(r * GROUP + k).map(Into::into))
                    .collect();
                for at in 0..4 {
                    let place = |column| (k + at) * self.side + column * 32;
                    let w: Vec<Val<'k, f32>> = (0..self.own_columns())
                        .map(|column| ws.at(place(column)).varying())
                        .collect();
                    for (row, sums) in rows.iter().zip(&mut sums) {
                        for (w, sum) in w.iter().zip(sums) {
                            *sum = w.mul_add(row[at as usize], *sum);
                        }
                    }
                }
            }
            sums
        })
    }
}
