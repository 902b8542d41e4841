//! Products of quantised weights with quantised activations: `dp4a` within groups, f32 across them.

use super::spread::{Bounds, Spread, Sums, WarpShare};
use crate::{
    epilogue::{Epilogue, Outputs},
    weights::{Affine, GroupCodes, GroupScales, Layout, PlaneRow, Planes, layout_name},
};
use warpsmith_kernel::{
    BuildError, Cta, Global, InKernel, Kernel, LaunchError, Read, Val, args, require, uni,
};
use warpsmith_ptx::target::Target;

args! {
    /// `words` and `x_scales` are those of `quantize::QuantizeQ8Args`, `W` is `[n, 32 groups]` in the planes of its
    /// layout, `y` is f32 `[m, n]`.
    pub struct GemvQ8Args {
        words: In<u32>[out.m, row_words], x_scales: In<f32>[out.m, row_scales],
        w: Group<Planes>,
        out: Group<Outputs>,
         row_words: Scalar<u32>, row_scales: Scalar<u32>,
    }
}

/// The kernel: a quantised layout, a spread, an epilogue.
///
/// For a (half) group, with x = dx qx: `sum w x = d (dx sum q qx - zero dx sum qx) + m (dx sum qx)`; the integer sum is
/// exact, and `dx sum qx` comes with the activations. Codes with a sign are unsigned bytes here, whose zero is 128: a CPU
/// multiplies only such by bytes with a sign.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GemvQ8 {
    /// Layout of `W`.
    pub layout: Layout,
    /// Rows and warps.
    pub spread: Spread,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl GemvQ8 {
    /// Groups of one round: addresses and loop are paid for once.
    fn unroll(&self) -> u32 {
        match self.spread.rows {
            0..=2 => 4,
            3..=4 => 2,
            _ => 1,
        }
    }
}

impl Kernel for GemvQ8 {
    type Args = GemvQ8Args;

    fn name(&self) -> String {
        let (layout, spread) = (layout_name(self.layout), self.spread.suffix());
        format!("gemv_q8_{layout}_{spread}{}", self.epilogue.suffix())
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

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        if self.layout.is_quantised() {
            return Ok(());
        }
        Err(BuildError::Unsupported {
            kernel: self.name(),
            target,
            feature: "quantised weights",
        })
    }

    fn grid(&self, a: &GemvQ8Args) -> Result<u64, LaunchError> {
        let (words, scales) = (a.row_words, a.row_scales);
        let whole = words.is_multiple_of(8) && words < 1 << 22;
        require(
            whole,
            "row_words",
            words.into(),
            "8 for each group of 32, below 2^22",
        )?;
        require(
            scales == words / 2,
            "row_scales",
            scales.into(),
            "4 for each group of 32",
        )?;
        a.w.check(self.layout, a.out.n, words * 4)?;
        Ok(self.spread.ctas(a.out.m, a.out.n))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemvQ8Args<InKernel<'k>>) {
        let bounds = Bounds {
            m: a.out.m,
            n: a.out.n,
            blocks: a.w.blocks,
            groups: a.row_scales / 4,
        };
        let lane = cta.in_warps(|warp| warp.lane());
        let prepare = |place: WarpShare<'k>| {
            let row = |r: u32| {
                // Rows past the last repeat it and are not stored.
                let row = (place.first + r).min(a.out.m - 1);
                Activations {
                    words: a.words.row(row),
                    scales: a.x_scales.row(row),
                }
            };
            let rows: Vec<Activations<'k>> = (0..self.spread.rows).map(row).collect();
            let planes = a.w.row(place.block, lane).placed(self.layout);
            (planes, rows)
        };
        self.spread.run(
            cta,
            &bounds,
            self.unroll(),
            prepare,
            |(planes, rows), group, ahead, sums| {
                let planes = planes.ahead(self.layout, ahead);
                self.group_step(planes, group, ahead, rows, sums)
            },
            |_, _, _, sums| sums,
            |_, row, column, sum| {
                a.out.set(self.epilogue, row, column, sum);
            },
        );
    }
}

/// One row of quantised activations.
struct Activations<'k> {
    words: Global<'k, u32, Read>,
    scales: Global<'k, f32, Read>,
}

impl GemvQ8 {
    /// Adds group `group + ahead` to the sum of each row of activations.
    fn group_step<'k>(
        &self,
        planes: PlaneRow<'k>,
        group: Val<'k, u32, uni::Warp>,
        ahead: u32,
        rows: &[Activations<'k>],
        sums: Sums<'k>,
    ) -> Sums<'k> {
        let layout = self.layout;
        let codes = planes.group_codes(layout, group, None).unsigned();
        let scales = planes.group_scales(layout, group);
        let rows = rows.iter().zip(sums);
        rows.map(|(x, sum)| {
            let words = x.words.from(group * 8);
            let words = [0, 4].map(|at| words.words::<4, _>(8 * ahead + at));
            let [d, first, second, all] = x.scales.from(group * 4).vector::<4, _>(4 * ahead);
            add_group(layout, &codes, scales, words, [d, first, second, all], sum)
        })
        .collect()
    }
}

/// `sum` and the product of a group of weights, whose codes have no sign, with a group of activations: their words, and `d`
/// with its sums.
pub(crate) fn add_group<'k>(
    layout: Layout,
    codes: &GroupCodes<'k>,
    scales: GroupScales<'k>,
    words: [[Val<'k, u32, uni::Warp>; 4]; 2],
    [d, first, second, all]: [Val<'k, f32, uni::Warp>; 4],
    sum: Val<'k, f32>,
) -> Val<'k, f32> {
    let zero = layout.unsigned_zero();
    match scales {
        GroupScales::Whole(scale) => {
            let dot = whole_dot(codes, words);
            add_term(zero, sum, scale, dot.f32(), d.varying(), all.varying())
        }
        GroupScales::Halves([a, b]) => {
            let dots = [0, 1].map(|half| codes.dot(half, words[half], Val::constant(0)));
            let second_dot = if codes.shift == 0 {
                dots[1]
            } else {
                dots[1] >> codes.shift
            };
            let d = d.varying();
            let sum = add_term(zero, sum, a, dots[0].f32(), d, first.varying());
            add_term(zero, sum, b, second_dot.f32(), d, second.varying())
        }
    }
}

/// The dot product of a whole group.
fn whole_dot<'k, U: uni::Uni>(
    codes: &GroupCodes<'k>,
    words: [[Val<'k, u32, U>; 4]; 2],
) -> Val<'k, i32> {
    let second = codes.dot(1, words[1], Val::constant(0));
    let second = if codes.shift == 0 {
        second
    } else {
        second >> codes.shift
    };
    codes.dot(0, words[0], second)
}

/// `sum + d (dx dot - zero s) + m s` with `s = dx sum qx`.
pub(crate) fn add_term<'k>(
    zero: u8,
    sum: Val<'k, f32>,
    scale: Affine<'k>,
    dot: Val<'k, f32>,
    dx: Val<'k, f32>,
    s: Val<'k, f32>,
) -> Val<'k, f32> {
    let product = match zero {
        0 => dot * dx,
        zero => dot.mul_add(dx, s * -f32::from(zero)),
    };
    let sum = product.mul_add(scale.d, sum);
    match scale.m {
        Some(m) => m.mul_add(s, sum),
        None => sum,
    }
}
