//! One product with few rows: a norm in front, an epilogue behind.

use super::{
    dot::Matrix,
    source::{Input, Source},
    work::Work,
};
use crate::{
    epilogue::{Epilogue, Outputs},
    gemv::GemvHalf,
    projection::source::Form,
    weights::{BLOCK, Layout, Planes, layout_name},
};
use half::f16;
use warpsmith_kernel::{BuildError, Cta, Half, InKernel, Kernel, LaunchError, args, require};
use warpsmith_ptx::target::Target;

args! {
    /// `y = epilogue(norm(x) W^T)`: `W` is `[n, columns]` in the planes of its layout, `y` is f32 `[m, n]`.
    pub struct ProjectArgs {
        rows: Group<Input>, w: Group<Planes>, out: Group<Outputs>,
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
        self.source.check(&a.rows)?;
        let (m, expected) = (a.out.m, "the rows of x");
        require(m == a.rows.m, "out.m", m.into(), expected)?;
        a.w.check(self.layout, a.out.n, a.rows.columns)?;
        Ok(a.out.n.div_ceil(BLOCK).div_ceil(self.work.each).into())
    }

    fn pieces_ahead(&self) -> u32 {
        self.work.pieces_ahead(&self.source, &[self.layout])
    }

    fn fetch<'k>(&self, cta: &mut Cta<'k>, a: &ProjectArgs<InKernel<'k>>) {
        let lane = cta.in_warps(|warp| warp.lane());
        let range = self.work.own(cta, a.w.blocks);
        let matrix = |block| [Matrix::of(self.layout, a.w, block, lane)];
        self.work
            .fetch(cta, &self.source, [self.layout], range, matrix);
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: ProjectArgs<InKernel<'k>>) {
        let mut tiles = self.source.tiles(cta);
        let x = self.source.prepare(cta, &mut tiles, &a.rows);
        let lane = cta.in_warps(|warp| warp.lane());
        self.work.run(
            cta,
            &self.source,
            x,
            [self.layout],
            [a.out.n, a.w.blocks],
            |block| [Matrix::of(self.layout, a.w, block, lane)],
            |_, row, column, [sum]| {
                a.out.set(self.epilogue, row, column, sum);
            },
        );
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
