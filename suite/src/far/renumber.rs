//! CTAs that believe to have another index than they were launched with.

use warpsmith_ptx::{
    ir::{Imm, Inst, Module, Operand, Reg, RegId, Span, Stmt, StmtKind},
    op::Op,
    qual::Qual,
    special::Special,
    types::Type,
};

/// How the index of a launched CTA becomes the one it has in the whole grid: `id + id / group * stride + start`.
pub(super) struct Renumber {
    pub(super) group: u64,
    pub(super) stride: u64,
    pub(super) start: u64,
    pub(super) grid: u64,
}

impl Renumber {
    pub(super) fn renumber(self, mut module: Module) -> Module {
        for function in &mut module.functions {
            let own = RegId(function.regs.len() as u32);
            function.regs.push(Reg {
                ty: Type::U32,
                prefix: "%far".into(),
                number: None,
            });
            let body = function.body.take().unwrap_or_default();
            function.body = Some(
                body.into_iter()
                    .flat_map(|stmt| self.stmt(stmt, own))
                    .collect(),
            );
        }
        module
    }

    fn stmt(&self, mut stmt: Stmt, own: RegId) -> Vec<Stmt> {
        let mut more = Vec::new();
        if let StmtKind::Inst(inst) = &mut stmt.kind {
            let reads = |special| inst.operands.contains(&Operand::Special(special));
            let int = |value: u64| Operand::Imm(Imm::uint(value));
            if reads(Special::CtaidX) {
                let id = inst.operands[0].clone();
                let u32s = [Qual::T(Type::U32)];
                let group = [Operand::Reg(own), id.clone(), int(self.group)];
                let stride = [id.clone(), Operand::Reg(own), int(self.stride), id.clone()];
                more.push(Inst::new(Op::Div, &u32s, group));
                more.push(Inst::new(Op::Mad, &[Qual::Lo, u32s[0]], stride));
                more.push(Inst::new(Op::Add, &u32s, [id.clone(), id, int(self.start)]));
            } else if reads(Special::NctaidX) {
                inst.operands[1] = int(self.grid);
            }
        }
        let more = more.into_iter().map(|inst| Stmt {
            kind: StmtKind::Inst(inst),
            span: Span::None,
        });
        std::iter::once(stmt).chain(more).collect()
    }
}
