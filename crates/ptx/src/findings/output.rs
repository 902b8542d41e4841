//! Parameters that are called outputs and that nothing is stored through.

use super::{Certainty, Code, Finding, Scene};
use crate::{
    ir::{Base, FunctionKind, Inst, Operand, VarId},
    isa::Access,
    op::Op,
    visit,
};

/// Names of outputs.
const OUTPUTS: &[&str] = &["out", "dst", "result"];
/// Parameters that are followed.
const MOST: usize = 64;

pub(super) fn check(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let function = scene.function;
    if function.kind != FunctionKind::Entry || function.params.len() > MOST {
        return;
    }
    // The parameters that each register's value may come from.
    let mut from = vec![0u64; function.regs.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (_, inst) in scene.insts() {
            let all = sources(inst, &from);
            visit::registers(inst, |reg, access| {
                if access == Access::Write && from[reg.index()] | all != from[reg.index()] {
                    from[reg.index()] |= all;
                    changed = true;
                }
            });
        }
    }
    // A store through it, or one of it: then someone else may store.
    let stored = scene
        .insts()
        .filter(|(_, inst)| stores(inst))
        .fold(0, |all, (_, inst)| all | sources(inst, &from));
    for (at, param) in function.params.iter().enumerate() {
        let word = |word: &&str| param.name.to_ascii_lowercase().contains(*word);
        let pointer = param.ty.bits() == 64 && param.dims.is_empty();
        if pointer && OUTPUTS.iter().any(word) && stored >> at & 1 == 0 {
            let name = param.name.to_string();
            let code = Code::NoStore { name };
            found.push(scene.finding(code, Certainty::Note, function.span));
        }
    }
}

fn stores(inst: &Inst) -> bool {
    let reads = [Op::Ld, Op::Ldu, Op::Prefetch, Op::Mov, Op::Cvta];
    let address = |operand: &Operand| matches!(operand, Operand::Addr(_) | Operand::List(_));
    !reads.contains(&inst.op) && inst.operands.iter().any(address)
}

/// The parameters that the operands come from.
fn sources(inst: &Inst, from: &[u64]) -> u64 {
    let mut all = 0;
    visit::registers(inst, |reg, access| {
        if access == Access::Read {
            all |= from[reg.index()];
        }
    });
    for operand in &inst.operands {
        let var = match operand {
            Operand::Var(var, _) => Some(*var),
            Operand::Addr(address) => match address.base {
                Base::Var(var) => Some(var),
                Base::Reg(_) | Base::Absolute => None,
            },
            _ => None,
        };
        if let Some(VarId::Param(at)) = var {
            all |= 1 << (at as usize % MOST);
        }
    }
    all
}
