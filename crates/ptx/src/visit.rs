//! Which registers an instruction reads and writes.

use crate::{
    ir::{Base, Inst, Operand, RegId, Stmt},
    isa::{self, Access, Form, Shape},
    op::Op,
};

/// Calls `each` with every register that an instruction names, the guard first, and whether it is
/// read or written there. Of a form that is not in the table, the first operand counts as written
/// and the others as read.
pub fn registers(inst: &Inst, each: impl FnMut(RegId, Access)) {
    registers_of(inst, isa::form(inst.op, &inst.quals).as_ref(), each);
}

/// As [`registers`], where the form is known.
fn registers_of(inst: &Inst, form: Option<&Form>, mut each: impl FnMut(RegId, Access)) {
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
    let mut slots = form.and_then(|form| form.assign(inst.operands.len()));
    for (at, operand) in inst.operands.iter().enumerate() {
        let access = match slots.as_mut().map(Iterator::next) {
            Some(Some(slot)) => slot.access,
            Some(None) | None if at == 0 => Access::Write,
            Some(None) | None => Access::Read,
        };
        of_operand(operand, access, &mut each);
    }
}

/// The registers that each statement of a body names, in the order of [`registers`]; looked up once, for those who need
/// them several times.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    all: Vec<(RegId, Access)>,
    ends: Vec<u32>,
}

impl Registers {
    /// Of a body.
    pub fn new(body: &[Stmt]) -> Registers {
        let form = |inst: &Inst| isa::form(inst.op, &inst.quals);
        let forms: Vec<Option<Form>> = body.iter().map(|stmt| stmt.inst().and_then(form)).collect();
        Registers::with_forms(body, forms.iter().map(Option::as_ref))
    }

    /// Of a body whose forms were looked up before, statement by statement.
    pub(crate) fn with_forms<'f>(
        body: &[Stmt],
        forms: impl Iterator<Item = Option<&'f Form>>,
    ) -> Registers {
        let mut out = Registers {
            all: Vec::with_capacity(4 * body.len()),
            ends: Vec::with_capacity(body.len()),
        };
        for (stmt, form) in body.iter().zip(forms) {
            if let Some(inst) = stmt.inst() {
                registers_of(inst, form, |reg, access| out.all.push((reg, access)));
            }
            out.ends.push(out.all.len() as u32);
        }
        out
    }

    /// Those of one statement.
    pub fn of(&self, stmt: usize) -> &[(RegId, Access)] {
        let start = stmt.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[start as usize..self.ends[stmt] as usize]
    }

    /// Those that a statement reads.
    pub fn read(&self, stmt: usize) -> impl Iterator<Item = RegId> {
        self.with(stmt, Access::Read)
    }

    /// Those that a statement writes.
    pub fn written(&self, stmt: usize) -> impl Iterator<Item = RegId> {
        self.with(stmt, Access::Write)
    }

    fn with(&self, stmt: usize, wanted: Access) -> impl Iterator<Item = RegId> {
        let named = self.of(stmt).iter();
        named
            .filter(move |(_, access)| *access == wanted)
            .map(|(reg, _)| *reg)
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
    Some(slots.map(|slot| slot.shape).collect())
}
