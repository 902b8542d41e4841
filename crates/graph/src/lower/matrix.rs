//! A weight matrix as the arguments of a launch: planes, and how large their blocks are.

use crate::{
    resource::{Planes, Weights},
    span::Span,
};
use warpsmith_library::weights::PlaneSizes;

/// Named as the fields of kernels' arguments.
pub(super) struct Matrix {
    pub(super) codes: Span<u32>,
    pub(super) high: Option<Span<u32>>,
    pub(super) sub: Option<Span<u8>>,
    pub(super) scales: Option<Span<u16>>,
    pub(super) blocks: u32,
    pub(super) code_block: u32,
    pub(super) high_block: u32,
    pub(super) sub_block: u32,
    pub(super) scale_block: u32,
}

impl Matrix {
    pub(super) fn of(weights: &Weights) -> Matrix {
        let Planes {
            codes,
            high,
            sub,
            scales,
        } = weights.planes();
        let PlaneSizes {
            blocks,
            code_block,
            high_block,
            sub_block,
            scale_block,
        } = PlaneSizes::of(weights.layout, weights.rows, weights.columns);
        Matrix {
            codes,
            high,
            sub,
            scales,
            blocks,
            code_block,
            high_block,
            sub_block,
            scale_block,
        }
    }
}

/// Arguments with those of one matrix: `with_matrix!(weights, GemvF32Args { x, .. })`.
macro_rules! with_matrix {
    ($weights:expr, $args:ident { $($field:ident $(: $value:expr)?,)* }) => {{
        let $crate::lower::matrix::Matrix {
            codes,
            high,
            sub,
            scales,
            blocks,
            code_block,
            high_block,
            sub_block,
            scale_block,
        } = $crate::lower::matrix::Matrix::of($weights);
        $args {
            codes,
            high,
            sub,
            scales,
            blocks,
            code_block,
            high_block,
            sub_block,
            scale_block,
            $($field $(: $value)?,)*
        }
    }};
}
pub(super) use with_matrix;
