//! Products of weights of any layout with f32 activations, in f32 throughout.

use super::spread::{Bounds, Spread, Sums, WarpShare};
use crate::{
    epilogue::{Epilogue, Outputs},
    quantize::Columns,
    values::OfWarp,
    weights::{GROUP, Layout, PlaneRow, Planes, layout_name},
};
use warpsmith_kernel::{Cta, Global, InKernel, Kernel, LaunchError, Read, Scope, args, steps};

args! {
    /// `x` is f32 `[m, columns]`, `W` is `[n, columns]` in the planes of its layout, `y` is f32 `[m, n]`.
    pub struct GemvF32Args {
        x: In<f32>[out.m, columns],
        w: Group<Planes>,
        out: Group<Outputs>,
         columns: Scalar<u32>,
    }
}

/// The kernel: a layout, a spread, an epilogue. Weights are the values of the scalar dequantisation; each product is
/// fused with its addition, columns in ascending order within a warp, then the warps' sums in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GemvF32 {
    /// Layout of `W`.
    pub layout: Layout,
    /// How `x` is read.
    pub columns: Columns,
    /// Rows and warps.
    pub spread: Spread,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl Kernel for GemvF32 {
    type Args = GemvF32Args;

    fn name(&self) -> String {
        let (layout, spread) = (layout_name(self.layout), self.spread.suffix());
        let (columns, epilogue) = (self.columns.suffix(), self.epilogue.suffix());
        format!("gemv_f32_{layout}_{spread}{columns}{epilogue}")
    }

    fn threads(&self) -> u32 {
        self.spread.warps() * 32
    }

    fn resized(&self, threads: u32) -> Option<Self> {
        Some(Self {
            spread: self.spread.resized(threads / 32)?,
            ..self.clone()
        })
    }

    fn grid(&self, a: &GemvF32Args) -> Result<u64, LaunchError> {
        self.columns.check(a.columns)?;
        a.w.check(self.layout, a.out.n, a.columns)?;
        Ok(self.spread.ctas(a.out.m, a.out.n))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemvF32Args<InKernel<'k>>) {
        let bounds = Bounds {
            m: a.out.m,
            n: a.out.n,
            blocks: a.w.blocks,
            groups: a.columns / GROUP,
        };
        let lane = cta.in_warps(|warp| warp.lane());
        let prepare = |place: WarpShare<'k>| {
            let row = |r: u32| a.x.row((place.first + r).min(a.out.m - 1));
            let rows: Vec<Global<'k, f32, Read>> = (0..self.spread.rows).map(row).collect();
            let planes = a.w.row(place.block, lane).placed(self.layout);
            (planes, rows)
        };
        self.spread.run(
            cta,
            &bounds,
            1,
            prepare,
            |(planes, rows), group, _, sums| {
                self.group_step(*planes, group, rows, sums, |x, group, at| {
                    let x = x.from(group * GROUP);
                    match self.columns {
                        Columns::Quads => x.vector::<4, _>(at),
                        Columns::Any => [0, 1, 2, 3].map(|i| x.at(at + i)),
                    }
                })
            },
            |warp, place, (planes, rows), sums| {
                if self.layout.is_quantised() {
                    return sums;
                }
                // What is left of an unquantised row; behind its end x counts as zero.
                let rest = steps(
                    place.part + bounds.groups,
                    a.columns.div_ceil(GROUP),
                    self.spread.split,
                );
                warp.fold(rest, sums, |_, group, sums| {
                    self.group_step(*planes, group, rows, sums, |x, group, at| {
                        [0, 1, 2, 3].map(|i| {
                            let column = group * GROUP + (at + i);
                            let value = x.at(column.min(a.columns - 1));
                            column.lt(a.columns).select(value, 0.0)
                        })
                    })
                })
            },
            |_, row, column, sum| {
                a.out.set(self.epilogue, row, column, sum);
            },
        );
    }
}

impl GemvF32 {
    fn group_step<'k>(
        &self,
        planes: PlaneRow<'k>,
        group: OfWarp<'k, u32>,
        rows: &[Global<'k, f32, Read>],
        sums: Sums<'k>,
        read: impl Fn(Global<'k, f32, Read>, OfWarp<'k, u32>, u32) -> [OfWarp<'k, f32>; 4],
    ) -> Sums<'k> {
        let weights = planes.group_values(self.layout, group, None);
        let mut sums = sums;
        for (x, sum) in rows.iter().zip(&mut sums) {
            // All of x first: then the multiply-adds of a sum follow each other.
            let x: [_; GROUP as usize / 4] =
                std::array::from_fn(|quad| read(*x, group, 4 * quad as u32));
            for (w, x) in weights.iter().zip(x.as_flattened()) {
                *sum = w.mul_add(*x, *sum);
            }
        }
        sums
    }
}
