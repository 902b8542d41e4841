//! Variables and bounds of launches: where they may be declared, their sizes and limits.

use super::Check;
use crate::{
    diag::{Code, Diagnostic},
    ir::{
        Address, Base, Directive, FuncId, Function, FunctionKind, Init, Linkage, Operand, Span,
        StmtKind, Var, VarId,
    },
    target::PtxVersion,
    types::{Space, Type},
};
use rustc_hash::FxHashSet;

/// What a kernel may have without asking at launch.
const STATIC_SHARED: u64 = 48 << 10;

/// All constant variables of a module together, in one bank.
const CONSTANT: u64 = 64 << 10;

/// Parameters of a kernel, everywhere; on sm_70 and later with PTX 8.1 there may be more.
const PARAMETERS: u64 = 4352;
const MORE_PARAMETERS: u64 = 32764;

impl<'m> Check<'m> {
    pub(super) fn module_vars(&mut self) {
        for var in &self.module.vars {
            let place = matches!(var.space, Space::Global | Space::Const | Space::Shared);
            self.declared(None, var, place);
        }
        let constants = self
            .module
            .vars
            .iter()
            .filter(|var| var.space == Space::Const);
        let mut names = FxHashSet::default();
        let (mut bytes, mut span) = (0u64, Span::None);
        for var in constants.filter(|var| names.insert(&*var.name)) {
            let before = bytes;
            bytes = behind(bytes, var);
            if before <= CONSTANT && bytes > CONSTANT {
                span = var.span;
            }
        }
        if bytes > CONSTANT {
            let limit = CONSTANT;
            let fault = Diagnostic::new(Code::ConstLimit { bytes, limit }, span);
            self.push(fault.with_help("put the larger tables into .global"));
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
        if function.kind != FunctionKind::Entry {
            return;
        }
        let bytes = function.params.iter().fold(0, behind);
        let module = self.module;
        let more = module.version >= PtxVersion::new(8, 1) && module.target.sm >= 70;
        let limit = if more { MORE_PARAMETERS } else { PARAMETERS };
        if bytes > limit {
            let help = "pass a pointer, or with .version 8.1 and sm_70 up to 32764 bytes";
            let code = Code::ParamLimit { bytes, limit };
            let fault = Diagnostic::new(code, function.span).in_function(&function.name);
            self.push(fault.with_help(help));
        }
    }

    fn declared(&mut self, function: Option<&Function>, var: &Var, place: bool) {
        let name = || var.name.to_string();
        let mut faults = Vec::new();
        let common = var.linkage == Linkage::Common && var.space != Space::Global;
        let vector = var.space == Space::Param && var.vector > 1;
        if !place || var.ty == Type::Pred || common || vector {
            let (name, space) = (name(), Code::space(var.space));
            faults.push(Code::BadVariable { name, space });
        }
        let aligns = [var.align, var.ptr.and_then(|(_, align)| align)];
        for align in aligns.into_iter().flatten() {
            if !align.is_power_of_two() {
                let name = name();
                faults.push(Code::BadAlignment { name, align });
            }
        }
        if var.bytes().is_none() {
            faults.push(Code::SizeOverflow { name: name() });
        }
        // The parameter of a function that is called may be an array of any size.
        let called = function.is_some_and(|function| function.kind == FunctionKind::Func);
        let outside = var.linkage == Linkage::Extern || (called && var.space == Space::Param);
        let sized = var.dims.iter().all(|dim| dim.is_some_and(|size| size > 0))
            || matches!(&var.init, Some(Init::List(items)) if !items.is_empty());
        if !sized && !outside {
            faults.push(Code::NoSize { name: name() });
        }
        if let Some(init) = &var.init {
            if outside || !matches!(var.space, Space::Global | Space::Const) {
                let space = if outside {
                    "another module"
                } else {
                    var.space.name()
                };
                faults.push(Code::InitSpace {
                    name: name(),
                    space,
                });
            }
            faults.extend(super::init::check(self.module, var, init));
        }
        let span = match (var.span, function) {
            (Span::None, Some(function)) => function.span,
            (span, _) => span,
        };
        for code in faults {
            let fault = Diagnostic::new(code, span);
            self.push(match function {
                Some(function) => fault.in_function(&function.name),
                None => fault,
            });
        }
    }

    /// What a kernel's directives say of its launches.
    pub(super) fn bounds(&mut self, function: &Function) {
        let mut given = [None, None];
        let (mut cluster, mut rank, mut blocks) = (false, false, false);
        for directive in &function.directives {
            let zero = match directive {
                Directive::MaxNtid(dims) => {
                    given[0] = Some(".maxntid");
                    (".maxntid", &dims[..])
                }
                Directive::ReqNtid(dims) => {
                    given[1] = Some(".reqntid");
                    (".reqntid", &dims[..])
                }
                Directive::MinNctaPerSm(count) => (".minnctapersm", std::slice::from_ref(count)),
                Directive::MaxNreg(count) => (".maxnreg", std::slice::from_ref(count)),
                Directive::Other(name, _) => {
                    cluster |= name == ".reqnctapercluster";
                    rank |= name == ".maxclusterrank";
                    blocks |= name == ".blocksareclusters";
                    continue;
                }
                Directive::NoReturn | Directive::Pragma(_) => continue,
            };
            let (name, numbers) = zero;
            if numbers.contains(&0) {
                let shown: Vec<String> = numbers.iter().map(u32::to_string).collect();
                let value = shown.join(", ");
                self.report(function, Code::ZeroBound { name, value }, function.span);
            }
        }
        if let [Some(one), Some(two)] = given {
            self.report(function, Code::Conflict { one, two }, function.span);
        }
        if cluster && rank {
            let (one, two) = (".reqnctapercluster", ".maxclusterrank");
            self.report(function, Code::Conflict { one, two }, function.span);
        }
        let missing = [
            (cluster, ".reqnctapercluster"),
            (given[1].is_some(), ".reqntid"),
        ];
        for (_, needs) in missing.into_iter().filter(|(there, _)| blocks && !there) {
            let name = ".blocksareclusters";
            self.report(
                function,
                Code::NeedsDirective { name, needs },
                function.span,
            );
        }
    }

    /// Refuses to go on where the module needs what only another one has.
    pub(super) fn unresolved(&mut self) {
        let module = self.module;
        let mut faults = Vec::new();
        let mut what = |what: String, span| {
            faults.push(Diagnostic::new(Code::Unsupported { what }, span));
        };
        let mut sized = FxHashSet::default();
        for var in module.vars.iter().filter(|var| var.bytes() != Some(0)) {
            sized.insert(&*var.name);
        }
        for var in module
            .vars
            .iter()
            .filter(|var| var.linkage == Linkage::Extern)
        {
            if var.space != Space::Shared && !sized.contains(&*var.name) {
                what(
                    format!("variable `{}` of another module", var.name),
                    var.span,
                );
            }
        }
        let bodies = module
            .functions
            .iter()
            .filter(|function| function.body.is_some());
        let bodies: FxHashSet<&str> = bodies.map(|function| &*function.name).collect();
        let missing = |function: &Function| {
            function.kind == FunctionKind::Func
                && !bodies.contains(&*function.name)
                && !PROVIDED.contains(&&*function.name)
        };
        let mut needed = FxHashSet::default();
        for stmt in module
            .functions
            .iter()
            .flat_map(|f| f.body.iter().flatten())
        {
            let operands = stmt.inst().into_iter().flat_map(|inst| &inst.operands);
            for operand in operands {
                if let Operand::Func(id) = operand {
                    needed.insert(*id);
                }
            }
        }
        for (at, function) in module.functions.iter().enumerate() {
            let called = needed.contains(&FuncId(at as u32));
            let own = function.linkage != Linkage::Extern;
            if missing(function) && (called || own) {
                what(
                    format!("function `{}` of another module", function.name),
                    function.span,
                );
            }
        }
        faults.into_iter().for_each(|fault| self.push(fault));
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
                    bytes = behind(bytes, var);
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

/// Functions that the driver brings along.
const PROVIDED: &[&str] = &["vprintf", "malloc", "free", "__assertfail"];

/// Where a variable ends that is laid behind so many bytes.
fn behind(bytes: u64, var: &Var) -> u64 {
    let align = u64::from(var.alignment());
    let start = bytes.div_ceil(align).saturating_mul(align);
    start.saturating_add(var.bytes().unwrap_or(u64::MAX))
}
