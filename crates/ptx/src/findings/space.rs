//! Addresses of one state space used as those of another, or as generic ones.

use super::{Certainty, Code, Finding, Scene, variable};
use crate::{
    ir::{Base, Inst, Operand, Span, StmtKind},
    isa::{self, Access, Shape},
    op::Op,
    qual::Qual,
    types::Space,
    visit,
};

/// Sweeps over a function at most.
const PASSES: u32 = 200;
/// Registers times blocks of a function that is looked at.
const MAX_STATES: usize = 1 << 22;

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

/// What each register holds at a point, and the conversion that made it generic.
#[derive(Clone, PartialEq)]
struct Origins(Vec<(Option<Origin>, Option<Span>)>);

pub(super) fn check(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    let Some(starts) = starts(scene) else {
        return;
    };
    for (block, mut origins) in scene.cfg.blocks.iter().zip(starts) {
        for stmt in &body[block.stmts.clone()] {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            accesses(scene, inst, stmt.span, &origins, found);
            origins.define(scene, inst, stmt.span);
        }
    }
}

/// What is known at the start of each block; `None` of a function that is too large.
fn starts(scene: &Scene<'_>) -> Option<Vec<Origins>> {
    let (blocks, regs) = (scene.cfg.blocks.len(), scene.function.regs.len());
    if blocks.saturating_mul(regs) > MAX_STATES {
        return None;
    }
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    let mut starts = vec![Origins(vec![(None, None); regs]); blocks];
    for _ in 0..PASSES {
        let mut changed = false;
        for at in 0..blocks {
            let mut origins = starts[at].clone();
            for stmt in &body[scene.cfg.blocks[at].stmts.clone()] {
                if let StmtKind::Inst(inst) = &stmt.kind {
                    origins.define(scene, inst, stmt.span);
                }
            }
            for next in &scene.cfg.blocks[at].successors {
                changed |= starts[*next].join(&origins);
            }
        }
        if !changed {
            return Some(starts);
        }
    }
    None
}

fn accesses(
    scene: &Scene<'_>,
    inst: &Inst,
    span: Span,
    origins: &Origins,
    found: &mut Vec<Finding>,
) {
    let Some(form) = isa::form(inst.op, &inst.quals) else {
        return;
    };
    let Some(slots) = form.assign(inst.operands.len()) else {
        return;
    };
    for (operand, slot) in inst.operands.iter().zip(slots) {
        let (Operand::Addr(address), Shape::Address(space)) = (operand, slot.shape) else {
            continue;
        };
        let Base::Reg(reg) = address.base else {
            continue;
        };
        let (origin, converted) = origins.0[reg.index()];
        let space = space.unwrap_or(form.space());
        let name = format!("{}{}", inst.op.name(), inst.quals);
        if let Some((code, certainty)) = fault(name, space, origin.unwrap_or(Origin::Number)) {
            let mut finding = scene.finding(code, certainty, span);
            finding.other = converted;
            found.push(finding);
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
    /// Takes in what another path brings; whether that is new.
    fn join(&mut self, other: &Origins) -> bool {
        let mut changed = false;
        for ((known, place), (origin, from)) in self.0.iter_mut().zip(&other.0) {
            let joined = match (*known, *origin) {
                (Some(one), Some(two)) => Some(one.join(two)),
                (one, two) => one.or(two),
            };
            changed |= *known != joined;
            *known = joined;
            *place = place.or(*from);
        }
        changed
    }

    fn define(&mut self, scene: &Scene<'_>, inst: &Inst, span: Span) {
        let value = self.computed(scene, inst);
        let mut source = None;
        visit::registers(inst, |reg, access| {
            if access == Access::Read {
                source = source.or(self.0[reg.index()].1);
            }
        });
        let converted = match (inst.op, value) {
            (Op::Cvta, Some(Origin::Generic(_))) => Some(span),
            (_, Some(Origin::Generic(_))) => source,
            (_, Some(Origin::Number | Origin::In(_) | Origin::Mixed) | None) => None,
        };
        visit::registers(inst, |reg, access| {
            if access == Access::Write {
                let state = &mut self.0[reg.index()];
                // Under a guard it may keep what it had.
                let joined = match (inst.guard, state.0, value) {
                    (Some(_), Some(known), Some(value)) => Some(known.join(value)),
                    _ => value,
                };
                *state = (joined, converted);
            }
        });
    }

    /// What an instruction's result is; `None` as long as an operand is not known.
    fn computed(&self, scene: &Scene<'_>, inst: &Inst) -> Option<Origin> {
        let operand = |at: usize| match inst.operands.get(at) {
            Some(Operand::Reg(reg)) => self.0[reg.index()].0,
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
