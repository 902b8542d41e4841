//! Products of a block of 32 rows of W, a lane each, with rows of x in shared memory.

use super::{
    first::{Fetched, Following, round},
    source::{Ready, Source},
};
use crate::{
    gemv::add_group,
    values::{F32, Word},
    weights::{BLOCK, GROUP, Layout, PlaneRow, Planes},
};
use half::f16;
use warpsmith_kernel::{Acc, FragA, FragB, InKernel, Lane, Scope, Val, View, Warp, steps, uni};

/// The lane's row of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'k> {
    pub(super) layout: Layout,
    pub(super) planes: PlaneRow<'k, uni::Warp>,
}

impl<'k> Matrix<'k> {
    /// The lane's row of block `block`.
    pub(super) fn of(
        layout: Layout,
        planes: Planes<InKernel<'k>>,
        block: Val<'k, u32, uni::Warp>,
        lane: Val<'k, u32>,
    ) -> Matrix<'k> {
        Matrix {
            layout,
            planes: planes.row(block, lane),
        }
    }

    /// With the lane's row in its addresses.
    pub(super) fn placed(self) -> Placed<'k> {
        let Matrix { layout, planes } = self;
        Placed {
            layout,
            planes: planes.placed(layout),
        }
    }
}

/// A sum for each matrix and row of x, the rows of the first matrix first.
type Sums<'k> = Vec<Val<'k, f32>>;

/// The products of a block of 32 rows of W.
pub(super) enum Products<'k, const N: usize> {
    /// A lane has a row of W.
    Lanes(Sums<'k>),
    /// Two neighbouring rows of x at a time: row of W, first row of x, the numbers of each matrix.
    Pairs(Vec<(Word<'k>, Word<'k>, [[F32<'k>; 2]; N])>),
}

impl<'k, const N: usize> Products<'k, N> {
    /// Hands each row of x, row of W in the block, and numbers of the matrices on.
    pub(super) fn each(
        self,
        warp: &mut Warp<'k>,
        rows: u32,
        store: impl Fn(&mut Lane<'k>, Word<'k>, Word<'k>, [F32<'k>; N]),
    ) {
        match self {
            Products::Lanes(sums) => {
                let row = warp.lane();
                for r in 0..rows {
                    let own =
                        std::array::from_fn(|matrix| sums[matrix * rows as usize + r as usize]);
                    store(&mut warp.lane_scope(), Val::constant(r), row, own);
                }
            }
            Products::Pairs(pairs) => {
                for (row, first, values) in pairs {
                    for side in 0..2u32 {
                        let r = first + side;
                        let own = values.map(|pair| pair[side as usize]);
                        warp.if_(r.lt(rows), |lane| store(lane, r, row, own));
                    }
                }
            }
        }
    }
}

/// A warp's share of the groups of a row.
#[derive(Clone, Copy)]
pub(super) struct Share<'k> {
    pub(super) part: Val<'k, u32, uni::Warp>,
    /// Shares there are.
    pub(super) split: u32,
}

/// The products of a share of the groups, in ascending order; the first codes may have been fetched.
pub(super) fn products<'k, const N: usize>(
    warp: &mut Warp<'k>,
    source: &Source,
    x: Ready<'_, 'k>,
    matrices: [Matrix<'k>; N],
    share: Share<'k>,
    following: Option<Following<'_, 'k>>,
) -> Products<'k, N> {
    match x {
        Ready::Half { halves, scales } => {
            let sums = half(warp, source, halves, &matrices, share);
            // Columns behind the last row of x are not stored.
            let scale = |column: Word<'k>| scales.at(column.min(source.rows - 1));
            Products::Pairs(
                (0..2)
                    .flat_map(|tile| pairs(warp, &sums, tile, scale))
                    .collect(),
            )
        }
        Ready::Bytes { .. } | Ready::Single(_) => {
            let placed = matrices.map(Matrix::placed);
            Products::Lanes(dots(warp, source, x, &placed, share, following))
        }
    }
}

/// A [`Matrix`] with the lane's row in its addresses.
#[derive(Clone, Copy)]
pub(super) struct Placed<'k> {
    pub(super) layout: Layout,
    pub(super) planes: PlaneRow<'k>,
}

/// The pairs of tile `tile` of each matrix, scaled by their columns.
fn pairs<'k, const N: usize>(
    warp: &mut Warp<'k>,
    sums: &[[Acc<'k>; 2]; N],
    tile: usize,
    scale: impl Fn(Word<'k>) -> F32<'k>,
) -> Vec<(Word<'k>, Word<'k>, [[F32<'k>; 2]; N])> {
    let mut places = Vec::new();
    let values: [Vec<_>; N] = std::array::from_fn(|matrix| {
        let mut own = Vec::new();
        places.clear();
        sums[matrix][tile].each_pair(warp, |row, column, [x, y]| {
            places.push((row + 16 * tile as u32, column));
            own.push([x * scale(column), y * scale(column + 1)]);
        });
        own
    });
    let places = places.into_iter().enumerate();
    let each = |(at, (row, column))| (row, column, values.each_ref().map(|own| own[at]));
    places.map(each).collect()
}

/// Sums over the groups of a share, in ascending order.
fn dots<'k, const N: usize>(
    warp: &mut Warp<'k>,
    source: &Source,
    x: Ready<'_, 'k>,
    matrices: &[Placed<'k>; N],
    Share { part, split }: Share<'k>,
    following: Option<Following<'_, 'k>>,
) -> Sums<'k> {
    let (groups, round) = (source.groups(), round(source, N));
    let whole = groups / round * round;
    let step = |group, count, fetched: Option<&Fetched<'k>>, sums| match x {
        Ready::Bytes { words, scales } => {
            let x = (words.from(group * 8), scales.from(group * 4));
            (0..count).fold(sums, |sums, ahead| {
                bytes(matrices, source, (group, ahead), x, fetched, sums)
            })
        }
        Ready::Single(view) => {
            let x = view.from(group * GROUP);
            single(matrices, source, group, x, fetched, sums)
        }
        Ready::Half { .. } => unreachable!("tensor cores have sums of their own"),
    };
    let mut first = part * round;
    let mut sums = vec![Val::constant(0.0); N * source.rows as usize];
    if let Some(following) = following {
        let layouts = matrices.map(|matrix| matrix.layout);
        let fetched = following.first.arrive(layouts, following.ahead);
        sums = step(first, round, Some(&fetched), sums);
        (following.next)(warp);
        first = (part + split) * round;
    }
    let rounds = steps(first, whole, split * round);
    let sums = warp.fold(rounds, sums, |_, group, sums| {
        step(group, round, None, sums)
    });
    if whole == groups {
        return sums;
    }
    let rest = steps(part + whole, groups, split);
    warp.fold(rest, sums, |_, group, sums| step(group, 1, None, sums))
}

/// Adds group `group + ahead` by integer products: words and scales of x are those from `group` on.
fn bytes<'k, const N: usize>(
    matrices: &[Placed<'k>; N],
    source: &Source,
    (group, ahead): (Val<'k, u32, uni::Warp>, u32),
    (words, scales): (View<'_, 'k, u32>, View<'_, 'k, f32>),
    fetched: Option<&Fetched<'k>>,
    mut sums: Sums<'k>,
) -> Sums<'k> {
    let (groups, rows) = (source.groups(), source.rows);
    let layouts = matrices.map(|matrix| matrix.layout);
    let decoded: [_; N] = std::array::from_fn(|at| {
        let Placed { layout, planes } = matrices[at];
        let planes = planes.ahead(layout, ahead);
        let there = fetched.and_then(|fetched| fetched.group(&layouts, at, ahead));
        let codes = planes.group_codes(layout, group, there).unsigned();
        (layout, codes, planes.group_scales(layout, group))
    });
    for r in 0..rows {
        let at = |half: u32| (r * groups + ahead) * 8 + 4 * half;
        let words = [0, 1].map(|half| words.words::<4, _>(at(half)).map(Val::into));
        let scales = scales
            .vector::<4, _>((r * groups + ahead) * 4)
            .map(Val::into);
        for (matrix, (layout, codes, own)) in decoded.iter().enumerate() {
            let sum = &mut sums[matrix * rows as usize + r as usize];
            *sum = add_group(*layout, codes, *own, words, scales, *sum);
        }
    }
    sums
}

/// Adds a group in f32; each product is fused with its addition, columns in ascending order.
fn single<'k, const N: usize>(
    matrices: &[Placed<'k>; N],
    source: &Source,
    group: Val<'k, u32, uni::Warp>,
    x: View<'_, 'k, f32>,
    fetched: Option<&Fetched<'k>>,
    mut sums: Sums<'k>,
) -> Sums<'k> {
    let (groups, rows) = (source.groups(), source.rows);
    let layouts = matrices.map(|matrix| matrix.layout);
    let each = matrices.iter().zip(sums.chunks_mut(rows as usize));
    for (at, (Placed { layout, planes }, sums)) in each.enumerate() {
        let there = fetched.and_then(|fetched| fetched.group(&layouts, at, 0));
        let weights = planes.group_values(*layout, group, there);
        for (quad, weights) in weights.as_chunks::<4>().0.iter().enumerate() {
            for (r, sum) in (0..rows).zip(&mut *sums) {
                let at = r * groups * GROUP + 4 * quad as u32;
                let x = x.vector::<4, _>(at);
                for (w, x) in weights.iter().zip(x) {
                    *sum = w.mul_add(x, *sum);
                }
            }
        }
    }
    sums
}

/// Sums of two tiles of 16 rows of each matrix: f16 weights are the left operand as they lie, rows of x its columns.
fn half<'k, const N: usize>(
    warp: &mut Warp<'k>,
    source: &Source,
    x: View<'_, 'k, f16>,
    matrices: &[Matrix<'k>; N],
    Share { part, split }: Share<'k>,
) -> [[Acc<'k>; 2]; N] {
    let lane = warp.lane();
    // Lane l holds column pair l % 4 of row l / 4 of either operand. Rows past the last repeat it.
    let row = (lane >> 2).min(source.rows - 1);
    let x = x.from(row * source.stride() + ((lane & 3) << 1));
    let weights = matrices.map(|matrix| matrix.planes.codes.from(lane));
    let zero = [[Acc::zero(); 2]; N];
    warp.fold(
        steps(part, source.groups(), split),
        zero,
        |warp, group, sums| {
            let x = x.from(group * GROUP);
            let word = |at: u32| x.words::<1, _>(at)[0].varying();
            let right =
                [0u32, 16].map(|depth| FragB::<f16>::from_words([word(depth), word(depth + 8)]));
            let mut all = sums;
            for (sums, weights) in all.iter_mut().zip(weights) {
                let weights = weights.from(group * (16 * BLOCK));
                for (tile, sum) in sums.iter_mut().enumerate() {
                    for (depth, right) in right.iter().enumerate() {
                        // A piece is 8 columns of 32 rows: 4 words of each.
                        let word = |piece: u32, eight: u32| {
                            let at = (2 * depth as u32 + piece) * (4 * BLOCK)
                                + (2 * tile as u32 + eight) * 32;
                            let [word] = weights.words::<1, _>(at);
                            word
                        };
                        let left =
                            FragA::from_words([word(0, 0), word(0, 1), word(1, 0), word(1, 1)]);
                        *sum = warp.mma(left, *right, *sum);
                    }
                }
            }
            all
        },
    )
}
