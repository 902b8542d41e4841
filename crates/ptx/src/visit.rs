//! Which registers an instruction reads and writes.

use crate::{
    ir::{Base, Inst, Operand, RegId},
    isa::{self, Access, Shape},
    op::Op,
};

/// Calls `each` with every register that an instruction names, the guard first, and whether it is
/// read or written there. Of a form that is not in the table, the first operand counts as written
/// and the others as read.
pub fn registers(inst: &Inst, mut each: impl FnMut(RegId, Access)) {
    if let Some(guard) = inst.guard {
        each(guard.reg, Access::Read);
    }
    if inst.op == Op::Call {
        let mut callee_seen = false;
        for operand in &inst.operands {
            let results = !callee_seen && matches!(operand, Operand::List(_));
            callee_seen |= matches!(operand, Operand::Func(_) | Operand::Reg(_));
            let access = if results { Access::Write } else { Access::Read };
            of_operand(operand, access, &mut each);
        }
        return;
    }
    let form = isa::form(inst.op, &inst.quals);
    let slots = form.and_then(|form| form.assign(inst.operands.len()));
    for (at, operand) in inst.operands.iter().enumerate() {
        let access = match &slots {
            Some(slots) => slots[at].access,
            None if at == 0 => Access::Write,
            None => Access::Read,
        };
        of_operand(operand, access, &mut each);
    }
}

/// Calls `each` with every register of one operand; those of an address are read.
pub fn of_operand(operand: &Operand, access: Access, each: &mut impl FnMut(RegId, Access)) {
    match operand {
        Operand::Reg(id) | Operand::NotReg(id) => each(*id, access),
        Operand::Addr(address) => {
            if let Base::Reg(id) = address.base {
                each(id, Access::Read);
            }
        }
        // Nesting is at most two deep: the parser makes no more.
        Operand::Vec(items) | Operand::List(items) => {
            for item in items {
                of_operand(item, access, each);
            }
        }
        Operand::Pair(pair) => {
            of_operand(&pair.0, access, each);
            of_operand(&pair.1, access, each);
        }
        Operand::Imm(_)
        | Operand::Special(_)
        | Operand::Var(..)
        | Operand::Label(_)
        | Operand::Func(_)
        | Operand::Sink => {}
    }
}

/// Whether an instruction takes part in a barrier of the CTA or waits for its warp or cluster, and
/// demands that a whole warp executes it together.
pub fn needs_whole_warp(inst: &Inst) -> bool {
    use crate::qual::Qual;
    match inst.op {
        // `bar` is `barrier.aligned`; `bar.warp.sync` names its lanes.
        Op::Bar => !inst.quals.has(Qual::Warp),
        Op::Barrier
        | Op::Mma
        | Op::Wmma
        | Op::Wgmma
        | Op::Ldmatrix
        | Op::Stmatrix
        | Op::Movmatrix
        | Op::Setmaxnreg => inst.quals.has(Qual::Aligned),
        _ => false,
    }
}

/// The shape of each operand of an instruction whose form is known.
pub fn shapes(inst: &Inst) -> Option<Vec<Shape>> {
    let form = isa::form(inst.op, &inst.quals)?;
    let slots = form.assign(inst.operands.len())?;
    Some(slots.iter().map(|slot| slot.shape).collect())
}
