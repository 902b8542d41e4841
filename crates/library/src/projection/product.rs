//! One product with few rows: a norm in front, an epilogue behind.

use super::{
    dot::{Matrix, matrix},
    source::{Source, input},
    work::Work,
};
use crate::{
    epilogue::Epilogue,
    gemv::GemvHalf,
    projection::source::Form,
    weights::{BLOCK, Layout, layout_name, plane_sizes},
};
use half::f16;
use warpsmith_kernel::{BuildError, Cta, Device, Half, Kernel, LaunchError, Val, args, uni};
use warpsmith_ptx::target::Target;

args! {
    /// `y = epilogue(norm(x) W^T)`: `x` is f32 `[m, columns]`, `W` is `[n, columns]` in the planes of its layout, `y` is
    /// f32 `[m, n]`. `gain` and `shift` are the norm's.
    pub struct ProjectArgs {
        x: In<f32>[m, columns], gain: Maybe<f32>[columns], shift: Maybe<f32>[columns],
        codes: In<u32>[blocks, code_block], high: Maybe<u32>[blocks, high_block],
        sub: Maybe<u8>[blocks, sub_block], scales: Maybe<u16>[blocks, scale_block],
        bias: Maybe<f32>[n], residual: Maybe<f32>[m, n], y: Out<f32>[m, n],
        m: Scalar<u32>, n: Scalar<u32>, columns: Scalar<u32>,
        blocks: Scalar<u32>, code_block: Scalar<u32>, high_block: Scalar<u32>, sub_block: Scalar<u32>, scale_block: Scalar<u32>,
        eps: Scalar<f32>,
    }
}

/// The kernel: what it reads, by which weights it multiplies, what it does with the sums.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Project {
    /// Rows of x.
    pub source: Source,
    /// Layout of `W`.
    pub layout: Layout,
    /// Units are blocks of 32 rows of W.
    pub work: Work,
    /// What is done to each output.
    pub epilogue: Epilogue,
}

impl Kernel for Project {
    type Args = ProjectArgs;

    fn name(&self) -> String {
        let (layout, source) = (layout_name(self.layout), self.source.suffix());
        let (work, epilogue) = (self.work.suffix(), self.epilogue.suffix());
        format!("project_{source}_{layout}{work}{epilogue}")
    }

    fn threads(&self) -> u32 {
        self.work.threads()
    }

    fn resized(&self, threads: u32) -> Option<Self> {
        let work = self.work.resized(threads);
        Some(Self {
            work,
            ..self.clone()
        })
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        supports(&self.source, &[self.layout], target, || self.name())
    }

    fn grid(&self, a: &ProjectArgs) -> Result<u64, LaunchError> {
        self.source.check(a.m, a.columns)?;
        plane_sizes!(a).check(self.layout, a.n, a.columns)?;
        Ok(a.n.div_ceil(BLOCK).div_ceil(self.work.each).into())
    }

    fn pieces_ahead(&self) -> u32 {
        self.work.pieces_ahead(&self.source, &[self.layout])
    }

    fn fetch<'k>(&self, cta: &mut Cta<'k>, a: &ProjectArgs<Device<'k>>) {
        let lane = cta.in_warps(|warp| warp.lane());
        let range = self.work.own(cta, a.blocks);
        let matrix = |block| self.matrix(a, block, lane);
        self.work
            .fetch(cta, &self.source, [self.layout], range, matrix);
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ProjectArgs<Device<'k>>) {
        let mut tiles = self.source.tiles(cta);
        let x = self.source.prepare(cta, &mut tiles, &input!(a));
        let lane = cta.in_warps(|warp| warp.lane());
        self.work.run(
            cta,
            &self.source,
            x,
            [self.layout],
            [a.n, a.blocks],
            |block| self.matrix(&a, block, lane),
            |_, row, column, [sum]| {
                let residual = a.residual.row(row);
                let y = self.epilogue.apply(sum, column, a.bias, residual);
                a.y.row(row).set(column, y);
            },
        );
    }
}

impl Project {
    fn matrix<'k>(
        &self,
        a: &ProjectArgs<Device<'k>>,
        block: Val<'k, u32, uni::Warp>,
        lane: Val<'k, u32>,
    ) -> [Matrix<'k>; 1] {
        let layout = self.layout;
        [matrix!(layout, a, block, lane, codes, high, sub, scales)]
    }
}

/// Bytes are multiplied by quantised weights alone, f16 by f16 weights.
pub(super) fn supports(
    source: &Source,
    layouts: &[Layout],
    target: Target,
    name: impl FnOnce() -> String,
) -> Result<(), BuildError> {
    let fits = match source.form {
        Form::Bytes => layouts.iter().all(|layout| layout.is_quantised()),
        Form::Single => true,
        Form::Half => layouts.iter().all(|layout| GemvHalf::takes(*layout)),
    };
    let cores = source.form != Form::Half || target.sm >= f16::FIRST_SM;
    if fits && cores {
        return Ok(());
    }
    Err(BuildError::Unsupported {
        kernel: name(),
        target,
        feature: match source.form {
            Form::Bytes => "quantised weights",
            Form::Single => "weights",
            Form::Half => "f16 weights and mma.m16n8k8",
        },
    })
}
