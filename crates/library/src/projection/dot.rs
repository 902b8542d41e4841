//! Products of a block of 32 rows of W, a lane each, with rows of x in shared memory.

use super::source::{Ready, Source};
use crate::{
    gemv::add_group,
    weights::{BLOCK, GROUP, Layout, PlaneRow},
};
use half::f16;
use warpsmith_kernel::{Acc, FragA, FragB, Lane, Scope, Val, View, Warp, steps, uni};

/// The lane's row of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'k> {
    pub(super) layout: Layout,
    pub(super) planes: PlaneRow<'k, uni::Warp>,
}

/// The [`Matrix`] of planes of an argument struct: the lane's row of block `$block`.
macro_rules! matrix {
    ($layout:expr, $args:expr, $block:expr, $lane:expr, $codes:ident, $high:ident, $sub:ident, $scales:ident) => {
        $crate::projection::dot::Matrix {
            layout: $layout,
            planes: $crate::weights::PlaneRow {
                codes: $args.$codes.row($block),
                high: $args.$high.row($block),
                sub: $args.$sub.row($block),
                scales: $args.$scales.row($block),
                row: $lane,
            },
        }
    };
}
pub(super) use matrix;

/// A sum for each matrix and row of x, the rows of the first matrix first.
type Sums<'k> = Vec<Val<'k, f32>>;

/// The products of a block of 32 rows of W.
pub(super) enum Products<'k, const N: usize> {
    /// A lane has a row of W.
    Lanes(Sums<'k>),
    /// Two neighbouring rows of x at a time: row of W, first row of x, the numbers of each matrix.
    Pairs(Vec<(Word<'k>, Word<'k>, [[F32<'k>; 2]; N])>),
}

type Word<'k> = Val<'k, u32>;
type F32<'k> = Val<'k, f32>;

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

/// The products of share `part` of `split` of the groups, in ascending order.
pub(super) fn products<'k, const N: usize>(
    warp: &mut Warp<'k>,
    source: &Source,
    x: Ready<'_, 'k>,
    matrices: [Matrix<'k>; N],
    part: Val<'k, u32, uni::Warp>,
    split: u32,
) -> Products<'k, N> {
    match x {
        Ready::Half { halves, scales } => {
            let sums = half(warp, source, halves, &matrices, part, split);
            let mut pairs = Vec::new();
            for tile in 0..2 {
                let mut places = Vec::new();
                let values = std::array::from_fn::<_, N, _>(|matrix| {
                    let mut own = Vec::new();
                    places.clear();
                    sums[matrix][tile].each_pair(warp, |row, column, values| {
                        places.push((row + 16 * tile as u32, column));
                        // Columns behind the last row of x are not stored.
                        let scale = |side: u32| scales.at((column + side).min(source.rows - 1));
                        own.push([values[0] * scale(0), values[1] * scale(1)]);
                    });
                    own
                });
                for (at, (row, column)) in places.into_iter().enumerate() {
                    pairs.push((row, column, values.each_ref().map(|own| own[at])));
                }
            }
            Products::Pairs(pairs)
        }
        Ready::Bytes { .. } | Ready::Single(_) => {
            let placed = matrices.map(|Matrix { layout, planes }| Placed {
                layout,
                planes: planes.placed(layout),
            });
            Products::Lanes(dots(warp, source, x, &placed, part, split))
        }
    }
}

/// A [`Matrix`] with the lane's row in its addresses.
#[derive(Clone, Copy)]
struct Placed<'k> {
    layout: Layout,
    planes: PlaneRow<'k>,
}

/// Sums over the groups of share `part` of `split`, in ascending order.
fn dots<'k>(
    warp: &mut Warp<'k>,
    source: &Source,
    x: Ready<'_, 'k>,
    matrices: &[Placed<'k>],
    part: Val<'k, u32, uni::Warp>,
    split: u32,
) -> Sums<'k> {
    let (groups, rows) = (source.groups(), source.rows);
    let zero = vec![Val::constant(0.0); matrices.len() * rows as usize];
    match x {
        Ready::Bytes { words, scales } => {
            // Groups of one round: addresses and loop are paid for once.
            let unroll = match rows * matrices.len() as u32 {
                0..=2 => 4,
                3..=4 => 2,
                _ => 1,
            };
            let whole = groups / unroll * unroll;
            let step = |group: Val<'k, u32, uni::Warp>, count: u32, sums: Sums<'k>| {
                let (words, scales) = (words.from(group * 8), scales.from(group * 4));
                (0..count).fold(sums, |sums, ahead| {
                    let row = |r: u32| {
                        let at = |half: u32| (r * groups + ahead) * 8 + 4 * half;
                        let words = [0, 1].map(|half| words.words::<4, _>(at(half)).map(Val::into));
                        let scales = scales.vector::<4, _>((r * groups + ahead) * 4);
                        (words, scales.map(Val::into))
                    };
                    let rows: Vec<_> = (0..rows).map(row).collect();
                    let mut sums = sums.into_iter();
                    let mut all = Vec::new();
                    for Placed { layout, planes } in matrices {
                        let planes = planes.ahead(*layout, ahead);
                        let codes = planes.group_codes(*layout, group);
                        let own = planes.group_scales(*layout, group);
                        all.extend(rows.iter().zip(&mut sums).map(|((words, scales), sum)| {
                            add_group(*layout, &codes, own, *words, *scales, sum)
                        }));
                    }
                    all
                })
            };
            let chunks = steps(part * unroll, whole, split * unroll);
            let sums = warp.fold(chunks, zero, |_, group, sums| step(group, unroll, sums));
            if whole == groups {
                return sums;
            }
            let rest = steps(part + whole, groups, split);
            warp.fold(rest, sums, |_, group, sums| step(group, 1, sums))
        }
        Ready::Half { .. } => unreachable!("tensor cores have sums of their own"),
        Ready::Single(view) => warp.fold(steps(part, groups, split), zero, |_, group, sums| {
            let x = view.from(group * GROUP);
            single(matrices, rows, groups, group, x, sums)
        }),
    }
}

/// Adds a group in f32; each product is fused with its addition, columns in ascending order.
fn single<'k>(
    matrices: &[Placed<'k>],
    rows: u32,
    groups: u32,
    group: Val<'k, u32, uni::Warp>,
    x: View<'_, 'k, f32>,
    mut sums: Sums<'k>,
) -> Sums<'k> {
    for (Placed { layout, planes }, sums) in matrices.iter().zip(sums.chunks_mut(rows as usize)) {
        let weights = planes.group_values(*layout, group);
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
    part: Val<'k, u32, uni::Warp>,
    split: u32,
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
            let right: Vec<FragB<f16>> = [0u32, 16]
                .into_iter()
                .map(|depth| {
                    FragB::from_words([0, 8].map(|k| {
                        let [word] = x.words::<1, _>(depth + k);
                        word.varying()
                    }))
                })
                .collect();
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
