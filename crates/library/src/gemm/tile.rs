//! One tile of `epilogue(x W^T)` with `mma`, whatever the rows of `x` are: a ring of three stages, activations by
//! `cp.async`, weights decoded on the way in.

use crate::{
    epilogue::{Epilogue, Outputs},
    values::{Uniform, Word},
    weights::{BLOCK, Codes, FloatType, GROUP, Layout, PlaneRow},
};
use half::f16;
use warpsmith_kernel::{
    Acc, Cta, Global, Half, Hardware, InKernel, Lane, Matrix, Pipeline, Read, Scope, Slots, Staged,
    Val, uni,
};

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
    pub fn choose(m: u32, n: u32, hardware: Hardware) -> Tiling {
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
        if m <= 128 || !hardware.is_virtual() {
            return small;
        }
        let fits = |tile: &Tiling| {
            let limit = hardware.target.shared_limit().unwrap_or(0);
            tile.shared_bytes() <= limit
                && m.div_ceil(tile.rows()) * n.div_ceil(tile.columns()) >= hardware.sms
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

    pub(crate) fn warps(self) -> u32 {
        self.warp_rows * self.warp_columns
    }
}

/// Rounds in flight, and the one that is multiplied.
const STAGES: usize = 3;
/// Columns taken in a round: one group of weights.
pub(crate) const STEP: u32 = GROUP;
/// Elements from one row of a stage to the next: 8 more than it holds, against bank conflicts.
const PITCH: u32 = STEP + 8;

/// A place of rows of `x` that a thread copies to shared memory, 16 bytes of each.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'k> {
    /// Row of the tile.
    pub(crate) row: Word<'k>,
    /// Column of `x` behind the first of a round.
    pub(crate) column: Word<'k>,
    /// Rows to the next one that this thread copies.
    pub(crate) down: u32,
    /// How many there are.
    pub(crate) count: u32,
}

/// Where a thread's pieces come from.
pub(crate) struct Source<'k, V> {
    /// The first.
    pub(crate) from: Global<'k, f16, Read, uni::Lane>,
    /// Elements from one piece to the next.
    pub(crate) pitch: Val<'k, u64, uni::Cta>,
    /// Whether piece number so many is there: elsewhere zeros stand, and nothing is read.
    pub(crate) valid: V,
}

/// What the sums of a tile become.
pub(crate) struct Finish<'k> {
    pub(crate) epilogue: Epilogue,
    /// Multiplies row i.
    pub(crate) row_scale: Option<Global<'k, f32, Read>>,
    pub(crate) out: Outputs<InKernel<'k>>,
}

impl Tiling {
    /// The corner of tile `id` among those of `m` rows.
    pub(crate) fn corner<'k>(self, id: Uniform<'k>, m: Uniform<'k>) -> [Uniform<'k>; 2] {
        let down = m.div_ceil(self.rows());
        [(id % down) * self.rows(), (id / down) * self.columns()]
    }

    /// The sums of the tile over `rounds` groups of columns. `source(piece)` says for each first column of a round
    /// where `x` is, `planes(row)` where a row of `W` is.
    pub(crate) fn products<'k, S, V>(
        self,
        cta: &mut Cta<'k>,
        layout: Layout,
        rounds: Uniform<'k>,
        source: impl Fn(Piece<'k>) -> S,
        planes: impl Fn(Word<'k>) -> PlaneRow<'k>,
    ) -> Vec<Vec<Acc<'k>>>
    where
        S: Fn(Uniform<'k>) -> Source<'k, V>,
        V: Fn(u32) -> Val<'k, bool, uni::Lane>,
    {
        let (rows, columns) = (self.rows(), self.columns());
        let mut ring = Pipeline::<STAGES>::new();
        let x_part = ring.part::<f16>(rows * PITCH);
        let w_part = ring.part::<f16>(columns * PITCH);
        let zero = vec![vec![Acc::zero(); 2 * self.column_pairs as usize]; self.row_frags as usize];
        // Each row of activations is four pieces of 16 bytes: a thread takes one of every so many rows. What stays the
        // same in all rounds is found once.
        let (row, within) = (cta.thread() / 4u32, (cta.thread() % 4u32) * 8);
        let down = cta.threads() / 4;
        let source = source(Piece {
            row,
            column: within,
            down,
            count: rows.div_ceil(down),
        });
        let slot = row * PITCH + within;
        let weights = ready_pieces(cta, layout, columns, &planes);
        ring.run(
            cta,
            rounds,
            zero,
            |cta, stage, round| {
                let (xs, ws) = (stage.part(x_part), stage.part(w_part));
                self.fill_rows(cta, xs.from(slot), row, source(round * STEP));
                let Some(weights) = &weights else {
                    return fill_weights(cta, layout, columns, ws, round, &planes);
                };
                for (slot, codes) in weights {
                    let from = codes.from(round * (4 * 4 * BLOCK)).cast::<f16>();
                    ws.copy16(*slot, from, Val::<bool, uni::Cta>::constant(true));
                }
            },
            |cta, stage, _, accs| {
                let (xs, ws) = (
                    stage.part(x_part).matrix(PITCH),
                    stage.part(w_part).matrix(PITCH),
                );
                multiply(cta, self, xs, ws, accs)
            },
        )
    }
}

impl Tiling {
    /// Copies a thread's pieces of activations, the first of them of row `row`.
    fn fill_rows<'k>(
        self,
        cta: &mut Cta<'k>,
        xs: Slots<'_, 'k, f16, Staged>,
        row: Word<'k>,
        source: Source<'k, impl Fn(u32) -> Val<'k, bool, uni::Lane>>,
    ) {
        let (rows, down) = (self.rows(), cta.threads() / 4);
        let Source { from, pitch, valid } = source;
        if rows < down {
            let valid = valid(0);
            cta.each_warp(|warp| warp.if_(row.lt(rows), |_| xs.copy16(0u32, from, valid)));
            return;
        }
        (0..rows / down).fold(from, |from, i| {
            xs.copy16(i * down * PITCH, from, valid(i));
            from.from(pitch)
        });
    }
}

/// The pieces of 16 bytes that a thread copies of weights that lie ready as f16: where they go, and the words of the
/// first round. `None` for other weights.
fn ready_pieces<'k>(
    cta: &mut Cta<'k>,
    layout: Layout,
    columns: u32,
    planes: &impl Fn(Word<'k>) -> PlaneRow<'k>,
) -> Option<Vec<(Word<'k>, Global<'k, u32, Read, uni::Lane>)>> {
    let pieces = columns * 4;
    if layout.codes != Codes::Float(FloatType::F16) || !pieces.is_multiple_of(cta.threads()) {
        return None;
    }
    let piece = |first: u32| {
        let item = cta.thread() + first;
        let (row, piece) = (item % columns, item / columns);
        let planes = planes(row);
        let from = planes.codes.from(piece * (4 * BLOCK) + planes.row * 4);
        (row * PITCH + piece * 8, from)
    };
    let firsts = (0..pieces).step_by(cta.threads() as usize);
    Some(firsts.map(piece).collect())
}

/// One group of each row of weights of the tile, as f16.
fn fill_weights<'k>(
    cta: &mut Cta<'k>,
    layout: Layout,
    columns: u32,
    ws: Slots<'_, 'k, f16, Staged>,
    round: Uniform<'k>,
    planes: &impl Fn(Word<'k>) -> PlaneRow<'k>,
) {
    cta.each(columns * 2, |_, item| {
        let (row, half) = (item / 2u32, item % 2u32);
        let values = planes(row).half_values(layout, round, half);
        let slot = row * PITCH + half * 16;
        for quad in 0..2 {
            let word =
                |at: usize| f16::pack(values[8 * quad + 2 * at], values[8 * quad + 2 * at + 1]);
            ws.set_words(slot + 8 * quad as u32, [word(0), word(1), word(2), word(3)]);
        }
    });
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
        // All fragments first; then each sum takes its products one after the other, those of the same rows together.
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
        for (row, a) in accs.iter_mut().zip(&a) {
            for (j, pairs) in b.iter().enumerate() {
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

impl<'k> Finish<'k> {
    /// Writes the sums of the tile whose corner is at `[m0, n0]`.
    pub(crate) fn store(
        &self,
        cta: &mut Cta<'k>,
        tiling: Tiling,
        [m0, n0]: [Uniform<'k>; 2],
        accs: &[Vec<Acc<'k>>],
    ) {
        // Where the tile ends inside and rows begin at even places, pairs go out together.
        let ends_inside = (n0 + (tiling.columns() - 1)).lt(self.out.n);
        let in_pairs = ends_inside & (self.out.n & 1).equals(0);
        cta.each_warp(|warp| {
            let [top, left] = warp_corner(warp, tiling);
            for (i, row) in accs.iter().enumerate() {
                for half in 0..2 {
                    let (down, right, _) = row[0].pairs(warp);
                    let r = m0 + top + (down + (16 * i + 8 * half) as u32);
                    let first = n0 + left + right;
                    let pairs: Vec<_> = row.iter().map(|acc| acc.pairs(warp).2[half]).collect();
                    warp.if_(r.lt(self.out.m), |lane| {
                        self.store_row(lane, [r, first], &pairs, in_pairs);
                    });
                }
            }
        });
    }

    /// Writes a lane's pairs of row `r`, the first at column `first`, [`APART`] from each other.
    fn store_row(
        &self,
        lane: &mut Lane<'k>,
        [r, first]: [Word<'k>; 2],
        pairs: &[[Val<'k, f32>; 2]],
        in_pairs: Val<'k, bool, uni::Cta>,
    ) {
        let (epilogue, out) = (self.epilogue, self.out);
        let scale = self.row_scale.map(|scale| scale.at(r));
        let scaled = |value: Val<'k, f32>| scale.map_or(value, |scale| value * scale);
        let y = out.y.row(r).from(first);
        let residual = out.residual.row(r).from(first);
        let bias = out.bias.from(first);
        lane.either(
            in_pairs,
            |_| {
                for (j, pair) in pairs.iter().enumerate() {
                    let at = APART * j as u32;
                    let pair = pair.map(scaled);
                    y.set_vector(at, epilogue.apply_pair(pair, at, bias, residual));
                }
            },
            |lane| {
                for (at, value) in pairs.iter().flatten().enumerate() {
                    let at = APART * (at as u32 / 2) + at as u32 % 2;
                    lane.if_((first + at).lt(out.n), |_| {
                        y.set(at, epilogue.apply(scaled(*value), at, bias, residual));
                    });
                }
            },
        );
    }
}
