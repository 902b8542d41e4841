//! How the rows of W of a projection are spread over CTAs and warps, for any number of warps.

use super::{
    dot::{Matrix, Products, Share, products},
    first::{First, Following},
    source::{Ready, Source},
};
use crate::{
    values::OfWarp,
    weights::{BLOCK, Layout},
};
use warpsmith_kernel::{Cta, Hardware, Lane, Scope, Val, Warp, steps, uni, upto};

/// A CTA has `each` units of rows of W; `split` warps share the groups of a block of 32 rows.
///
/// Products depend on `split` alone: a CTA of any size adds them up in the same order. Means and squares of norms are summed
/// over its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// Units of a CTA.
    pub each: u32,
    /// Shares of the groups of a row.
    pub split: u32,
    /// Warps of a CTA, where it is a launch of its own.
    pub warps: u32,
}

/// The most warps of a CTA.
const WARPS: u32 = 16;

impl Work {
    /// For `units` of one block of 32 rows, all of a CTA's multiplied at once.
    ///
    /// About two CTAs to a multiprocessor, as each makes the rows of x ready for itself; four on the
    /// virtual GPU, whose multiprocessors have one warp at a time.
    pub fn of_blocks(units: u32, source: &Source, hardware: Hardware) -> Work {
        if hardware.is_virtual() {
            return Work {
                each: units.div_ceil(4 * hardware.sms.max(1)).max(1),
                split: 1,
                warps: 1,
            };
        }
        let each = (units / (2 * hardware.sms)).max(1);
        Self::spread(units.div_ceil(each), [each, each], source, hardware)
    }

    /// For `units` of `unit` blocks of 32 rows, a CTA each.
    pub fn of_units(units: u32, unit: u32, source: &Source, hardware: Hardware) -> Work {
        if hardware.is_virtual() {
            return Work {
                each: 1,
                split: 1,
                warps: 1,
            };
        }
        Self::spread(units, [1, unit], source, hardware)
    }

    fn spread(ctas: u32, [each, at_once]: [u32; 2], source: &Source, hardware: Hardware) -> Work {
        // A multiprocessor hides its latencies with some 16 warps. Sums of a CTA take at most 16 KiB for two matrices.
        let wanted = (16 * hardware.sms).div_ceil(ctas.max(1)).clamp(4, WARPS);
        let mut split = 1;
        while split * at_once < wanted
            && source.groups() >= 16 * split
            && 2 * split * at_once * source.rows <= 64
        {
            split *= 2;
        }
        Work {
            each,
            split,
            warps: (split * at_once).clamp(1, WARPS),
        }
    }

    /// What shows of it in a kernel's name.
    pub(super) fn suffix(self) -> String {
        let Work { each, split, warps } = self;
        format!("_{each}_{split}_{warps}")
    }

    pub(super) fn threads(self) -> u32 {
        self.warps * 32
    }

    /// The same tiles for CTAs of `threads` threads.
    pub(super) fn resized(self, threads: u32) -> Work {
        Work {
            warps: threads / 32,
            ..self
        }
    }

    /// What a warp takes first of its first unit, where it is fetched ahead.
    pub(super) fn first(self, source: &Source, layouts: &[Layout]) -> Option<First> {
        First::of(source, layouts, self.split)
    }

    /// [`Kernel::pieces_ahead`](warpsmith_kernel::Kernel::pieces_ahead) of products by matrices of these layouts.
    pub(super) fn pieces_ahead(self, source: &Source, layouts: &[Layout]) -> u32 {
        let first = self.first(source, layouts);
        first.map_or(0, |first| first.pieces(layouts))
    }

    /// Blocks and shares of the CTA: their number, and the number after those that are there.
    fn units<'k>(self, range: Range<'k>) -> (u32, OfWarp<'k>) {
        let end = match range.past {
            Past::Repeat => Val::constant(range.count * self.split),
            Past::Skip => ((range.blocks - range.first).min(range.count) * self.split).into(),
        };
        (range.count * self.split, end)
    }

    /// Unit `unit`: its block of the CTA, that of the matrix, and its share.
    fn unit<'k>(self, range: Range<'k>, unit: OfWarp<'k>) -> (OfWarp<'k>, OfWarp<'k>, Share<'k>) {
        let split = self.split;
        let (at, part) = if split == 1 {
            (unit, Val::constant(0))
        } else {
            (unit / split, unit % split)
        };
        let block = (at + range.first).min(range.blocks - 1);
        (at, block, Share { part, split })
    }

    /// Begins to fetch what each warp of the CTA multiplies by first in [`Work::blocks`].
    pub(super) fn fetch<'k, const N: usize>(
        self,
        cta: &mut Cta<'k>,
        source: &Source,
        layouts: [Layout; N],
        range: Range<'k>,
        matrices: impl Fn(OfWarp<'k>) -> [Matrix<'k>; N],
    ) {
        let (Some(ahead), Some(first)) = (cta.ahead(), self.first(source, &layouts)) else {
            return;
        };
        let (_, end) = self.units(range);
        cta.each_warp(|warp| {
            let id = warp.id();
            warp.if_all(id.lt(end), |_| {
                let (_, block, share) = self.unit(range, id);
                first.fetch(source, matrices(block), share.part, ahead);
            });
        });
    }

    /// Hands the products of each block and share to `store(warp, block of the CTA, share, products)`.
    pub(super) fn blocks<'k, const N: usize>(
        self,
        cta: &mut Cta<'k>,
        source: &Source,
        x: Ready<'_, 'k>,
        layouts: [Layout; N],
        range: Range<'k>,
        matrices: impl Fn(OfWarp<'k>) -> [Matrix<'k>; N],
        store: impl Fn(&mut Warp<'k>, OfWarp<'k>, OfWarp<'k>, Products<'k, N>),
    ) {
        let (warps, (units, end)) = (cta.warps(), self.units(range));
        let ahead = cta.ahead().zip(self.first(source, &layouts));
        cta.each_warp(|warp| {
            let one = |warp: &mut Warp<'k>, unit: OfWarp<'k>| {
                let (at, block, share) = self.unit(range, unit);
                let next = |warp: &mut Warp<'k>| {
                    let Some((ahead, first)) = ahead.filter(|_| units > warps) else {
                        return;
                    };
                    let unit = unit + warps;
                    warp.if_all(unit.lt(end), |_| {
                        let (_, block, share) = self.unit(range, unit);
                        first.fetch(source, matrices(block), share.part, ahead);
                    });
                };
                let following = ahead.map(|(ahead, first)| Following {
                    first,
                    ahead,
                    next: &next,
                });
                let own = products(warp, source, x, matrices(block), share, following);
                store(warp, at, share.part, own);
            };
            match (units, warps) {
                (1, 1) => one(warp, Val::constant(0)),
                (_, 1) => warp.for_(upto(end), one),
                _ if units <= warps => {
                    let id = warp.id();
                    warp.if_all(id.lt(end), |warp| one(warp, id));
                }
                _ => warp.for_(steps(warp.id(), end, warps), one),
            }
        });
    }

    /// The CTA's blocks in [`Work::run`].
    pub(super) fn own<'k>(self, cta: &Cta<'k>, blocks: Val<'k, u32, uni::Cta>) -> Range<'k> {
        Range {
            first: cta.id() * self.each,
            count: self.each,
            blocks,
            past: Past::Skip,
        }
    }

    /// Hands the sums of each of the CTA's rows of W to `finish(lane, row of x, row of W, a sum for each matrix)`.
    pub(super) fn run<'k, const N: usize>(
        self,
        cta: &mut Cta<'k>,
        source: &Source,
        x: Ready<'_, 'k>,
        layouts: [Layout; N],
        [n, blocks]: [Val<'k, u32, uni::Cta>; 2],
        matrices: impl Fn(OfWarp<'k>) -> [Matrix<'k>; N],
        finish: impl Fn(&mut Lane<'k>, Val<'k, u32>, Val<'k, u32>, [Val<'k, f32>; N]),
    ) {
        let rows = source.rows;
        let range = self.own(cta, blocks);
        if self.split == 1 {
            let store =
                |warp: &mut Warp<'k>, at: OfWarp<'k>, _: OfWarp<'k>, own: Products<'k, N>| {
                    let start = (at + range.first) * BLOCK;
                    own.each(warp, rows, |lane, r, row, values| {
                        let column = row + start;
                        lane.if_(column.lt(n), |lane| finish(lane, r, column, values));
                    });
                };
            return self.blocks(cta, source, x, layouts, range, matrices, store);
        }
        let tile_rows = rows * BLOCK;
        let count = self.each * self.split * tile_rows;
        let mut tile = cta.tile::<f32>(count * N as u32);
        let sums = tile.fill(cta, |cta, slots| {
            let store =
                |warp: &mut Warp<'k>, at: OfWarp<'k>, part: OfWarp<'k>, own: Products<'k, N>| {
                    let start = (at * self.split + part) * tile_rows;
                    own.each(warp, rows, |_, r, row, values| {
                        let own = row + start + r * BLOCK;
                        for (matrix, value) in values.into_iter().enumerate() {
                            slots.set(own + matrix as u32 * count, value);
                        }
                    });
                };
            self.blocks(cta, source, x, layouts, range, matrices, store);
        });
        cta.each(self.each * tile_rows, |lane, i| {
            let (at, within) = (i / tile_rows, i % tile_rows);
            let column = (at + range.first) * BLOCK + within % BLOCK;
            let from = sums.from(at * (self.split * tile_rows) + within);
            lane.if_(column.lt(n), |lane| {
                let own = std::array::from_fn(|matrix| {
                    let part =
                        |part: u32| from.at(matrix as u32 * count + part * tile_rows).varying();
                    (1..self.split).fold(part(0), |sum, next| sum + part(next))
                });
                finish(lane, within / BLOCK, column, own);
            });
        });
    }
}

/// Blocks of 32 rows that a CTA has.
#[derive(Clone, Copy)]
pub(super) struct Range<'k> {
    pub(super) first: Val<'k, u32, uni::Cta>,
    pub(super) count: u32,
    /// Blocks of the whole matrix.
    pub(super) blocks: Val<'k, u32, uni::Cta>,
    pub(super) past: Past,
}

/// What stands for blocks past the last.
#[derive(Clone, Copy)]
pub(super) enum Past {
    /// The last one again.
    Repeat,
    /// Nothing.
    Skip,
}
