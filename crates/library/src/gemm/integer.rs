//! `y = epilogue(x W^T)` of quantised weights with `mma` on bytes: exact integer sums in groups, f32 across them.

use crate::{
    epilogue::{Epilogue, Outputs},
    gemv::add_term,
    quantize::{EIGHT, FRAGMENT},
    values::F32,
    weights::{
        Affine, BLOCK, BlockCodes, GROUP, GroupScales, Layout, PlaneRow, Planes, layout_name,
    },
};
use warpsmith_kernel::{
    BuildError, Cta, Global, Hardware, InKernel, Kernel, LaunchError, Read, Scope, Slots, Val,
    Warp, args, require, steps, uni,
};
use warpsmith_ptx::target::Target;

args! {
    /// `fragments` is that of `quantize::QuantizeTilesArgs`, `W` is `[n, 32 groups]` in the planes of its layout, `y` is f32
    /// `[m, n]`.
    pub struct GemmIntArgs {
        fragments: In<u32>[tiles, tile_words],
        w: Group<Planes>,
        out: Group<Outputs>,
         tiles: Scalar<u32>, tile_words: Scalar<u32>,
    }
}

/// How the rows of x and of W are spread over warps: each has 32 rows of W and `8 eights` rows of x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Eights {
    /// Eights of rows of x: weights are decoded once for all of them.
    pub eights: u32,
    /// Warps that share the groups of a block of 32 rows of W.
    pub split: u32,
    /// Blocks of a CTA.
    pub blocks: u32,
}

/// The most eights of a warp: 16 sums a lane for each pair.
const MOST: u32 = 4;

impl Eights {
    /// The eights of a tile for `m` rows of x: as few tiles as there can be, and little left over.
    pub fn of_rows(m: u32) -> u32 {
        let eights = m.div_ceil(EIGHT).max(1);
        eights.div_ceil(eights.div_ceil(MOST))
    }

    /// For `m` rows of x and `n` by `k` weights on some hardware.
    ///
    /// A block is one warp where there are tiles enough to fill the machine; otherwise up to 8 warps share one, each with
    /// 8 groups at least.
    pub fn choose(m: u32, n: u32, k: u32, hardware: Hardware) -> Eights {
        let eights = Self::of_rows(m);
        if hardware.is_virtual() {
            return Eights {
                eights,
                split: 1,
                blocks: 1,
            };
        }
        let tiles = n.div_ceil(BLOCK).max(1) * m.div_ceil(EIGHT * eights);
        // A multiprocessor hides its latencies with some 16 warps.
        let wanted = hardware.sms * 16;
        let mut split = 1;
        while split < 8 && tiles * split < wanted && k / GROUP >= 16 * split {
            split *= 2;
        }
        Eights {
            eights,
            split,
            blocks: 4 / split.min(4),
        }
    }

    fn warps(self) -> u32 {
        self.split * self.blocks
    }
}

/// The kernel: a quantised layout, a spread, an epilogue.
///
/// `y^T = W x^T`: rows of W are the left operand, read as they lie in their planes, rows of x the right one, as
/// `quantize::QuantizeTiles` lays them. A lane's sums have the bits of [`GemvQ8`](crate::gemv::GemvQ8) with the same split.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GemmInt {
    /// Layout of `W`.
    pub layout: Layout,
    /// Rows and warps.
    pub spread: Eights,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl GemmInt {
    /// The first architecture that multiplies bytes.
    pub const FIRST_SM: u16 = 75;
}

/// One for each eight rows of x, each row that a lane has of W, and each of two rows of x.
type Sums<'k> = Vec<F32<'k>>;

impl Kernel for GemmInt {
    type Args = GemmIntArgs;

    fn name(&self) -> String {
        let Eights {
            eights,
            split,
            blocks,
        } = self.spread;
        let (layout, epilogue) = (layout_name(self.layout), self.epilogue.suffix());
        format!("gemm_int_{layout}_{eights}{split}{blocks}{epilogue}")
    }

    fn threads(&self) -> u32 {
        self.spread.warps() * 32
    }

    fn resized(&self, threads: u32) -> Option<Self> {
        let (warps, split) = (threads / 32, self.spread.split);
        let spread = Eights {
            blocks: warps / split,
            ..self.spread
        };
        warps.is_multiple_of(split).then(|| Self {
            spread,
            ..self.clone()
        })
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        let feature = if !self.layout.is_quantised() {
            "quantised weights"
        } else if self.layout.code_type().is_signed() && !self.layout.scale_is_whole() {
            "codes without a sign where halves of groups have scales of their own"
        } else if target.sm < Self::FIRST_SM {
            "mma.m8n8k16"
        } else {
            return Ok(());
        };
        Err(BuildError::Unsupported {
            kernel: self.name(),
            target,
            feature,
        })
    }

    fn grid(&self, a: &GemmIntArgs) -> Result<u64, LaunchError> {
        let Eights { eights, blocks, .. } = self.spread;
        let (each, words) = (eights * FRAGMENT, a.tile_words);
        let whole = words.is_multiple_of(each) && words / each < 1 << 19;
        let expected = "96 for each eight rows of a group of 32, below 2^19 groups";
        require(whole, "tile_words", words.into(), expected)?;
        let tiles = a.tiles == a.out.m.div_ceil(EIGHT * eights);
        let expected = "the rows of x in whole tiles";
        require(tiles, "tiles", a.tiles.into(), expected)?;
        a.w.check(self.layout, a.out.n, words / each * GROUP)?;
        Ok(u64::from(a.tiles) * u64::from(a.w.blocks.div_ceil(blocks)))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemmIntArgs<InKernel<'k>>) {
        let Eights {
            eights,
            split,
            blocks,
        } = self.spread;
        // CTAs beside each other have the same rows of W.
        let (tile, unit) = (cta.id() % a.tiles, cta.id() / a.tiles);
        // With one warp everything is known to be the same in the CTA, without asking for the warp's index.
        let (at, part) = if self.spread.warps() == 1 {
            (unit.into(), Val::constant(0))
        } else {
            cta.in_warps(|warp| (warp.id() / split + unit * blocks, warp.id() % split))
        };
        // Blocks past the last repeat it and are not stored.
        let block = at.min(a.w.blocks - 1);
        let groups = a.tile_words / (eights * FRAGMENT);
        let sums = cta.in_warps(|warp| {
            let lane = warp.lane();
            // Lane `4 g + t` has sums of rows g, g + 8, g + 16, g + 24 of W and of rows 2 t, 2 t + 1 of each eight of x.
            let (g, t) = (lane >> 2, lane & 3);
            let place = Beginning {
                rows: [0, 8, 16, 24].map(|down| g + down),
                planes: [0, 8, 16, 24].map(|plane| [plane, plane + 1].map(|at| (t << 1) + at)),
                codes: BlockCodes::of(self.layout, a.w.codes.row(block), a.w.high.row(block), lane),
                scales: a.w.row(block, lane).placed(self.layout),
                x: a.fragments.row(tile).from(lane),
            };
            let zero = vec![Val::constant(0.0); 8 * eights as usize];
            warp.fold(steps(part, groups, split), zero, |warp, group, sums| {
                self.group(warp, &place, group, sums)
            })
        });
        let first = tile * (EIGHT * eights);
        let rows = (a.out.m - first).min(EIGHT * eights);
        let column = block * BLOCK + cta.in_warps(|warp| warp.lane());
        let mine = column.lt(a.out.n) & at.lt(a.w.blocks);
        self.turned(cta, sums, part, rows, |warp, row, sum| {
            let row = first + row;
            warp.if_(mine, |_| {
                a.out.set(self.epilogue, row, column, sum);
            });
        });
    }
}

/// What a warp knows before its first group.
struct Beginning<'k> {
    /// The lanes that have the scales of the lane's rows of W.
    rows: [Val<'k, u32>; 4],
    /// The lanes that have what each plane says of the lane's two rows of x.
    planes: [[Val<'k, u32>; 2]; 4],
    codes: BlockCodes<'k>,
    /// The scales of the lane's row.
    scales: PlaneRow<'k>,
    /// The lane's words.
    x: Global<'k, u32, Read, uni::Lane>,
}

impl GemmInt {
    /// Adds a group to each sum.
    fn group<'k>(
        &self,
        warp: &mut Warp<'k>,
        place: &Beginning<'k>,
        group: Val<'k, u32, uni::Warp>,
        mut sums: Sums<'k>,
    ) -> Sums<'k> {
        let (layout, eights) = (self.layout, self.spread.eights);
        let codes = place.codes.group(group);
        let scales = match place.scales.group_scales(layout, group) {
            GroupScales::Whole(scale) => vec![scale],
            GroupScales::Halves(halves) => halves.to_vec(),
        };
        let scales: Vec<[Affine<'k>; 4]> = scales
            .into_iter()
            .map(|own| {
                place.rows.map(|row| Affine {
                    d: warp.shuffle(own.d, row),
                    m: own.m.map(|m| warp.shuffle(m, row)),
                })
            })
            .collect();
        let x = place.x.from(group * (eights * FRAGMENT));
        for (eight, sums) in sums.chunks_exact_mut(8).enumerate() {
            let word = |at: u32| x.at(FRAGMENT * eight as u32 + at);
            let (b, own) = ([word(0), word(32)], word(64));
            let plane = |warp: &mut Warp<'k>, plane: usize| {
                place.planes[plane].map(|from| warp.shuffle(own, from))
            };
            let dx = plane(warp, 0).map(Val::as_f32);
            if let [scales] = &scales[..] {
                let all = plane(warp, 3);
                let all = [0, 1].map(|side| dx[side] * all[side].as_i32().f32());
                let zero = [Val::constant(0); 4];
                let dots = codes.map(|codes| warp.mma_bytes(codes, b, zero));
                add(layout, sums, scales, dots, dx, all);
            } else {
                for (half, scales) in scales.iter().enumerate() {
                    let sum = plane(warp, 1 + half).map(Val::as_f32);
                    let zero = [Val::constant(0); 4];
                    let dots = codes.map(|codes| warp.mma_bytes([codes[half]], [b[half]], zero));
                    add(layout, sums, scales, dots, dx, sum);
                }
            }
        }
        sums
    }

    /// Hands each of `rows` rows of x to `store(warp, row, sum)`: lane r has the sum of row r of the block.
    fn turned<'k>(
        &self,
        cta: &mut Cta<'k>,
        sums: Sums<'k>,
        part: Val<'k, u32, uni::Warp>,
        rows: Val<'k, u32, uni::Cta>,
        store: impl FnOnce(&mut Warp<'k>, Val<'k, u32, uni::Warp>, F32<'k>),
    ) {
        let Eights { eights, split, .. } = self.spread;
        let (warps, width) = (self.spread.warps(), EIGHT * eights * PITCH);
        let (lane, own) = cta.in_warps(|warp| {
            let id = if warps == 1 {
                Val::constant(0)
            } else {
                warp.id()
            };
            (warp.lane(), id * width)
        });
        let mut tile = cta.tile::<f32>(warps * width);
        let put = |slots: Slots<'_, 'k, f32>| {
            let (g, t) = (lane >> 2, lane & 3);
            let slots = slots.from(own + (t * (2 * PITCH) + g));
            for (at, sum) in (0..).zip(&sums) {
                let (eight, down, side) = (at / 8, at / 2 % 4, at % 2);
                slots.set((8 * eight + side) * PITCH + 8 * down, *sum);
            }
        };
        let view = if split == 1 {
            // A warp reads what it has written itself.
            cta.in_warps(|warp| tile.fill_warp(warp, |_, slots| put(slots)))
        } else {
            tile.fill(cta, |_, slots| put(slots))
        };
        cta.each_warp(|warp| {
            let from = view.from(own - part * width + lane);
            warp.for_(steps(part, rows, split), |warp, row| {
                let from = from.from(row * PITCH);
                let of = |part: u32| from.at(part * width).varying();
                let sum = (1..split).fold(of(0), |sum, part| sum + of(part));
                store(warp, row, sum);
            });
        });
    }
}

/// Elements from one row of x to the next in shared memory: four more than rows of W, against bank conflicts.
const PITCH: u32 = BLOCK + 4;

/// Adds the products of (half) a group to the sums of eight rows of x; `dots` are those of 16 rows of W each.
fn add<'k>(
    layout: Layout,
    sums: &mut [F32<'k>],
    scales: &[Affine<'k>; 4],
    dots: [[Val<'k, i32>; 4]; 2],
    dx: [F32<'k>; 2],
    s: [F32<'k>; 2],
) {
    let zero = layout.unsigned_zero();
    for (down, scale) in scales.iter().enumerate() {
        for side in 0..2 {
            let dot = dots[down / 2][2 * (down % 2) + side].f32();
            let sum = &mut sums[2 * down + side];
            *sum = add_term(zero, *sum, *scale, dot, dx[side], s[side]);
        }
    }
}
