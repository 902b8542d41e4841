//! Variables: where they may be declared, their sizes, initialisers, and static shared memory.

use super::Check;
use crate::{
    diag::{Code, Diagnostic},
    ir::{Address, Base, Function, FunctionKind, Init, Operand, Span, StmtKind, Var, VarId},
    types::{Space, Type},
};

/// What a kernel may have without asking at launch.
const STATIC_SHARED: u64 = 48 << 10;

impl<'m> Check<'m> {
    pub(super) fn module_vars(&mut self) {
        for var in &self.module.vars {
            let place = matches!(var.space, Space::Global | Space::Const | Space::Shared);
            self.declared(None, var, place);
        }
    }

    pub(super) fn function_vars(&mut self, function: &'m Function) {
        for var in function.params.iter().chain(&function.returns) {
            self.declared(Some(function), var, var.space == Space::Param);
        }
        for var in &function.vars {
            let place = matches!(var.space, Space::Shared | Space::Local | Space::Param);
            self.declared(Some(function), var, place);
        }
    }

    fn declared(&mut self, function: Option<&Function>, var: &Var, place: bool) {
        let name = || var.name.to_string();
        let mut faults = Vec::new();
        if !place || var.ty == Type::Pred {
            let (name, space) = (name(), Code::space(var.space));
            faults.push(Code::BadVariable { name, space });
        }
        if let Some(align) = var.align.filter(|align| !align.is_power_of_two()) {
            let name = name();
            faults.push(Code::BadAlignment { name, align });
        }
        if var.bytes().is_none() {
            faults.push(Code::SizeOverflow { name: name() });
        }
        if let Some(init) = &var.init {
            let elements = var
                .dims
                .iter()
                .try_fold(u64::from(var.vector), |all, dim| all.checked_mul((*dim)?));
            if elements.is_some_and(|elements| values(init) > elements) {
                faults.push(Code::InitTooLong { name: name() });
            }
        }
        for code in faults {
            let span = function.map_or(Span::None, |function| function.span);
            let fault = Diagnostic::new(code, span);
            self.push(match function {
                Some(function) => fault.in_function(&function.name),
                None => fault,
            });
        }
    }

    /// Adds up what each kernel and the functions it calls declare in shared memory.
    pub(super) fn static_shared(&mut self) {
        let module = self.module;
        for kernel in &module.functions {
            if kernel.kind != FunctionKind::Entry || kernel.body.is_none() {
                continue;
            }
            let mut reached = vec![false; module.functions.len()];
            let mut used = vec![false; module.vars.len()];
            let mut work = vec![kernel];
            let mut bytes = 0u64;
            let mut add = |var: &Var| {
                if var.space == Space::Shared {
                    let align = u64::from(var.alignment());
                    let start = bytes.div_ceil(align).saturating_mul(align);
                    bytes = start.saturating_add(var.bytes().unwrap_or(u64::MAX));
                }
            };
            while let Some(function) = work.pop() {
                function.vars.iter().for_each(&mut add);
                for stmt in function.body.as_deref().unwrap_or(&[]) {
                    let StmtKind::Inst(inst) = &stmt.kind else {
                        continue;
                    };
                    for operand in &inst.operands {
                        match operand {
                            Operand::Var(VarId::Module(at), _)
                            | Operand::Addr(Address {
                                base: Base::Var(VarId::Module(at)),
                                ..
                            }) => {
                                let at = *at as usize;
                                if let (Some(seen), Some(var)) =
                                    (used.get_mut(at), module.vars.get(at))
                                    && !std::mem::replace(seen, true)
                                {
                                    add(var);
                                }
                            }
                            Operand::Func(id) => {
                                let name = module.functions.get(id.index()).map(|f| &f.name);
                                let callee = module
                                    .functions
                                    .iter()
                                    .enumerate()
                                    .find(|(_, f)| Some(&f.name) == name && f.body.is_some());
                                if let Some((at, callee)) = callee
                                    && !std::mem::replace(&mut reached[at], true)
                                {
                                    work.push(callee);
                                }
                            }
                            _ => {}
                        }
                    }
                }
            }
            if bytes > STATIC_SHARED {
                let limit = STATIC_SHARED;
                let fault = Diagnostic::new(Code::StaticShared { bytes, limit }, kernel.span)
                    .in_function(&kernel.name)
                    .with_help("declare it `.extern .shared` and give its size at launch");
                self.push(fault);
            }
        }
    }
}

/// How many values an initialiser gives.
fn values(init: &Init) -> u64 {
    match init {
        Init::Imm(_) | Init::Address { .. } => 1,
        // Inner lists may leave their tails to zero: at least one value each counts.
        Init::List(items) => items.iter().map(values).sum(),
    }
}
