//! Gate and up projections of few rows together, with what joins them: `curve(norm(x) G^T) * (norm(x) U^T)`.

use super::{
    dot::Matrix,
    product::supports,
    source::{Input, Source},
    work::Work,
};
use crate::{
    pointwise::Curve,
    weights::{BLOCK, Layout, Planes, layout_name},
};
use warpsmith_kernel::{BuildError, Cta, InKernel, Kernel, LaunchError, Val, args, uni};
use warpsmith_ptx::target::Target;

args! {
    /// Both weights are `[n, columns]` in the planes of their layouts, `y` is f32 `[m, n]`.
    pub struct GateArgs {
        rows: Group<Input>, gate: Group<Planes>, up: Group<Planes>, y: Out<f32>[rows.m, n], n: Scalar<u32>,
    }
}

/// The kernel: a lane has the same row of both weights, and reads x once for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    /// Rows of x.
    pub source: Source,
    /// Layout of the gate's weights.
    pub gate: Layout,
    /// Layout of the others.
    pub up: Layout,
    /// Units are blocks of 32 rows of both.
    pub work: Work,
    /// What is done to the gate.
    pub curve: Curve,
}

impl Kernel for Gate {
    type Args = GateArgs;

    fn name(&self) -> String {
        let (gate, up) = (layout_name(self.gate), layout_name(self.up));
        let (source, work, curve) = (self.source.suffix(), self.work.suffix(), self.curve.name());
        format!("gate_{source}_{gate}_{up}{work}_{curve}")
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
        supports(&self.source, &[self.gate, self.up], target, || self.name())
    }

    fn grid(&self, a: &GateArgs) -> Result<u64, LaunchError> {
        self.source.check(&a.rows)?;
        a.gate.check(self.gate, a.n, a.rows.columns)?;
        a.up.check(self.up, a.n, a.rows.columns)?;
        Ok(a.n.div_ceil(BLOCK).div_ceil(self.work.each).into())
    }

    fn pieces_ahead(&self) -> u32 {
        self.work.pieces_ahead(&self.source, &[self.gate, self.up])
    }

    fn fetch<'k>(&self, cta: &mut Cta<'k>, a: &GateArgs<InKernel<'k>>) {
        let lane = cta.in_warps(|warp| warp.lane());
        let (layouts, range) = ([self.gate, self.up], self.work.own(cta, a.gate.blocks));
        let matrices = |block| self.matrices(a, block, lane);
        self.work.fetch(cta, &self.source, layouts, range, matrices);
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GateArgs<InKernel<'k>>) {
        let mut tiles = self.source.tiles(cta);
        let x = self.source.prepare(cta, &mut tiles, &a.rows);
        let lane = cta.in_warps(|warp| warp.lane());
        self.work.run(
            cta,
            &self.source,
            x,
            [self.gate, self.up],
            [a.n, a.gate.blocks],
            |block| self.matrices(&a, block, lane),
            |_, row, column, [gate, up]| {
                a.y.row(row).set(column, self.curve.apply(gate) * up);
            },
        );
    }
}

impl Gate {
    fn matrices<'k>(
        &self,
        a: &GateArgs<InKernel<'k>>,
        block: Val<'k, u32, uni::Warp>,
        lane: Val<'k, u32>,
    ) -> [Matrix<'k>; 2] {
        [(self.gate, a.gate), (self.up, a.up)]
            .map(|(layout, planes)| Matrix::of(layout, planes, block, lane))
    }
}
