//! Convolution with `mma`: the tile of a matrix product whose left rows overlap.

use super::{Stride, TAPS};
use crate::{
    epilogue::{Epilogue, Outputs},
    gemm::{
        Tiling,
        tile::{Finish, STEP, Source},
    },
    weights::{BLOCK, Layout, Planes, layout_name},
};
use half::f16;
use warpsmith_kernel::{BuildError, Cta, Half, InKernel, Kernel, LaunchError, args, limits};
use warpsmith_ptx::target::Target;

args! {
    /// `x` is f16 `[frames, channels]`, `W` is `[n, 3 * channels]` in the planes of its layout, `y` is f32 `[outputs, n]`.
    pub struct Conv1dArgs {
        x: In<f16>[frames, channels],
        w: Group<Planes>,
        out: Group<Outputs>,
        frames: Scalar<u32>, channels: Scalar<u32>,
    }
}

/// The kernel, for channels in eights: 16 bytes then belong to one frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv1d {
    /// Layout of `W`.
    pub layout: Layout,
    /// Tile shape.
    pub tiling: Tiling,
    /// Step in time.
    pub stride: Stride,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl Kernel for Conv1d {
    type Args = Conv1dArgs;

    fn name(&self) -> String {
        let Tiling {
            warp_rows,
            warp_columns,
            row_frags,
            column_pairs,
        } = self.tiling;
        format!(
            "conv1d_{}_{}_{warp_rows}{warp_columns}{row_frags}{column_pairs}{}",
            self.stride.frames(),
            layout_name(self.layout),
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

    fn grid(&self, a: &Conv1dArgs) -> Result<u64, LaunchError> {
        self.stride.check(a.frames, a.channels, a.out.m)?;
        limits! {
            a.channels: a.channels.is_multiple_of(8), "a multiple of 8";
        }
        a.w.check(self.layout, a.out.n, a.channels * TAPS)?;
        Ok(u64::from(a.out.m.div_ceil(self.tiling.rows()))
            * u64::from(a.out.n.div_ceil(self.tiling.columns())))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: Conv1dArgs<InKernel<'k>>) {
        let (tiling, stride) = (self.tiling, self.stride.frames());
        let corner = tiling.corner(cta.id(), a.out.m);
        let [m0, n0] = corner;
        let channels = a.channels.u64();
        let accs = tiling.products(
            cta,
            self.layout,
            (a.channels * TAPS).div_ceil(STEP),
            |piece| {
                let output = m0 + piece.row;
                move |start| {
                    let column = start + piece.column;
                    let (tap, channel) = (column / a.channels, column % a.channels);
                    // One more than the frame: 0 is the padding before the first.
                    let frame = output * stride + tap;
                    // The wrap before the first frame is undone by the step to a later one.
                    let from = (frame.u64() - 1) * channels + channel.u64();
                    Source {
                        from: a.x.from(from),
                        pitch: channels * u64::from(stride * piece.down),
                        valid: move |i: u32| {
                            let skip = i * piece.down;
                            let inside = (frame + skip * stride - 1).lt(a.frames);
                            inside & tap.lt(TAPS) & (output + skip).lt(a.out.m)
                        },
                    }
                }
            },
            |row| {
                let source = (n0 + row).min(a.out.n - 1);
                a.w.row(source / BLOCK, source % BLOCK)
            },
        );
        let outputs = Finish {
            epilogue: self.epilogue,
            row_scale: None,
            out: a.out,
        };
        outputs.store(cta, tiling, corner, &accs);
    }
}
