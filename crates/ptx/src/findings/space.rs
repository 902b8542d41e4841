//! Addresses of one state space used as those of another, or as generic ones.

use super::{Certainty, Code, Finding, Scene, variable};
use crate::{
    ir::{Base, Inst, Operand, RegId, Span, StmtKind},
    isa::{self, Access, Shape},
    op::Op,
    qual::Qual,
    types::Space,
    visit,
};

/// Sweeps over a function at most.
const PASSES: u32 = 200;

/// What an address is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// No address that is followed.
    Number,
    /// In a space.
    In(Space),
    /// Converted from a space to a generic one.
    Generic(Space),
    /// One or the other.
    Mixed,
}

impl Origin {
    fn join(self, other: Origin) -> Origin {
        if self == other { self } else { Origin::Mixed }
    }

    fn plus(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Number, one) | (one, Origin::Number) => one,
            _ => Origin::Mixed,
        }
    }
}

struct Origins {
    regs: Vec<Option<Origin>>,
    /// The conversion that made a generic address.
    converted: Vec<Option<Span>>,
}

pub(super) fn check(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let origins = Origins::new(scene);
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    for block in &scene.cfg.blocks {
        for stmt in &body[block.stmts.clone()] {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            let Some(form) = isa::form(inst.op, &inst.quals) else {
                continue;
            };
            let Some(slots) = form.assign(inst.operands.len()) else {
                continue;
            };
            for (operand, slot) in inst.operands.iter().zip(slots) {
                let (Operand::Addr(address), Shape::Address(space)) = (operand, slot.shape) else {
                    continue;
                };
                let Base::Reg(reg) = address.base else {
                    continue;
                };
                let space = space.unwrap_or(form.space());
                let name = format!("{}{}", inst.op.name(), inst.quals);
                let Some((code, certainty)) = fault(name, space, origins.reg(reg)) else {
                    continue;
                };
                let mut finding = scene.finding(code, certainty, stmt.span);
                finding.other = origins.converted[reg.index()];
                found.push(finding);
            }
        }
    }
}

/// What is wrong with an address where a space is expected.
fn fault(form: String, space: Space, origin: Origin) -> Option<(Code, Certainty)> {
    match (space, origin) {
        (_, Origin::Number | Origin::Mixed) => None,
        // A global address is its own generic address.
        (Space::Generic, Origin::In(Space::Global) | Origin::Generic(_)) => None,
        (Space::Generic, Origin::In(found)) => {
            let space = found.name();
            Some((Code::SpaceAddress { form, space }, Certainty::Certain))
        }
        (space, Origin::In(found)) if found == space => None,
        (space, Origin::In(found)) => {
            let (space, found) = (space.name(), found.name());
            let code = Code::OtherSpace { form, space, found };
            Some((code, Certainty::Certain))
        }
        (space, Origin::Generic(from)) => {
            let certainty = match (space, from) {
                (Space::Global, Space::Global) => Certainty::Note,
                _ => Certainty::Certain,
            };
            let space = space.name();
            Some((Code::GenericAddress { form, space }, certainty))
        }
    }
}

impl Origins {
    fn new(scene: &Scene<'_>) -> Origins {
        let count = scene.function.regs.len();
        let mut origins = Origins {
            regs: vec![None; count],
            converted: vec![None; count],
        };
        let body = scene.function.body.as_deref().unwrap_or(&[]);
        let mut changed = true;
        for _ in 0..PASSES {
            if !changed {
                return origins;
            }
            changed = false;
            for block in &scene.cfg.blocks {
                for stmt in &body[block.stmts.clone()] {
                    if let StmtKind::Inst(inst) = &stmt.kind {
                        changed |= origins.define(scene, inst, stmt.span);
                    }
                }
            }
        }
        // A strange order of blocks: what is not settled is not known.
        origins.regs.fill(Some(Origin::Mixed));
        origins
    }

    fn reg(&self, reg: RegId) -> Origin {
        self.regs[reg.index()].unwrap_or(Origin::Number)
    }

    fn define(&mut self, scene: &Scene<'_>, inst: &Inst, span: Span) -> bool {
        let Some(value) = self.computed(scene, inst) else {
            return false;
        };
        let mut source = None;
        visit::registers(inst, |reg, access| {
            if access == Access::Read {
                source = source.or(self.converted[reg.index()]);
            }
        });
        let converted = match (inst.op, value) {
            (Op::Cvta, Origin::Generic(_)) => Some(span),
            (_, Origin::Generic(_)) => source,
            (_, Origin::Number | Origin::In(_) | Origin::Mixed) => None,
        };
        let mut changed = false;
        visit::registers(inst, |reg, access| {
            if access == Access::Write {
                let known = &mut self.regs[reg.index()];
                let joined = known.map_or(value, |known| known.join(value));
                changed |= *known != Some(joined);
                *known = Some(joined);
                let place = &mut self.converted[reg.index()];
                *place = place.or(converted);
            }
        });
        changed
    }

    /// What an instruction's result is; `None` as long as an operand is not known.
    fn computed(&self, scene: &Scene<'_>, inst: &Inst) -> Option<Origin> {
        let operand = |at: usize| match inst.operands.get(at) {
            Some(Operand::Reg(reg)) => self.regs[reg.index()],
            Some(Operand::Var(var, _)) => {
                let var = variable(scene.module, scene.function, *var);
                Some(var.map_or(Origin::Mixed, |var| Origin::In(var.space)))
            }
            Some(Operand::Vec(_) | Operand::Pair(_)) => Some(Origin::Mixed),
            _ => Some(Origin::Number),
        };
        let space = inst.quals.as_slice().iter().find_map(|q| isa::space_of(*q));
        match (inst.op, space) {
            (Op::Cvta, Some(space)) if inst.quals.has(Qual::To) => Some(Origin::In(space)),
            (Op::Cvta, Some(space)) => Some(Origin::Generic(space)),
            (Op::Mov | Op::Cvt, _) => operand(1),
            (Op::Add | Op::Sub, _) => Some(operand(1)?.plus(operand(2)?)),
            (Op::Mad, _) => Some(match (operand(1)?, operand(2)?, operand(3)?) {
                (Origin::Number, Origin::Number, c) => c,
                _ => Origin::Mixed,
            }),
            (Op::And | Op::Or | Op::Xor | Op::Selp | Op::Min | Op::Max | Op::Mapa, _) => {
                Some(Origin::Mixed)
            }
            (Op::Call, _) => Some(Origin::Mixed),
            _ => Some(Origin::Number),
        }
    }
}
