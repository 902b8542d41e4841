//! Accesses to the shared memory of a cluster as accesses by generic addresses, for the rest of lowering.
//!
//! `ld.shared::cluster.u32 d, [a+4]` becomes `cvta.shared::cluster.u64 t, a` and `ld.u32 d, [t+4]`. Of `mapa` and `getctarank`
//! of generic addresses it is the reverse: they become those of the window of shared memory.

use warpsmith_ptx::{
    ir::{Address, Base, Function, Inst, Operand, Reg, RegId, Stmt, StmtKind},
    op::Op,
    qual::Qual,
    types::Type,
};

/// The function with such accesses replaced; `None` if it has none.
pub(crate) fn distributed(function: &Function) -> Option<Function> {
    let body = function.body.as_deref()?;
    let is_one = |stmt: &Stmt| {
        stmt.inst()
            .is_some_and(|inst| is_access(inst) || is_generic(inst))
    };
    if !body.iter().any(is_one) {
        return None;
    }
    let mut out = function.clone();
    let mut rewrite = Rewrite {
        regs: &mut out.regs,
        own: 0,
        to: Vec::with_capacity(body.len() + 8),
    };
    for stmt in body {
        match stmt.inst() {
            Some(inst) if is_access(inst) => rewrite.access(stmt, inst),
            Some(inst) if is_generic(inst) => rewrite.generic(stmt, inst),
            _ => rewrite.to.push(stmt.clone()),
        }
    }
    out.body = Some(rewrite.to);
    Some(out)
}

/// Whether an instruction accesses one place in the window of the cluster.
fn is_access(inst: &Inst) -> bool {
    let has = |word| inst.quals.has(word);
    let asynchronous = has(Qual::Async);
    has(Qual::SharedCluster)
        && match inst.op {
            Op::Ld | Op::Atom | Op::Mbarrier => true,
            Op::St | Op::Red => !asynchronous,
            _ => false,
        }
}

/// Whether it asks about a generic address.
fn is_generic(inst: &Inst) -> bool {
    matches!(inst.op, Op::Mapa | Op::Getctarank) && !inst.quals.has(Qual::SharedCluster)
}

struct Rewrite<'f> {
    regs: &'f mut Vec<Reg>,
    /// How many registers it has made.
    own: u32,
    to: Vec<Stmt>,
}

impl Rewrite<'_> {
    fn register(&mut self) -> RegId {
        self.regs.push(Reg {
            ty: Type::B64,
            prefix: "%generic".into(),
            number: Some(self.own),
        });
        self.own += 1;
        RegId(self.regs.len() as u32 - 1)
    }

    /// An instruction where `stmt` stands, under the guard of its own.
    fn push(&mut self, stmt: &Stmt, op: Op, quals: &[Qual], operands: Vec<Operand>) {
        let mut inst = Inst::new(op, quals, operands);
        inst.guard = stmt.inst().and_then(|own| own.guard);
        self.to.push(Stmt {
            kind: StmtKind::Inst(inst),
            span: stmt.span,
        });
    }

    /// `cvta` between the window of the cluster and generic addresses.
    fn converted(&mut self, stmt: &Stmt, from: Operand, to: bool) -> RegId {
        let reg = self.register();
        let quals = [Qual::To, Qual::SharedCluster, Qual::T(Type::U64)];
        let quals = if to { &quals[..] } else { &quals[1..] };
        self.push(stmt, Op::Cvta, quals, vec![Operand::Reg(reg), from]);
        reg
    }

    fn access(&mut self, stmt: &Stmt, inst: &Inst) {
        let mut inst = inst.clone();
        let is_address = |operand: &Operand| matches!(operand, Operand::Addr(_));
        let at = inst.operands.iter().position(is_address);
        let Some(Operand::Addr(address)) = at.map(|at| inst.operands[at].clone()) else {
            self.to.push(stmt.clone());
            return;
        };
        let generic = match address.base {
            // Its own, whatever the window.
            Base::Var(_) | Base::Absolute => None,
            Base::Reg(reg) => {
                let wide = self.regs[reg.index()].ty.bits() == 64;
                let from = if wide {
                    reg
                } else {
                    let wide = self.register();
                    let quals = [Type::U64, Type::U32].map(Qual::T);
                    let operands = vec![Operand::Reg(wide), Operand::Reg(reg)];
                    self.push(stmt, Op::Cvt, &quals, operands);
                    wide
                };
                Some(self.converted(stmt, Operand::Reg(from), false))
            }
        };
        let own = generic.is_none().then_some(Qual::Shared);
        let words: Vec<Qual> = inst
            .quals
            .as_slice()
            .iter()
            .filter_map(|word| match word {
                Qual::SharedCluster => own,
                word => Some(*word),
            })
            .collect();
        inst.quals = warpsmith_ptx::qual::Quals::new(&words);
        if let (Some(reg), Some(at)) = (generic, at) {
            inst.operands[at] = Operand::Addr(Address {
                base: Base::Reg(reg),
                offset: address.offset,
            });
        }
        self.to.push(Stmt {
            kind: StmtKind::Inst(inst),
            span: stmt.span,
        });
    }

    fn generic(&mut self, stmt: &Stmt, inst: &Inst) {
        let (Some(to), Some(from)) = (inst.operands.first(), inst.operands.get(1)) else {
            self.to.push(stmt.clone());
            return;
        };
        // A variable stands in the window already.
        let inside = match from {
            Operand::Var(..) => from.clone(),
            other => Operand::Reg(self.converted(stmt, other.clone(), true)),
        };
        let quals = [Qual::SharedCluster, Qual::T(Type::U64)];
        if inst.op == Op::Getctarank {
            self.push(stmt, inst.op, &quals, vec![to.clone(), inside]);
            return;
        }
        let mapped = self.register();
        let rank = inst.operands.get(2).cloned().unwrap_or(Operand::Sink);
        let operands = vec![Operand::Reg(mapped), inside, rank];
        self.push(stmt, inst.op, &quals, operands);
        let quals = [Qual::SharedCluster, Qual::T(Type::U64)];
        let operands = vec![to.clone(), Operand::Reg(mapped)];
        self.push(stmt, Op::Cvta, &quals, operands);
    }
}
