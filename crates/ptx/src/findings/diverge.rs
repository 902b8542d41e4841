//! Barriers that only some lanes of a warp may come to, with the branch that parts them.

use super::{
    Certainty, Code, Finding, Scene,
    value::{Value, Values},
};
use crate::{
    ir::{Inst, Operand, RegId, StmtKind},
    isa::Access,
    op::Op,
    qual::Qual,
    uniform::{Flow, Uniformity},
    visit,
};

/// How far a predicate is followed through the logic that makes it.
const DEPTH: u32 = 8;

pub(super) fn check(
    scene: &Scene<'_>,
    uniform: &Uniformity,
    values: &Values<'_>,
    found: &mut Vec<Finding>,
) {
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    let predicates = Predicates {
        definitions: definitions(scene),
        uniform,
        values,
    };
    let flow = Flow::new(scene.function, scene.cfg);
    let mut report = |inst: &Inst, span, branch| {
        let form = format!("{}{}", inst.op.name(), inst.quals);
        let mut finding = scene.finding(Code::DivergentBarrier { form }, Certainty::Possible, span);
        finding.other = branch;
        if !found
            .iter()
            .any(|known| known.code == finding.code && same(known, &finding))
        {
            found.push(finding);
        }
    };
    let whole = |at: usize| {
        body[scene.cfg.blocks[at].stmts.clone()]
            .iter()
            .filter_map(|stmt| match &stmt.kind {
                StmtKind::Inst(inst) if visit::needs_whole_warp(inst) => Some((inst, stmt.span)),
                _ => None,
            })
    };
    for (at, block) in scene.cfg.blocks.iter().enumerate() {
        for (inst, span) in whole(at) {
            if inst
                .guard
                .is_some_and(|guard| predicates.splits(guard.reg, 0))
            {
                report(inst, span, None);
            }
        }
        let Some(last) = body[block.stmts.clone()].last() else {
            continue;
        };
        let StmtKind::Inst(branch) = &last.kind else {
            continue;
        };
        let Some(guard) = branch.guard.filter(|_| branch.op == Op::Bra) else {
            continue;
        };
        if !flow.splits(at) || !predicates.splits(guard.reg, 0) {
            continue;
        }
        for between in flow.between(at) {
            for (inst, span) in whole(between) {
                report(inst, span, Some(last.span));
            }
        }
    }
}

/// Whether two findings are of one place.
fn same(a: &Finding, b: &Finding) -> bool {
    a.function == b.function && a.span.to_string() == b.span.to_string()
}

/// The one instruction that defines each register.
fn definitions<'s>(scene: &'s Scene<'_>) -> Vec<Option<&'s Inst>> {
    let mut definitions = vec![None; scene.function.regs.len()];
    let mut counts = vec![0u32; definitions.len()];
    for (_, inst) in scene.insts() {
        visit::registers(inst, |reg, access| {
            if access == Access::Write {
                counts[reg.index()] += 1;
                definitions[reg.index()] = Some(inst);
            }
        });
    }
    for (definition, count) in definitions.iter_mut().zip(counts) {
        if count != 1 {
            *definition = None;
        }
    }
    definitions
}

struct Predicates<'s> {
    definitions: Vec<Option<&'s Inst>>,
    uniform: &'s Uniformity,
    values: &'s Values<'s>,
}

impl Predicates<'_> {
    /// Whether lanes of a warp may differ in a predicate, by their numbers alone.
    fn splits(&self, reg: RegId, depth: u32) -> bool {
        if depth > DEPTH || self.uniform.reg(reg) {
            return false;
        }
        let Some(inst) = self.definitions[reg.index()] else {
            return false;
        };
        match inst.op {
            Op::Setp => {
                let quals = inst.quals.as_slice();
                let values = (inst.operands.get(1), inst.operands.get(2));
                let (Some(compare), (Some(a), Some(b))) = (quals.first(), values) else {
                    return false;
                };
                let integer = inst.quals.types().all(|ty| !ty.is_float());
                integer && differs(*compare, self.values.operand(a), self.values.operand(b))
            }
            Op::And | Op::Or | Op::Xor | Op::Not | Op::Mov => {
                inst.operands.iter().skip(1).any(|operand| match operand {
                    Operand::Reg(reg) => self.splits(*reg, depth + 1),
                    _ => false,
                })
            }
            _ => false,
        }
    }
}

/// Whether a comparison may come out differently in two lanes.
fn differs(compare: Qual, a: Value, b: Value) -> bool {
    if a.varying || b.varying {
        return false;
    }
    let difference: Vec<i64> = (0..32).map(|lane| a.table[lane] - b.table[lane]).collect();
    let least = difference.iter().copied().min().unwrap_or(0);
    let most = difference.iter().copied().max().unwrap_or(0);
    if least == most {
        return false;
    }
    // The bases differ by an unknown multiple of this, or by nothing.
    let step = match (a.modulus, b.modulus) {
        (0, 0) => 0,
        (0, step) | (step, 0) => step,
        (one, other) => one.min(other),
    };
    // Whether a multiple of the step is in `low..high`.
    let between = |low: i64, high: i64| match step {
        0 => low <= 0 && 0 < high,
        step => {
            low.div_euclid(step) * step + if low.rem_euclid(step) == 0 { 0 } else { step } < high
        }
    };
    match compare {
        Qual::Lt | Qual::Lo | Qual::Ge | Qual::Hs => between(-most, -least),
        Qual::Le | Qual::Ls | Qual::Gt | Qual::Hi => between(-most + 1, -least + 1),
        Qual::Eq | Qual::Ne => difference.iter().any(|d| match step {
            0 => *d == 0,
            step => d.rem_euclid(step) == 0,
        }),
        _ => false,
    }
}
