//! Parameters of functions that are registers, read as parameters that are loaded at the start and stored before
//! each return: a call may give registers to either.

use super::{Parser, Result, body::Body, scope, scope::Symbol};
use crate::{
    ir::{Address, Base, Guard, Inst, Operand, RegId, Span, Stmt, StmtKind, Var, VarId},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// A parameter that was written as a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Register {
    /// [`VarId::Param`] or [`VarId::Return`].
    pub(super) var: VarId,
    ty: Type,
}

/// Turns register parameters, which [`Parser::register_param`] marks, into plain ones; which those are.
pub(super) fn take(params: &mut [Var], returns: &mut [Var]) -> Vec<Register> {
    let mut out = Vec::new();
    let lists: [(&mut [Var], fn(u32) -> VarId); 2] =
        [(params, VarId::Param), (returns, VarId::Return)];
    for (vars, id) in lists {
        for (at, var) in vars.iter_mut().enumerate() {
            if var.space == MARK {
                var.space = Space::Param;
                let (var, ty) = (id(at as u32), var.ty);
                out.push(Register { var, ty });
            }
        }
    }
    out
}

/// No variable is declared in this space.
const MARK: Space = Space::Generic;

/// The type that an access of a register's whole width names.
fn access(ty: Type) -> Qual {
    Qual::T(match ty.bits() {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        _ => Type::B64,
    })
}

impl<'t> Parser<'t> {
    /// `.reg .b32 name`, marked for [`take`].
    pub(super) fn register_param(&mut self) -> Result<(Var, &'t str)> {
        self.advance();
        let span = self.here();
        if matches!(self.token().text, ".v2" | ".v4") {
            return Err(self.unread("vector registers"));
        }
        let ty = self.type_here()?;
        if ty == Type::Pred || ty.bits() > 64 {
            let what = format!("a parameter that is a {ty} register");
            return Err(self.fault(crate::diag::Code::Unsupported { what }, span));
        }
        let name = self.param_name()?;
        let mut var = Var::new(name.to_owned(), MARK, ty);
        var.span = span;
        Ok((var, name))
    }

    /// Declares the register of a parameter and loads it; the parameter gets a name of its own.
    pub(super) fn load_register(
        &mut self,
        body: &mut Body<'t>,
        name: &'t str,
        register: Register,
    ) -> bool {
        let function = &mut self.module.functions[body.function.index()];
        let reg = RegId(function.regs.len() as u32);
        let Some(unique) = body.scopes.declare(name, Symbol::Reg(reg)) else {
            return false;
        };
        function.regs.push(scope::register(register.ty, &unique));
        let (list, at) = match register.var {
            VarId::Return(at) => (&mut function.returns, at),
            VarId::Param(at) | VarId::Module(at) | VarId::Function(at) => {
                (&mut function.params, at)
            }
        };
        if let Some(var) = list.get_mut(at as usize) {
            var.name = body.scopes.claim(name).into();
        }
        let span = function.span;
        match register.var {
            VarId::Return(_) => body.results.push((reg, register)),
            _ => {
                let load = Inst::new(
                    Op::Ld,
                    &[Qual::Param, access(register.ty)],
                    [Operand::Reg(reg), place(register.var)],
                );
                body.stmts.push(Stmt {
                    kind: StmtKind::Inst(load),
                    span,
                });
            }
        }
        true
    }
}

fn place(var: VarId) -> Operand {
    Operand::Addr(Address {
        base: Base::Var(var),
        offset: 0,
    })
}

impl Body<'_> {
    /// Stores the registers that are results, as a return with this guard needs it.
    pub(super) fn store_results(&mut self, guard: Option<Guard>, span: Span) {
        for (reg, register) in &self.results {
            let mut store = Inst::new(
                Op::St,
                &[Qual::Param, access(register.ty)],
                [place(register.var), Operand::Reg(*reg)],
            );
            store.guard = guard;
            self.stmts.push(Stmt {
                kind: StmtKind::Inst(store),
                span,
            });
        }
    }

    /// Whether the end of the body can be reached.
    pub(super) fn falls_through(&self) -> bool {
        let last = self.stmts.last().and_then(Stmt::inst);
        last.is_none_or(|inst| {
            inst.guard.is_some()
                || !matches!(inst.op, Op::Ret | Op::Exit | Op::Bra | Op::Brx | Op::Trap)
        })
    }
}
