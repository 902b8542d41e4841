//! Convolution in f32 throughout.

use super::{Stride, TAPS};
use crate::{
    epilogue::{Epilogue, Outputs},
    gemm::{exact::Square, tile::Finish},
    weights::{BLOCK, GROUP, Layout, Planes, layout_name},
};
use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, Scope, Val, args};

args! {
    /// `x` is f32 `[frames, channels]`, `W` is `[n, 3 * channels]` in the planes of its layout, `y` is f32 `[outputs, n]`.
    pub struct Conv1dF32Args {
        x: In<f32>[frames, channels],
        w: Group<Planes>,
        out: Group<Outputs>,
        frames: Scalar<u32>, channels: Scalar<u32>,
    }
}

/// Tile shape.
const TILE: Square = Square::SMALL;

/// The kernel for any number of channels; taps and channels are added in ascending order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv1dF32 {
    /// Layout of `W`.
    pub layout: Layout,
    /// Step in time.
    pub stride: Stride,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl Kernel for Conv1dF32 {
    type Args = Conv1dF32Args;

    fn name(&self) -> String {
        format!(
            "conv1d_f32_{}_{}{}",
            self.stride.frames(),
            layout_name(self.layout),
            self.epilogue.suffix()
        )
    }

    fn threads(&self) -> u32 {
        TILE.threads()
    }

    fn grid(&self, a: &Conv1dF32Args) -> Result<u64, LaunchError> {
        self.stride.check(a.frames, a.channels, a.out.m)?;
        a.w.check(self.layout, a.out.n, a.channels * TAPS)?;
        Ok(TILE.count(a.out.m, a.out.n))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: Conv1dF32Args<InKernel<'k>>) {
        let stride = self.stride.frames();
        let corner = TILE.corner(cta.id(), a.out.m);
        let [m0, n0] = corner;
        let sums = TILE.products(
            cta,
            self.layout,
            (a.channels * TAPS).div_ceil(GROUP),
            |cta, xs, round| {
                cta.each(TILE.side() * GROUP, |lane, item| {
                    let (row, column) = (m0 + item / GROUP, round * GROUP + item % GROUP);
                    let (tap, channel) = (column / a.channels, column % a.channels);
                    let frame = row * stride + tap - 1;
                    let valid = frame.lt(a.frames) & tap.lt(TAPS) & row.lt(a.out.m);
                    let read = a.x.row(frame.min(a.frames - 1));
                    let value = lane.either(valid, |_| read.at(channel), |_| Val::constant(0.0));
                    xs.set(item, value);
                });
            },
            |column| {
                let source = (n0 + column).min(a.out.n - 1);
                a.w.row(source / BLOCK, source % BLOCK)
            },
        );
        let outputs = Finish {
            epilogue: self.epilogue,
            row_scale: None,
            out: a.out,
        };
        TILE.store(cta, corner, sums, &outputs);
    }
}
