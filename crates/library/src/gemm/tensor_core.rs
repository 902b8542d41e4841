//! `y = epilogue(x W^T)` with `mma`: a ring of three stages, activations by `cp.async`, weights decoded on the way in.

use crate::{
    epilogue::Epilogue,
    weights::{BLOCK, GROUP, Layout, PlaneRow},
};
use half::f16;
use warpsmith_kernel::{
    Acc, BuildError, Cta, Device, Global, Half, Kernel, LaunchError, Matrix, Pipeline, Read, Scope,
    Val, args, require, uni,
};
use warpsmith_ptx::target::Target;

args! {
    /// `x` is f16 `[m, padded]` with zeros behind the columns, `W` is `[n, padded]` in the planes of its layout, `y` is f32 `[m, n]`.
    /// Row i of `x` stands for `x[i] * row_scale[i]`.
    pub struct GemmArgs {
        x: In<f16>[m, padded], row_scale: In<f32>[m],
        codes: In<u32>[blocks, code_block], high: Maybe<u32>[blocks, high_block],
        sub: Maybe<u8>[blocks, sub_block], scales: Maybe<u16>[blocks, scale_block],
        bias: Maybe<f32>[n], residual: Maybe<f32>[m, n], y: Out<f32>[m, n],
        m: Scalar<u32>, n: Scalar<u32>, padded: Scalar<u32>,
        blocks: Scalar<u32>, code_block: Scalar<u32>, high_block: Scalar<u32>, sub_block: Scalar<u32>, scale_block: Scalar<u32>,
    }
}

/// How a tile is spread over warps: each warp has `16 row_frags` by `16 column_pairs` outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    /// Warps along the rows.
    pub warp_rows: u32,
    /// Warps along the columns.
    pub warp_columns: u32,
    /// 16-row fragments of a warp.
    pub row_frags: u32,
    /// Pairs of 8-column fragments of a warp.
    pub column_pairs: u32,
}

impl Tiling {
    /// The smallest tile that holds `m` rows, up to 128 by 64; for `sms` multiprocessors so few that they must be
    /// virtual, up to 256 by 192.
    ///
    /// A larger tile decodes each weight for more rows, and loads each activation for more columns. A real
    /// multiprocessor's registers end at 128 by 64; those of the virtual GPU do not. Of its widths the one that
    /// leaves the fewest columns over is taken.
    pub fn choose(m: u32, n: u32, sms: u32, target: Target) -> Tiling {
        let tiling = |warp_rows, warp_columns, row_frags, column_pairs| Tiling {
            warp_rows,
            warp_columns,
            row_frags,
            column_pairs,
        };
        let small = match m {
            0..=16 => tiling(1, 4, 1, 1),
            17..=32 => tiling(1, 4, 2, 1),
            33..=64 => tiling(2, 2, 2, 2),
            _ => tiling(2, 2, 4, 2),
        };
        if m <= 128 || sms >= 16 {
            return small;
        }
        let fits = |tile: &Tiling| {
            let limit = target.shared_limit().unwrap_or(0);
            tile.shared_bytes() <= limit
                && m.div_ceil(tile.rows()) * n.div_ceil(tile.columns()) >= sms
        };
        let wide = [6, 4, 2].map(|pairs| tiling(4, 2, 4, pairs));
        let best = wide.into_iter().filter(fits);
        best.min_by_key(|tile| n.next_multiple_of(tile.columns()))
            .unwrap_or(small)
    }

    /// Shared memory of the ring of stages.
    fn shared_bytes(self) -> u32 {
        STAGES as u32 * (self.rows() + self.columns()) * PITCH * 2
    }

    /// Rows of a tile.
    pub fn rows(self) -> u32 {
        self.warp_rows * self.row_frags * 16
    }

    /// Columns of a tile.
    pub fn columns(self) -> u32 {
        self.warp_columns * self.column_pairs * 16
    }

    fn warps(self) -> u32 {
        self.warp_rows * self.warp_columns
    }
}

/// The kernel: a weight layout, a tiling, an epilogue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// Layout of `W`.
    pub layout: Layout,
    /// Tile shape.
    pub tiling: Tiling,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

/// Rounds in flight, and the one that is multiplied.
const STAGES: usize = 3;
/// Columns taken in a round: one group of weights.
const STEP: u32 = GROUP;
/// Elements from one row of a stage to the next: 8 more than it holds, against bank conflicts.
const PITCH: u32 = STEP + 8;

impl Kernel for Gemm {
    type Args = GemmArgs;

    fn name(&self) -> String {
        let Tiling {
            warp_rows,
            warp_columns,
            row_frags,
            column_pairs,
        } = self.tiling;
        let layout = crate::weights::layout_name(self.layout);
        format!(
            "gemm_{layout}_{warp_rows}{warp_columns}{row_frags}{column_pairs}{}",
            self.epilogue.suffix()
        )
    }

    fn threads(&self) -> u32 {
        self.tiling.warps() * 32
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        if target.sm < f16::FIRST_SM {
            return Err(BuildError::Unsupported {
                kernel: self.name(),
                target,
                feature: "mma.m16n8k8",
            });
        }
        Ok(())
    }

    fn grid(&self, a: &GemmArgs) -> Result<u64, LaunchError> {
        require(
            a.padded.is_multiple_of(STEP),
            "padded",
            a.padded.into(),
            "a multiple of 32",
        )?;
        let block = self.layout.block(a.padded);
        require(
            a.blocks == a.n.div_ceil(BLOCK),
            "blocks",
            a.blocks.into(),
            "n / 32 rounded up",
        )?;
        require(
            a.code_block == block.codes,
            "code_block",
            a.code_block.into(),
            "the layout's words of a block",
        )?;
        require(
            a.high_block == block.high,
            "high_block",
            a.high_block.into(),
            "the layout's words of a block",
        )?;
        require(
            a.sub_block == block.sub,
            "sub_block",
            a.sub_block.into(),
            "the layout's bytes of a block",
        )?;
        require(
            a.scale_block == block.scales,
            "scale_block",
            a.scale_block.into(),
            "the layout's halves of a block",
        )?;
        Ok(u64::from(a.m.div_ceil(self.tiling.rows()))
            * u64::from(a.n.div_ceil(self.tiling.columns())))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemmArgs<Device<'k>>) {
        let tiling = self.tiling;
        let (rows, columns) = (tiling.rows(), tiling.columns());
        let tiles_m = a.m.div_ceil(rows);
        let (m0, n0) = ((cta.id() % tiles_m) * rows, (cta.id() / tiles_m) * columns);

        let mut ring = Pipeline::<STAGES>::new();
        let x_part = ring.part::<f16>(rows * PITCH);
        let w_part = ring.part::<f16>(columns * PITCH);
        let zero =
            vec![vec![Acc::zero(); 2 * tiling.column_pairs as usize]; tiling.row_frags as usize];
        let accs = ring.run(
            cta,
            a.padded / STEP,
            zero,
            |cta, stage, round| {
                let (xs, ws) = (stage.part(x_part), stage.part(w_part));
                // Each row of activations is four pieces of 16 bytes: a thread takes one of every so many rows.
                // Rows past the last are not read, and are zero.
                let (row, column) = (cta.thread() / 4u32, (cta.thread() % 4u32) * 8);
                let down = cta.threads() / 4;
                let from = a.x.row(m0 + row).from(round * STEP + column);
                let pitch = a.padded.u64() * u64::from(down);
                let copy = |from: Global<'k, f16, Read, uni::Lane>, skip: u32| {
                    let valid = (m0 + (row + skip)).lt(a.m);
                    xs.copy16(row * PITCH + column + skip * PITCH, from, valid);
                };
                if rows < down {
                    cta.each_warp(|warp| warp.if_(row.lt(rows), |_| copy(from, 0)));
                } else {
                    (0..rows / down).fold(from, |from, i| {
                        copy(from, i * down);
                        from.from(pitch)
                    });
                }
                // Rows past the last repeat it: their columns are not stored.
                cta.each(columns * 2, |_, piece| {
                    let (row, half) = (piece / 2u32, piece % 2u32);
                    let source = (n0 + row).min(a.n - 1);
                    let block = source / BLOCK;
                    let planes = PlaneRow {
                        codes: a.codes.row(block),
                        high: a.high.row(block),
                        sub: a.sub.row(block),
                        scales: a.scales.row(block),
                        row: source % BLOCK,
                    };
                    let values = planes.half_values(self.layout, round, half);
                    let slot = row * PITCH + half * 16;
                    for quad in 0..2 {
                        let word = |at: usize| {
                            f16::pack(values[8 * quad + 2 * at], values[8 * quad + 2 * at + 1])
                        };
                        ws.set_words(slot + 8 * quad as u32, [word(0), word(1), word(2), word(3)]);
                    }
                });
            },
            |cta, stage, _, accs| {
                let (xs, ws) = (
                    stage.part(x_part).matrix(PITCH),
                    stage.part(w_part).matrix(PITCH),
                );
                multiply(cta, tiling, xs, ws, accs)
            },
        );
        self.store(cta, &a, m0, n0, &accs);
    }
}

/// Where this warp's outputs begin in the tile.
fn warp_corner<'k>(
    warp: &warpsmith_kernel::Warp<'k>,
    tiling: Tiling,
) -> [Val<'k, u32, uni::Warp>; 2] {
    let (down, right) = (
        warp.id() / tiling.warp_columns,
        warp.id() % tiling.warp_columns,
    );
    [
        down * (16 * tiling.row_frags),
        right * (16 * tiling.column_pairs),
    ]
}

fn multiply<'k>(
    cta: &mut Cta<'k>,
    tiling: Tiling,
    xs: Matrix<'_, 'k, f16>,
    ws: Matrix<'_, 'k, f16>,
    mut accs: Vec<Vec<Acc<'k>>>,
) -> Vec<Vec<Acc<'k>>> {
    cta.in_warps(|warp| {
        let [top, left] = warp_corner(warp, tiling);
        // All fragments first; then each sum takes its products one after the other.
        let depths: Vec<u32> = (0..STEP).step_by(16).collect();
        let a: Vec<Vec<_>> = (0..tiling.row_frags)
            .map(|i| {
                let load = |k: &u32| warp.load_a(xs, top + 16 * i, *k);
                depths.iter().map(load).collect()
            })
            .collect();
        let b: Vec<Vec<_>> = (0..tiling.column_pairs)
            .map(|j| {
                let load = |k: &u32| warp.load_b(ws, left + 16 * j, *k);
                depths.iter().map(load).collect()
            })
            .collect();
        for (j, pairs) in b.iter().enumerate() {
            for (row, a) in accs.iter_mut().zip(&a) {
                for side in 0..2 {
                    let acc = &mut row[2 * j + side];
                    for (a, pair) in a.iter().zip(pairs) {
                        *acc = warp.mma(*a, pair[side], *acc);
                    }
                }
            }
        }
        accs
    })
}

/// Columns a lane's pairs are apart.
const APART: u32 = 8;

impl Gemm {
    fn store<'k>(
        &self,
        cta: &mut Cta<'k>,
        a: &GemmArgs<Device<'k>>,
        m0: Val<'k, u32, uni::Cta>,
        n0: Val<'k, u32, uni::Cta>,
        accs: &[Vec<Acc<'k>>],
    ) {
        // Where the tile ends inside and rows begin at even places, pairs go out together.
        let ends_inside = (n0 + (self.tiling.columns() - 1)).lt(a.n);
        let in_pairs = ends_inside & (a.n & 1).equals(0);
        cta.each_warp(|warp| {
            let [top, left] = warp_corner(warp, self.tiling);
            for (i, row) in accs.iter().enumerate() {
                for half in 0..2 {
                    let (down, right, _) = row[0].pairs(warp);
                    let r = m0 + top + (down + (16 * i + 8 * half) as u32);
                    let first = n0 + left + right;
                    let pairs: Vec<_> = row.iter().map(|acc| acc.pairs(warp).2[half]).collect();
                    warp.if_(r.lt(a.m), |lane| {
                        let scale = a.row_scale.at(r);
                        let y = a.y.row(r).from(first);
                        let residual = a.residual.row(r).from(first);
                        let bias = a.bias.from(first);
                        lane.either(
                            in_pairs,
                            |_| {
                                for (j, pair) in pairs.iter().enumerate() {
                                    let at = APART * j as u32;
                                    let pair = pair.map(|value| value * scale);
                                    let out = self.epilogue.apply_pair(pair, at, bias, residual);
                                    y.set_vector(at, out);
                                }
                            },
                            |lane| {
                                for (j, pair) in pairs.iter().enumerate() {
                                    for (side, value) in pair.iter().enumerate() {
                                        let at = APART * j as u32 + side as u32;
                                        lane.if_((first + at).lt(a.n), |_| {
                                            let value = *value * scale;
                                            let value =
                                                self.epilogue.apply(value, at, bias, residual);
                                            y.set(at, value);
                                        });
                                    }
                                }
                            },
                        );
                    });
                }
            }
        });
    }
}
