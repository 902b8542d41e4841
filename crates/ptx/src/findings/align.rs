//! Accesses at addresses that are no multiple of their size, as far as the address tells.

use super::{Certainty, Code, Finding, Scene, value::Values};
use crate::{
    ir::{Operand, StmtKind},
    isa::{self, Ty},
    op::Op,
    uniform::Uniformity,
};

pub(super) fn check(
    scene: &Scene<'_>,
    uniform: &Uniformity,
    values: &Values<'_>,
    found: &mut Vec<Finding>,
) {
    let body = scene.function.body.as_deref().unwrap_or(&[]);
    for (at, block) in scene.cfg.blocks.iter().enumerate() {
        for stmt in &body[block.stmts.clone()] {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            if !matches!(inst.op, Op::Ld | Op::Ldu | Op::St | Op::Atom | Op::Red) {
                continue;
            }
            let Some(form) = isa::form(inst.op, &inst.quals) else {
                continue;
            };
            let bytes = form.ty(Ty::Var(0)).bytes() * u32::from(form.vector());
            let address = inst.operands.iter().find_map(|operand| match operand {
                Operand::Addr(address) => Some(*address),
                _ => None,
            });
            let (Some(address), true) = (address, bytes > 1 && bytes.is_power_of_two()) else {
                continue;
            };
            let value = values.base(address.base, address.offset);
            let size = i64::from(bytes);
            let known = if value.modulus == 0 {
                size
            } else {
                value.modulus.min(size)
            };
            let rests = value.table.map(|n| n.rem_euclid(known));
            let every_lane = rests.iter().all(|rest| *rest != 0);
            let together = inst.guard.is_none() && uniform.convergent(at);
            let Some(rest) = rests.iter().find(|rest| **rest != 0) else {
                continue;
            };
            if every_lane || together {
                let certainty = if every_lane {
                    Certainty::Certain
                } else {
                    Certainty::Possible
                };
                let code = Code::Misaligned {
                    form: format!("{}{}", inst.op.name(), inst.quals),
                    bytes,
                    rest: *rest as u32,
                };
                found.push(scene.finding(code, certainty, stmt.span));
            }
        }
    }
}
