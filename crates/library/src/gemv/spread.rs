//! How a product with few rows is spread over warps, and the loop that all kernels of this kind share.

use crate::weights::BLOCK;
use warpsmith_kernel::{Cta, Hardware, Lane, Scope, Val, Warp, steps, uni};

/// A CTA has `blocks` blocks of 32 rows of W, each with `split` warps that share its groups, and `rows` rows of x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spread {
    /// Rows of x that are multiplied together: weights are read once for all of them.
    pub rows: u32,
    /// Warps that share the groups of a block.
    pub split: u32,
    /// Blocks of 32 rows of W.
    pub blocks: u32,
}

impl Spread {
    /// For `m` rows of x and `n` by `k` weights on some hardware.
    ///
    /// A block is one warp where there are blocks enough to fill the machine; otherwise up to 8 warps share one, each with
    /// 8 groups at least. On the virtual GPU, where there may be any number of rows, a warp has up to 16 of them, and all
    /// have as many.
    pub fn choose(m: u32, n: u32, k: u32, hardware: Hardware) -> Spread {
        let rows = if hardware.is_virtual() {
            let m = m.max(1);
            m.div_ceil(m.div_ceil(16))
        } else {
            m.clamp(1, 8).next_power_of_two()
        };
        let blocks = n.div_ceil(BLOCK).max(1);
        // A multiprocessor hides its latencies with some 16 warps; the virtual GPU has one warp at a time.
        let wanted = if hardware.is_virtual() {
            1
        } else {
            hardware.sms * 16
        };
        let mut split = 1;
        while split < 8 && blocks * split < wanted && k / 32 >= 16 * split {
            split *= 2;
        }
        let per_cta = if hardware.is_virtual() {
            1
        } else {
            4 / split.min(4)
        };
        Spread {
            rows,
            split,
            blocks: per_cta,
        }
    }

    /// The same for CTAs of `warps` warps, with as many or, where there are too few, all of them for a block.
    pub(crate) fn resized(self, warps: u32) -> Option<Spread> {
        let split = self.split.min(warps);
        let whole = split > 0 && warps.is_multiple_of(split);
        whole.then(|| Spread {
            split,
            blocks: warps / split,
            ..self
        })
    }

    /// Warps of a CTA.
    pub(crate) fn warps(self) -> u32 {
        self.split * self.blocks
    }

    /// What shows of it in a kernel's name.
    pub(crate) fn suffix(self) -> String {
        let Spread {
            rows,
            split,
            blocks,
        } = self;
        format!("{rows}{split}{blocks}")
    }

    /// CTAs for a product of `m` rows with `n` rows of W.
    pub(crate) fn ctas(self, m: u32, n: u32) -> u64 {
        u64::from(m.div_ceil(self.rows)) * u64::from(n.div_ceil(BLOCK).div_ceil(self.blocks))
    }
}

/// The sizes of a product inside a kernel.
pub(crate) struct Bounds<'k> {
    pub(crate) m: Val<'k, u32, uni::Cta>,
    pub(crate) n: Val<'k, u32, uni::Cta>,
    /// Blocks of 32 rows of W.
    pub(crate) blocks: Val<'k, u32, uni::Cta>,
    /// Whole groups of a row.
    pub(crate) groups: Val<'k, u32, uni::Cta>,
}

/// What a warp works on.
#[derive(Clone, Copy)]
pub(crate) struct WarpShare<'k> {
    /// Block of 32 rows of W.
    pub(crate) block: Val<'k, u32, uni::Warp>,
    /// First row of x.
    pub(crate) first: Val<'k, u32, uni::Cta>,
    /// Which share of the groups.
    pub(crate) part: Val<'k, u32, uni::Warp>,
}

/// One sum for each row of x.
pub(crate) type Sums<'k> = Vec<Val<'k, f32>>;

impl Spread {
    /// Sums over groups and hands each result to `store(lane, row of x, column, sum)`.
    ///
    /// Warp `part` of `split` takes chunks of `unroll` groups in turn, in ascending order; their sums are added in the
    /// order of the parts. `prepare(place)` is what a warp knows before its first group; `step(known, group, ahead, sums)`
    /// adds group `group + ahead`; `tail(warp, place, known, sums)` adds what is left behind the whole groups.
    pub(crate) fn run<'k, W>(
        self,
        cta: &mut Cta<'k>,
        bounds: &Bounds<'k>,
        unroll: u32,
        prepare: impl FnOnce(WarpShare<'k>) -> W,
        step: impl Fn(&W, Val<'k, u32, uni::Warp>, u32, Sums<'k>) -> Sums<'k>,
        tail: impl FnOnce(&mut Warp<'k>, WarpShare<'k>, &W, Sums<'k>) -> Sums<'k>,
        store: impl Fn(&mut Lane<'k>, Val<'k, u32>, Val<'k, u32>, Val<'k, f32>),
    ) {
        let tiles = bounds.blocks.div_ceil(self.blocks);
        let (tile, first) = (cta.id() % tiles, (cta.id() / tiles) * self.rows);
        // With one warp everything is known to be the same in the CTA, without asking for the warp's index.
        let (at, part) = if self.warps() == 1 {
            (tile.into(), Val::constant(0))
        } else {
            cta.in_warps(|warp| {
                let within = warp.id() / self.split;
                (within + tile * self.blocks, warp.id() % self.split)
            })
        };
        // Blocks past the last repeat it and are not stored.
        let block = at.min(bounds.blocks - 1);
        let place = WarpShare { block, first, part };
        let sums = cta.in_warps(|warp| {
            let known = prepare(place);
            let zero = vec![Val::constant(0.0); self.rows as usize];
            let whole = (bounds.groups / unroll) * unroll;
            let chunks = steps(part * unroll, whole, self.split * unroll);
            let sums = warp.fold(chunks, zero, |_, group, sums| {
                (0..unroll).fold(sums, |sums, ahead| step(&known, group, ahead, sums))
            });
            let sums = if unroll > 1 {
                let rest = steps(part + whole, bounds.groups, self.split);
                warp.fold(rest, sums, |_, group, sums| step(&known, group, 0, sums))
            } else {
                sums
            };
            tail(warp, place, &known, sums)
        });
        let sums = self.combine(cta, place, sums);
        cta.each_warp(|warp| {
            let column = (block * BLOCK) + warp.lane();
            let mine = column.lt(bounds.n) & at.lt(bounds.blocks) & part.equals(0);
            warp.if_(mine, |lane| {
                for (r, sum) in sums.into_iter().enumerate() {
                    let row = first + r as u32;
                    let write = |lane: &mut Lane<'k>| store(lane, row.varying(), column, sum);
                    if r == 0 {
                        write(lane);
                    } else {
                        lane.if_(row.lt(bounds.m), write);
                    }
                }
            });
        });
    }

    fn combine<'k>(self, cta: &mut Cta<'k>, place: WarpShare<'k>, sums: Sums<'k>) -> Sums<'k> {
        if self.split == 1 {
            return sums;
        }
        let width = self.rows * BLOCK;
        let mut tile = cta.tile::<f32>(self.warps() * width);
        let view = tile.fill(cta, |cta, slots| {
            cta.each_warp(|warp| {
                let own = warp.id() * width + warp.lane();
                for (r, sum) in sums.iter().enumerate() {
                    slots.set(own + r as u32 * BLOCK, *sum);
                }
            });
        });
        cta.in_warps(|warp| {
            let start = view.from((warp.id() - place.part) * width + warp.lane());
            let sum = |r: u32| {
                let part = |part: u32| start.at(part * width + r * BLOCK).varying();
                (1..self.split).fold(part(0), |sum, next| sum + part(next))
            };
            (0..self.rows).map(sum).collect()
        })
    }
}
