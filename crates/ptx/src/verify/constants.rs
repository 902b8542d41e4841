//! Constants that some forms limit.

use super::{Check, form_text, operands::Place};
use crate::{
    diag::Code,
    ir::{Imm, Operand},
    op::Op,
    qual::Qual,
};

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
        let limits: &[(usize, i64, i64)] = match inst.op {
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
        for (at, least, most) in limits.iter().copied() {
            let Some(value) = constant(at) else {
                continue;
            };
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
