//! The verifier: the only maker of [`Verified`].
//!
//! It refuses what is provably wrong and reports all of it; what is only possible is left to run
//! time. A module of our language gets the lowest `.version` that its forms and target need; text
//! keeps its own, and forms newer than that are refused.

mod constants;
mod flow;
mod forms;
mod init;
mod matrix;
mod operands;
mod tensor;
mod texture;
mod vars;

use crate::{
    cfg::Cfg,
    diag::{Code, Diagnostic},
    ir::{
        Directive, Function, Inst, LabelId, Module, Operand, Origin, RegId, Span, Stmt, StmtKind,
    },
    isa::{self, Form, Need},
    op::Op,
    print,
    qual::Qual,
    special::Special,
    target::{PtxVersion, Target},
    visit::Registers,
};
use forms::{Forms, Known};
use std::{ops::Deref, sync::Arc};

/// A module that passed [`verify`]. Printing for a device, and running, take nothing else.
#[derive(Clone, Debug)]
pub struct Verified(Arc<Module>);

impl Verified {
    /// Its PTX text.
    pub fn text(&self) -> String {
        print::print(&self.0)
    }
}

impl Deref for Verified {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.0
    }
}

/// The lowest PTX version that a module's target, forms, special registers and directives need.
/// What does not exist, or not on the target, counts for nothing: [`verify`] refuses it.
pub fn lowest_version(module: &Module) -> PtxVersion {
    lowest(module, &Forms::of(module))
}

fn lowest(module: &Module, forms: &Forms) -> PtxVersion {
    let target = module.target;
    let mut lowest = target.first_version().unwrap_or(PtxVersion::new(4, 0));
    lowest = forms.lowest().fold(lowest, PtxVersion::max);
    for function in &module.functions {
        for directive in &function.directives {
            lowest = lowest.max(directive_need(directive).ptx);
        }
        for stmt in function.body.as_deref().unwrap_or(&[]) {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            for operand in &inst.operands {
                if let Operand::Special(special) = operand {
                    lowest = lowest.max(special_need(*special).ptx);
                }
            }
        }
    }
    lowest
}

fn directive_need(directive: &Directive) -> Need {
    let need = |major, minor, sm| Need::new(PtxVersion::new(major, minor), sm);
    match directive {
        Directive::Other(name, _) if name == ".blocksareclusters" => need(9, 0, 90),
        Directive::Other(name, _) if name.contains("cluster") => need(7, 8, 90),
        Directive::NoReturn => need(6, 4, 30),
        Directive::MaxNtid(_)
        | Directive::ReqNtid(_)
        | Directive::MinNctaPerSm(_)
        | Directive::MaxNreg(_)
        | Directive::Pragma(_)
        | Directive::Other(..) => Need::NONE,
    }
}

/// The first PTX version and SM with a special register, as far as they exceed what any target of
/// ours has.
fn special_need(special: Special) -> Need {
    let need = |major, minor, sm| Need::new(PtxVersion::new(major, minor), sm);
    let name = special.name();
    match special {
        Special::AggrSmemSize => need(8, 1, 90),
        Special::CurrentGraphExec => need(8, 0, 50),
        Special::ReservedSmemOffsetBegin
        | Special::ReservedSmemOffsetEnd
        | Special::ReservedSmemOffsetCap
        | Special::ReservedSmemOffset0
        | Special::ReservedSmemOffset1 => need(7, 6, 80),
        _ if name.contains("cluster") => need(7, 8, 90),
        _ => Need::NONE,
    }
}

/// Checks a module; all that is wrong with it otherwise.
///
/// ```
/// use warpsmith_ptx::{parse::parse, verify::verify};
///
/// let text = "
/// .version 7.0
/// .target sm_70
/// .address_size 64
/// .visible .entry f() {
///     .reg .f32 %f1;
///     add.u32 %f1, %f1, 1;
///     ret;
/// }";
/// let found = verify(parse(text).expect("it parses")).expect_err("a float in an integer addition");
/// assert_eq!(found.len(), 2); // what is written and what is read
/// ```
pub fn verify(mut module: Module) -> Result<Verified, Vec<Diagnostic>> {
    // Looked up once: most of the time of checking is finding forms.
    let forms = Forms::of(&module);
    let language = |function: &Function| function.origin == Origin::Language;
    if module.functions.iter().any(language) {
        module.version = lowest(&module, &forms);
    }
    for function in &mut module.functions {
        order_labels(function);
    }
    let mut check = Check {
        module: &module,
        found: Vec::new(),
    };
    check.run(&forms);
    let mut found = check.found;
    if found.is_empty() {
        Ok(Verified(Arc::new(module)))
    } else {
        found.truncate(MAX_FINDINGS);
        Err(found)
    }
}

/// Findings reported at most.
const MAX_FINDINGS: usize = 1000;

/// Renumbers labels in the order they are placed, which is the order the parser gives them, so
/// that printing and parsing gives an equal function. Leaves wrong functions as they are.
fn order_labels(function: &mut Function) {
    let count = function.labels.len();
    let mut order = Vec::with_capacity(count);
    let mut place = vec![None; count];
    for stmt in function.body.as_deref().unwrap_or(&[]) {
        if let Some(label) = placed(stmt) {
            match place.get_mut(label.index()) {
                Some(slot @ None) => *slot = Some(LabelId(order.len() as u32)),
                _ => return,
            }
            order.push(label);
        }
    }
    let same = |(at, label): (usize, &LabelId)| label.index() == at;
    if order.len() == count && order.iter().enumerate().all(same) {
        return;
    }
    let mut placed = true;
    for stmt in function.body.as_deref().unwrap_or(&[]) {
        labels(stmt, |id| {
            placed &= place.get(id.index()).is_some_and(Option::is_some);
        });
    }
    if !placed {
        return;
    }
    let new = |label: &mut LabelId| {
        if let Some(Some(to)) = place.get(label.index()) {
            *label = *to;
        }
    };
    for stmt in function.body.as_deref_mut().unwrap_or(&mut []) {
        match &mut stmt.kind {
            StmtKind::Inst(inst) => {
                for operand in &mut inst.operands {
                    if let Operand::Label(label) = operand {
                        new(label);
                    }
                }
            }
            StmtKind::Label(name)
            | StmtKind::CallPrototype { name, .. }
            | StmtKind::CallTargets { name, .. } => new(name),
            StmtKind::BranchTargets { name, targets } => {
                new(name);
                targets.iter_mut().for_each(new);
            }
            StmtKind::Loc { .. } | StmtKind::Pragma(_) => {}
        }
    }
    function.labels = order
        .iter()
        .map(|label| function.labels[label.index()].clone())
        .collect();
}

/// The label that a statement places.
fn placed(stmt: &Stmt) -> Option<LabelId> {
    match &stmt.kind {
        StmtKind::Label(name)
        | StmtKind::BranchTargets { name, .. }
        | StmtKind::CallPrototype { name, .. }
        | StmtKind::CallTargets { name, .. } => Some(*name),
        StmtKind::Inst(_) | StmtKind::Loc { .. } | StmtKind::Pragma(_) => None,
    }
}

/// Calls `each` with the labels that a statement refers to.
#[inline]
fn labels(stmt: &Stmt, mut each: impl FnMut(LabelId)) {
    match &stmt.kind {
        StmtKind::Inst(inst) => {
            for operand in &inst.operands {
                if let Operand::Label(id) = operand {
                    each(*id);
                }
            }
        }
        StmtKind::BranchTargets { targets, .. } => targets.iter().copied().for_each(each),
        StmtKind::Label(_)
        | StmtKind::CallPrototype { .. }
        | StmtKind::CallTargets { .. }
        | StmtKind::Loc { .. }
        | StmtKind::Pragma(_) => {}
    }
}

/// An instruction as messages show it.
fn form_text(inst: &Inst) -> String {
    format!("{}{}", inst.op.name(), inst.quals)
}

/// A register as messages show it.
fn reg_name(function: &Function, id: RegId) -> String {
    function
        .regs
        .get(id.index())
        .map_or_else(String::new, |reg| match reg.number {
            Some(number) => format!("{}{number}", reg.prefix),
            None => reg.prefix.to_string(),
        })
}

struct Check<'m> {
    module: &'m Module,
    found: Vec<Diagnostic>,
}

impl<'m> Check<'m> {
    fn report(&mut self, function: &Function, code: Code, span: Span) {
        self.push(Diagnostic::new(code, span).in_function(&function.name));
    }

    fn push(&mut self, fault: Diagnostic) {
        // One more than is reported, so that the text of the rest is never built.
        if self.found.len() <= MAX_FINDINGS {
            self.found.push(fault);
        }
    }

    fn run(&mut self, forms: &'m Forms) {
        let module = self.module;
        let (target, version) = (module.target, module.version);
        match target.first_version() {
            None => {
                let name = target.to_string();
                self.push(Diagnostic::new(Code::UnknownTarget { name }, module.span));
            }
            Some(needs) if needs > version => {
                let code = Code::TargetNeedsVersion {
                    target,
                    needs,
                    version,
                };
                self.push(Diagnostic::new(code, module.span));
            }
            Some(_) => {}
        }
        let debug = module.target_options.iter().any(|option| option == "debug");
        if debug
            && !module
                .sections
                .iter()
                .any(|text| text.starts_with(".section"))
        {
            let (name, needs) = (".target debug", ".section");
            self.push(Diagnostic::new(
                Code::NeedsDirective { name, needs },
                module.span,
            ));
        }
        self.module_vars();
        for (at, function) in module.functions.iter().enumerate() {
            self.function(function, forms, at);
        }
        self.static_shared();
        self.unresolved();
    }

    fn function(&mut self, function: &'m Function, forms: &'m Forms, at: usize) {
        self.function_vars(function);
        self.bounds(function);
        for directive in &function.directives {
            if let Directive::Other(name, _) = directive {
                self.need(function, name, directive_need(directive), function.span);
            }
        }
        let Some(body) = &function.body else {
            return;
        };
        let before = self.found.len();
        self.label_placement(function, body);
        for (stmt, form) in body.iter().zip(forms.function(at)) {
            if let StmtKind::Inst(inst) = &stmt.kind {
                self.inst(function, inst, form, stmt.span);
            }
        }
        // What follows relies on ids that exist.
        let dangling = self.found[before.min(self.found.len())..]
            .iter()
            .any(|fault| matches!(fault.code, Code::DanglingId { .. }));
        if dangling {
            return;
        }
        let cfg = Cfg::new(function);
        let registers = Registers::with_forms(
            body,
            forms
                .function(at)
                .map(|known| known.map(|known| &known.form)),
        );
        self.divergent_barriers(function, &cfg, &registers);
        if function.origin == Origin::Language {
            self.definitions(function, &cfg, &registers);
        }
    }

    fn label_placement(&mut self, function: &Function, body: &[Stmt]) {
        let mut seen = vec![false; function.labels.len()];
        for stmt in body {
            let Some(label) = placed(stmt) else {
                continue;
            };
            match seen.get_mut(label.index()) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => {
                    let name = function.labels[label.index()].to_string();
                    self.report(function, Code::DuplicateLabel { name }, stmt.span);
                }
                None => self.dangling(function, "label", label.0, seen.len(), stmt.span),
            }
        }
        for stmt in body {
            labels(stmt, |label| match seen.get(label.index()) {
                Some(true) => {}
                Some(false) => {
                    let name = function.labels[label.index()].to_string();
                    self.report(function, Code::UndefinedLabel { name }, stmt.span);
                }
                None => self.dangling(function, "label", label.0, seen.len(), stmt.span),
            });
        }
    }

    fn dangling(
        &mut self,
        function: &Function,
        what: &'static str,
        index: u32,
        count: usize,
        span: Span,
    ) {
        self.report(function, Code::DanglingId { what, index, count }, span);
    }

    /// Whether the form of an instruction is there for the target and the version.
    fn known_form(
        &mut self,
        function: &Function,
        inst: &Inst,
        form: Option<&'m Known>,
        span: Span,
    ) -> Option<&'m Form> {
        let (target, version) = (self.module.target, self.module.version);
        let Some(form) = form else {
            let form = form_text(inst);
            let code = if self.may_exist(inst) {
                let section = isa::section(inst.op, &inst.quals);
                let what = format!("the form `{form}` (PTX ISA {section})");
                Code::Unsupported { what }
            } else {
                Code::UnknownForm { form }
            };
            self.report(function, code, span);
            return None;
        };
        let Known { form, lowest } = form;
        match *lowest {
            None => {
                let code = Code::TooNewForTarget {
                    form: form_text(inst),
                    needs: form.first_target(),
                    target,
                };
                self.report(function, code, span);
            }
            Some(needs) if needs > version => {
                let code = Code::TooNewForVersion {
                    form: form_text(inst),
                    needs,
                    version,
                };
                self.report(function, code, span);
            }
            Some(_) => {}
        }
        Some(form)
    }

    /// Whether an instruction may be one that is not in the table: of a version behind it, or of an opcode that it
    /// has in part.
    fn may_exist(&self, inst: &Inst) -> bool {
        let module = self.module;
        // Before sm_70 and PTX 6.4 lanes of a warp were together without saying so.
        let old = module.target.sm < 70 || module.version < PtxVersion::new(6, 4);
        let whole_warp = matches!(inst.op, Op::Shfl | Op::Vote) && !inst.quals.has(Qual::Sync);
        isa::is_open(inst.op, &inst.quals)
            || (whole_warp && old)
            || module.version > PtxVersion::new(8, 8)
    }

    fn need(&mut self, function: &Function, name: &str, need: Need, span: Span) {
        let (target, version): (Target, PtxVersion) = (self.module.target, self.module.version);
        let form = name.to_owned();
        if !target.has(need.target) {
            let needs = need.target;
            let code = Code::TooNewForTarget {
                form,
                needs,
                target,
            };
            self.report(function, code, span);
        } else if need.ptx > version {
            let needs = need.ptx;
            let code = Code::TooNewForVersion {
                form,
                needs,
                version,
            };
            self.report(function, code, span);
        }
    }
}
