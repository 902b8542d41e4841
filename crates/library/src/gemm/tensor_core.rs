//! `y = epilogue(x W^T)` with `mma`.

use super::tile::{Finish, STEP, Source, Tiling};
use crate::{
    epilogue::{Epilogue, Outputs},
    weights::{BLOCK, Layout, Planes},
};
use half::f16;
use std::rc::Rc;
use warpsmith_kernel::{BuildError, Cta, Half, InKernel, Kernel, LaunchError, args, limits};
use warpsmith_ptx::target::Target;

args! {
    /// `x` is f16 `[m, padded]` with zeros behind the columns, `W` is `[n, padded]` in the planes of its layout, `y` is f32 `[m, n]`.
    /// Row i of `x` stands for `x[i] * row_scale[i]`.
    pub struct GemmArgs {
        x: In<f16>[out.m, padded], row_scale: In<f32>[out.m],
        w: Group<Planes>,
        out: Group<Outputs>,
         padded: Scalar<u32>,
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
        limits! {
            a.padded: a.padded.is_multiple_of(STEP), "a multiple of 32";
        }
        a.w.check(self.layout, a.out.n, a.padded)?;
        Ok(u64::from(a.out.m.div_ceil(self.tiling.rows()))
            * u64::from(a.out.n.div_ceil(self.tiling.columns())))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GemmArgs<InKernel<'k>>) {
        let tiling = self.tiling;
        let corner = tiling.corner(cta.id(), a.out.m);
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
                let inside = (0..piece.count).map(|i| (row + i * piece.down).lt(a.out.m));
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
                let source = (n0 + row).min(a.out.n - 1);
                a.w.row(source / BLOCK, source % BLOCK)
            },
        );
        let outputs = Finish {
            epilogue: self.epilogue,
            row_scale: Some(a.row_scale),
            out: a.out,
        };
        outputs.store(cta, tiling, corner, &accs);
    }
}
