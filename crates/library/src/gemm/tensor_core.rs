//! `y = epilogue(x W^T)` with `mma`.

use super::tile::{Outputs, STEP, Source, Tiling};
use crate::{
    epilogue::Epilogue,
    weights::{BLOCK, Layout, plane_row},
};
use half::f16;
use std::rc::Rc;
use warpsmith_kernel::{BuildError, Cta, Device, Half, Kernel, LaunchError, args, require};
use warpsmith_ptx::target::Target;

args! {
    /// `x` is f16 `[m, padded]` with zeros behind the columns, `W` is `[n, padded]` in the planes of its layout, `y` is f32 `[m, n]`.
    /// Row i of `x` stands for `x[i] * row_scale[i]`.
    pub struct GemmArgs {
        x: In<f16>[m, padded], row_scale: In<f32>[m],
        codes: In<u32>[blocks, code_block], high: Maybe<u32>[blocks, high_block],
        sub: Maybe<u8>[blocks, sub_block], scales: Maybe<u16>[blocks, scale_block],
        bias: Maybe<f32>[n], residual: Maybe<f32>[m, n], y: Out<f32>[m, n],
        m: Scalar<u32>, n: Scalar<u32>, padded: Scalar<u32>,
        blocks: Scalar<u32>, code_block: Scalar<u32>, high_block: Scalar<u32>, sub_block: Scalar<u32>, scale_block: Scalar<u32>,
    }
}

/// The kernel: a weight layout, a tiling, an epilogue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// Layout of `W`.
    pub layout: Layout,
    /// Tile shape.
    pub tiling: Tiling,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl Kernel for Gemm {
    type Args = GemmArgs;

    fn name(&self) -> String {
        let Tiling {
            warp_rows,
            warp_columns,
            row_frags,
            column_pairs,
        } = self.tiling;
        let layout = crate::weights::layout_name(self.layout);
        format!(
            "gemm_{layout}_{warp_rows}{warp_columns}{row_frags}{column_pairs}{}",
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

    fn grid(&self, a: &GemmArgs) -> Result<u64, LaunchError> {
        require(
            a.padded.is_multiple_of(STEP),
            "padded",
            a.padded.into(),
            "a multiple of 32",
        )?;
        let block = self.layout.block(a.padded);
        require(
            a.blocks == a.n.div_ceil(BLOCK),
            "blocks",
            a.blocks.into(),
            "n / 32 rounded up",
        )?;
        require(
            a.code_block == block.codes,
            "code_block",
            a.code_block.into(),
            "the layout's words of a block",
        )?;
        require(
            a.high_block == block.high,
            "high_block",
            a.high_block.into(),
            "the layout's words of a block",
        )?;
        require(
            a.sub_block == block.sub,
            "sub_block",
            a.sub_block.into(),
            "the layout's bytes of a block",
        )?;
        require(
            a.scale_block == block.scales,
            "scale_block",
            a.scale_block.into(),
            "the layout's halves of a block",
        )?;
        Ok(u64::from(a.m.div_ceil(self.tiling.rows()))
            * u64::from(a.n.div_ceil(self.tiling.columns())))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemmArgs<Device<'k>>) {
        let tiling = self.tiling;
        let corner = tiling.corner(cta.id(), a.m);
        let [m0, n0] = corner;
        let accs = tiling.products(
            cta,
            self.layout,
            a.padded / STEP,
            |piece| {
                let row = m0 + piece.row;
                let from = a.x.row(row).from(piece.column);
                let pitch = a.padded.u64() * u64::from(piece.down);
                // Rows past the last are not read, and are zero.
                let inside = (0..piece.count).map(|i| (row + i * piece.down).lt(a.m));
                let inside: Rc<[_]> = inside.collect();
                move |start| {
                    let inside = Rc::clone(&inside);
                    Source {
                        from: from.from(start),
                        pitch,
                        valid: move |i: u32| inside[i as usize],
                    }
                }
            },
            |row| {
                // Rows past the last repeat it: their columns are not stored.
                let source = (n0 + row).min(a.n - 1);
                plane_row!(a, source / BLOCK, source % BLOCK)
            },
        );
        let outputs = Outputs {
            epilogue: self.epilogue,
            row_scale: Some(a.row_scale),
            bias: a.bias,
            residual: a.residual,
            y: a.y,
            m: a.m,
            n: a.n,
        };
        outputs.store(cta, tiling, corner, &accs);
    }
}
