//! Gate and up projections of few rows together, with what joins them: `curve(norm(x) G^T) * (norm(x) U^T)`.

use super::{
    dot::{Matrix, matrix},
    product::supports,
    source::{Source, input},
    work::Work,
};
use crate::{
    pointwise::Curve,
    weights::{BLOCK, Layout, PlaneSizes, layout_name},
};
use warpsmith_kernel::{BuildError, Cta, Device, Kernel, LaunchError, Val, args, uni};
use warpsmith_ptx::target::Target;

args! {
    /// `x` is f32 `[m, columns]`, both weights are `[n, columns]` in the planes of their layouts, `y` is f32 `[m, n]`.
    pub struct GateArgs {
        x: In<f32>[m, columns], gain: Maybe<f32>[columns], shift: Maybe<f32>[columns],
        gate_codes: In<u32>[blocks, gate_code_block], gate_high: Maybe<u32>[blocks, gate_high_block],
        gate_sub: Maybe<u8>[blocks, gate_sub_block], gate_scales: Maybe<u16>[blocks, gate_scale_block],
        up_codes: In<u32>[blocks, up_code_block], up_high: Maybe<u32>[blocks, up_high_block],
        up_sub: Maybe<u8>[blocks, up_sub_block], up_scales: Maybe<u16>[blocks, up_scale_block],
        y: Out<f32>[m, n],
        m: Scalar<u32>, n: Scalar<u32>, columns: Scalar<u32>, blocks: Scalar<u32>,
        gate_code_block: Scalar<u32>, gate_high_block: Scalar<u32>, gate_sub_block: Scalar<u32>, gate_scale_block: Scalar<u32>,
        up_code_block: Scalar<u32>, up_high_block: Scalar<u32>, up_sub_block: Scalar<u32>, up_scale_block: Scalar<u32>,
        eps: Scalar<f32>,
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
        self.source.check(a.m, a.columns)?;
        let gate = PlaneSizes {
            blocks: a.blocks,
            code_block: a.gate_code_block,
            high_block: a.gate_high_block,
            sub_block: a.gate_sub_block,
            scale_block: a.gate_scale_block,
        };
        gate.check(self.gate, a.n, a.columns)?;
        let up = PlaneSizes {
            blocks: a.blocks,
            code_block: a.up_code_block,
            high_block: a.up_high_block,
            sub_block: a.up_sub_block,
            scale_block: a.up_scale_block,
        };
        up.check(self.up, a.n, a.columns)?;
        Ok(a.n.div_ceil(BLOCK).div_ceil(self.work.each).into())
    }

    fn pieces_ahead(&self) -> u32 {
        self.work.pieces_ahead(&self.source, &[self.gate, self.up])
    }

    fn fetch<'k>(&self, cta: &mut Cta<'k>, a: &GateArgs<Device<'k>>) {
        let lane = cta.in_warps(|warp| warp.lane());
        let (layouts, range) = ([self.gate, self.up], self.work.own(cta, a.blocks));
        let matrices = |block| self.matrices(a, block, lane);
        self.work.fetch(cta, &self.source, layouts, range, matrices);
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: GateArgs<Device<'k>>) {
        let mut tiles = self.source.tiles(cta);
        let x = self.source.prepare(cta, &mut tiles, &input!(a));
        let lane = cta.in_warps(|warp| warp.lane());
        self.work.run(
            cta,
            &self.source,
            x,
            [self.gate, self.up],
            [a.n, a.blocks],
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
        a: &GateArgs<Device<'k>>,
        block: Val<'k, u32, uni::Warp>,
        lane: Val<'k, u32>,
    ) -> [Matrix<'k>; 2] {
        let (gate, up) = (self.gate, self.up);
        [
            matrix!(
                gate,
                a,
                block,
                lane,
                gate_codes,
                gate_high,
                gate_sub,
                gate_scales
            ),
            matrix!(up, a, block, lane, up_codes, up_high, up_sub, up_scales),
        ]
    }
}
