//! The top of a thread's stack: who moves it, and who finds no room.

use super::{Merge, Names};
use warpsmith_ptx::{
    ir::{Guard, Imm, Inst, Operand, StmtKind},
    op::Op,
    qual::Qual,
    types::Type,
};

impl Merge<'_> {
    /// `alloca` and what goes with it.
    pub(super) fn stack(&mut self, names: &Names, inst: &Inst) {
        let Some(top) = self.top.map(|[top, _]| Operand::Reg(top)) else {
            return;
        };
        let new = self.rewritten(names, inst);
        let bits = [Qual::T(Type::B64)];
        match (inst.op, &new.operands[..]) {
            (Op::Stacksave, [to]) => self.emit(Op::Mov, &bits, [to.clone(), top]),
            (Op::Stackrestore, [from]) => self.emit(Op::Mov, &bits, [top, from.clone()]),
            (_, [to, size, align @ ..]) => {
                let align = match align {
                    [Operand::Imm(Imm::Int(align))] => (*align).max(8),
                    _ => 8,
                };
                let start = self.reg(Type::B64);
                if let Operand::Reg(top) = top {
                    self.aligned(start, top, align);
                }
                let start = Operand::Reg(start);
                let int = [Qual::T(Type::U64)];
                self.emit(Op::Add, &int, [top, start.clone(), size.clone()]);
                self.room(names);
                self.emit(Op::Mov, &bits, [to.clone(), start]);
            }
            _ => {}
        }
    }

    /// Ends a thread whose stack has no room for what the function puts there.
    pub(super) fn room(&mut self, names: &Names) {
        let Some([top, end]) = self.top else {
            return;
        };
        let full = self.reg(Type::Pred);
        let operands = [full, top, end].map(Operand::Reg);
        self.emit(Op::Setp, &[Qual::Gt, Qual::T(Type::U64)], operands);
        let function = self.graph.order[names.at];
        let mut trap = Inst::new(Op::Trap, &[], [Operand::Func(function)]);
        trap.guard = Some(Guard {
            reg: full,
            negated: false,
        });
        self.put(StmtKind::Inst(trap));
    }
}
