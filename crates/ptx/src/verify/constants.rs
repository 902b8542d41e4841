//! Constants that some forms limit.

use super::{Check, form_text, operands::Place};
use crate::{
    diag::Code,
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::{Qual, Quals},
    types::Type,
};

/// The dimensions of the tensor that a copy is of: `.1d` to `.5d`.
pub(super) fn dimensions(quals: &Quals) -> Option<usize> {
    let all = [Qual::D1d, Qual::D2d, Qual::D3d, Qual::D4d, Qual::D5d];
    all.iter().position(|dim| quals.has(*dim)).map(|at| at + 1)
}

/// How many coordinates a geometry has, the layer and what only fills a vector among them.
pub(super) fn coordinates(quals: &Quals) -> Option<usize> {
    let all = [
        (Qual::D1d, 1),
        (Qual::D2d, 2),
        (Qual::D3d, 4),
        (Qual::A1d, 2),
        (Qual::A2d, 4),
        (Qual::Cube, 4),
        (Qual::Acube, 4),
    ];
    all.into_iter()
        .find_map(|(word, count)| quals.has(word).then_some(count))
}

/// How many elements a vector has whose row leaves that open: offsets of a tensor, results of `wgmma`, derivatives.
pub(super) fn elements(inst: &Inst) -> Option<u8> {
    match inst.op {
        Op::Cp => dimensions(&inst.quals).map(|dims| dims.saturating_sub(2) as u8),
        Op::Wgmma => {
            let [_, n, _] = inst.quals.as_slice().iter().find_map(|word| word.shape())?;
            // A warp has 16 of 64 rows, a lane a 32nd of what is in them; halves lie two in a register.
            let halves = inst.quals.types().next() == Some(Type::F16);
            Some((n / if halves { 4 } else { 2 }) as u8)
        }
        // Layers have no derivative.
        Op::Tex if inst.quals.has(Qual::A1d) => Some(1),
        Op::Tex if inst.quals.has(Qual::A2d) => Some(2),
        Op::Tex => coordinates(&inst.quals).map(|count| count as u8),
        _ => None,
    }
}

/// The last selector of a sparse product: which lane, or which two, of four say what is there.
fn selectors(quals: &Quals) -> i64 {
    let has = |word| quals.has(word);
    let is_of = |ty| has(Qual::T(ty));
    match () {
        () if is_of(Type::F16) || is_of(Type::BF16) => 3,
        () if is_of(Type::TF32) => {
            if has(Qual::M16n8k8) {
                3
            } else {
                1
            }
        }
        () if is_of(Type::U4) || is_of(Type::S4) => i64::from(has(Qual::M16n8k64)),
        () => i64::from(has(Qual::M16n8k32)),
    }
}

/// Of a product with scales: bytes and threads that say where the scales are, each with what it may be.
fn scales(inst: &Inst) -> impl Iterator<Item = (i64, i64, i64)> + '_ {
    let has = |word| inst.quals.has(word);
    let (scaled, whole) = (has(Qual::BlockScale), has(Qual::ScaleVec4x));
    let all = [(5, 0, 3), (5, 1, 1), (7, 0, 3), (7, 1, 3)];
    let all = all.into_iter().filter(move |_| scaled);
    all.filter_map(move |(at, item, most)| {
        let Some(Operand::Vec(items)) = inst.operands.get(at) else {
            return None;
        };
        let Some(Operand::Imm(Imm::Int(value))) = items.get(item) else {
            return None;
        };
        Some((*value, 0, if item == 0 && whole { 0 } else { most }))
    })
}

impl Check<'_> {
    /// Constants that some forms limit.
    pub(super) fn constants(&mut self, place: Place<'_>) {
        let inst = place.inst;
        let constant = |at: usize| match inst.operands.get(at) {
            Some(Operand::Imm(Imm::Int(value))) => Some(*value),
            Some(Operand::Imm(Imm::Uint(_))) => Some(i64::MAX),
            _ => None,
        };
        let has = |qual| inst.quals.has(qual);
        // Where a barrier's number stands: behind the result of a reduction.
        let first = usize::from(has(Qual::Red));
        // Each: the operand, and the values it may have.
        let element = if has(Qual::GlobalStride) { 3 } else { 4 };
        let field: [(usize, i64, i64); 1] = [(
            1,
            0,
            match () {
                () if has(Qual::Elemtype) && self.module.target.sm >= 100 => 15,
                () if has(Qual::Elemtype) => 12,
                () if has(Qual::InterleaveLayout) => 2,
                () if has(Qual::SwizzleMode) => 3,
                () if has(Qual::FillMode) => 1,
                () => element,
            },
        )];
        let sparse = [(5, 0, selectors(&inst.quals))];
        let limits: &[(usize, i64, i64)] = match inst.op {
            Op::Mma if has(Qual::Sp) || has(Qual::SpOrderedMetadata) => &sparse,
            Op::Tensormap if has(Qual::CpFenceproxy) => &[(2, 128, 128)],
            Op::Tensormap if !has(Qual::GlobalAddress) && !has(Qual::Rank) => &field,
            Op::Fence if has(Qual::TensormapGeneric) => &[(1, 128, 128)],
            Op::Setmaxnreg => &[(0, 24, 256)],
            Op::Wgmma if has(Qual::MmaAsync) => &[(3, 0, 1), (6, 0, 1), (7, 0, 1)],
            Op::Cp if has(Qual::Cg) && has(Qual::Async) => &[(2, 16, 16)],
            Op::Cp if has(Qual::Ca) && has(Qual::Async) => match constant(2) {
                Some(4 | 8 | 16) => &[],
                _ => &[(2, 16, 16)],
            },
            Op::Cp if has(Qual::WaitGroup) => &[(0, 0, i64::MAX)],
            Op::Lop3 => &[(4, 0, 255)],
            Op::Bfe => &[(2, 0, 255), (3, 0, 255)],
            Op::Bfi => &[(3, 0, 255), (4, 0, 255)],
            Op::Bar | Op::Barrier if !has(Qual::Warp) && !has(Qual::Cluster) => {
                if first == 1 {
                    &[(1, 0, 15)]
                } else {
                    &[(0, 0, 15)]
                }
            }
            _ => &[],
        };
        // A barrier waits for whole warps.
        if matches!(inst.op, Op::Bar | Op::Barrier)
            && !has(Qual::Warp)
            && !has(Qual::Cluster)
            && let Some(value) = constant(first + 1).filter(|value| value % 32 != 0)
        {
            let form = form_text(inst);
            let code = Code::ConstantMultiple {
                form,
                value,
                of: 32,
            };
            self.report(place.function, code, place.span);
        }
        // Rows and sizes of the asynchronous proxy, and registers in the units they are given in.
        let unit = match inst.op {
            Op::Setmaxnreg => Some((0, 8)),
            Op::Cp if has(Qual::Bulk) && has(Qual::Prefetch) && !has(Qual::Tensor) => Some((1, 16)),
            Op::Cp if has(Qual::Bulk) && inst.operands.len() > 2 && !has(Qual::Tensor) => {
                Some((2, 16))
            }
            _ => None,
        };
        if let Some((at, of)) = unit
            && let Some(value) = constant(at).filter(|value| value % of != 0)
        {
            let form = form_text(inst);
            let code = Code::ConstantMultiple { form, value, of };
            self.report(place.function, code, place.span);
        }
        self.matrices(place, constant(1));
        let limits = limits.iter().copied();
        let limited = limits.filter_map(|(at, least, most)| Some((constant(at)?, least, most)));
        for (value, least, most) in limited.chain(scales(inst)) {
            if !(least..=most).contains(&value) {
                let code = Code::ConstantRange {
                    form: form_text(inst),
                    value,
                    least,
                    most,
                };
                self.report(place.function, code, place.span);
            }
        }
    }
}
