//! What can be found in a module without running it, all at once.
//!
//! The verifier refuses what no device takes; this tells what a device takes and a kernel should not
//! do. It needs a module that parses, verified or not.

mod align;
mod defined;
mod diverge;
mod limits;
mod output;
mod reach;
mod space;
mod value;

pub use limits::Limits;

use crate::{
    cfg::Cfg,
    ir::{Base, Function, Module, Name, Operand, Span, StmtKind, Var, VarId},
    target::{PtxVersion, Target},
    uniform, visit,
};

/// What is wrong. The fields say what was expected and found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Code {
    #[error("`{form}` runs where threads of a warp may have gone different ways")]
    DivergentBarrier { form: String },
    #[error("register `{name}` is read where no path has written it")]
    NeverWritten { name: String },
    #[error("register `{name}` is read where a path has not written it")]
    MaybeUnwritten { name: String },
    #[error(
        "`{form}` accesses {bytes} bytes at an address that is {rest} above a multiple of {bytes}"
    )]
    Misaligned { form: String, bytes: u32, rest: u32 },
    #[error("`{form}` takes an address in .{space}, this one is generic")]
    GenericAddress { form: String, space: &'static str },
    #[error("`{form}` takes a generic address, this one is in .{space}")]
    SpaceAddress { form: String, space: &'static str },
    #[error("`{form}` takes an address in .{space}, this one is in .{found}")]
    OtherSpace {
        form: String,
        space: &'static str,
        found: &'static str,
    },
    #[error("{count} instructions that no path reaches")]
    Unreachable { count: usize },
    #[error("{bytes} bytes of static shared memory, {target} has {limit} for a CTA")]
    SharedLimit {
        bytes: u64,
        limit: u64,
        target: Target,
    },
    #[error("`{form}` needs {}, the device is {target}", needs.or_later())]
    TooNewForTarget {
        form: String,
        needs: Target,
        target: Target,
    },
    #[error("{bytes} bytes of local memory for a thread, devices have {limit}")]
    LocalLimit { bytes: u64, limit: u64 },
    #[error("`{name} {value}`, no device has more than {limit} threads to a CTA")]
    TooManyThreads {
        name: &'static str,
        value: String,
        limit: &'static str,
    },
    #[error("`{name}` stands twice with different numbers, the last one counts")]
    TwoBounds { name: &'static str },
    #[error("`.reqnctapercluster {value}`, no device has more than 16 CTAs to a cluster")]
    TooManyCtas { value: String },
    #[error("the module says PTX {version}, the device takes {limit}; what it has needs {lowest}")]
    TooNewVersion {
        version: PtxVersion,
        limit: PtxVersion,
        lowest: PtxVersion,
    },
    #[error("nothing is stored through the parameter `{name}`")]
    NoStore { name: String },
}

impl Code {
    /// The kind, as reports name it.
    pub fn name(&self) -> &'static str {
        match self {
            Code::DivergentBarrier { .. } => "barrier_divergence",
            Code::NeverWritten { .. } | Code::MaybeUnwritten { .. } => "uninit_register",
            Code::Misaligned { .. } => "misaligned",
            Code::GenericAddress { .. } | Code::SpaceAddress { .. } | Code::OtherSpace { .. } => {
                "bad_space"
            }
            Code::Unreachable { .. } => "unreachable",
            Code::SharedLimit { .. } => "shared_limit",
            Code::LocalLimit { .. } => "local_limit",
            Code::TooManyThreads { .. } | Code::TwoBounds { .. } | Code::TooManyCtas { .. } => {
                "launch_bounds"
            }
            Code::TooNewForTarget { .. } | Code::TooNewVersion { .. } => "target",
            Code::NoStore { .. } => "unwritten_output",
        }
    }

    /// What would help.
    pub fn help(&self) -> &'static str {
        match self {
            Code::DivergentBarrier { .. } => {
                "move it behind the place where the paths meet, or let whole warps decide"
            }
            Code::NeverWritten { .. } => "write it before it is read",
            Code::MaybeUnwritten { .. } => "write it on every path, or before the branch",
            Code::Misaligned { .. } => {
                "align the variable, or use a smaller access where the index is not a multiple"
            }
            Code::GenericAddress { .. } => "convert it with `cvta.to`, or leave the space out",
            Code::SpaceAddress { .. } => "convert it with `cvta`, or name the space",
            Code::OtherSpace { .. } => "name the space that the address is in",
            Code::Unreachable { .. } => "remove it, or add the branch that should lead to it",
            Code::SharedLimit { .. } => "declare less, or ask for dynamic shared memory",
            Code::LocalLimit { .. } => "declare less, or use global memory",
            Code::TooManyThreads { .. } => {
                "let a CTA have at most 1024 threads, 64 of them along z"
            }
            Code::TwoBounds { .. } => "leave one of them out",
            Code::TooManyCtas { .. } => "let a cluster have at most 16 CTAs",
            Code::TooNewForTarget { .. } => "build it for the device, or use another instruction",
            Code::TooNewVersion { .. } => "state the lowest `.version` that is needed",
            Code::NoStore { .. } => "store the results, or drop the parameter",
        }
    }
}

/// How sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// Wrong whenever it runs.
    Certain,
    /// Wrong on some path, or for some lanes.
    Possible,
    /// Worth knowing.
    Note,
}

/// Something wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What, with its values.
    pub code: Code,
    /// How sure.
    pub certainty: Certainty,
    /// The function; empty for what concerns the module.
    pub function: Name,
    /// Where.
    pub span: Span,
    /// The other place that takes part: the branch that splits, the conversion.
    pub other: Option<Span>,
}

/// A module with more findings has this many reported.
const MAX_FINDINGS: usize = 1000;

/// All that is found in a module.
pub fn find(module: &Module, limits: Limits) -> Vec<Finding> {
    let mut found = Vec::new();
    limits::check(module, limits, &mut found);
    for function in &module.functions {
        if function.body.is_none() || !ids_exist(module, function) {
            continue;
        }
        let cfg = Cfg::new(function);
        if cfg.blocks.is_empty() {
            continue;
        }
        let scene = Scene {
            module,
            function,
            cfg: &cfg,
        };
        let uniform = uniform::analyze(function, &cfg);
        let values = value::Values::new(&scene, &uniform);
        diverge::check(&scene, &uniform, &values, &mut found);
        align::check(&scene, &uniform, &values, &mut found);
        defined::check(&scene, &mut found);
        space::check(&scene, &mut found);
        reach::check(&scene, &mut found);
        output::check(&scene, &mut found);
        if found.len() > MAX_FINDINGS {
            break;
        }
    }
    found.truncate(MAX_FINDINGS);
    found
}

/// A function that is looked at.
pub(crate) struct Scene<'m> {
    pub(crate) module: &'m Module,
    pub(crate) function: &'m Function,
    pub(crate) cfg: &'m Cfg,
}

impl Scene<'_> {
    fn finding(&self, code: Code, certainty: Certainty, span: Span) -> Finding {
        Finding {
            code,
            certainty,
            function: self.function.name.clone(),
            span,
            other: None,
        }
    }
}

/// Whether every id that the function's body names exists: a parsed one's do.
fn ids_exist(module: &Module, function: &Function) -> bool {
    let mut fine = true;
    let labels = function.labels.len();
    for stmt in function.body.iter().flatten() {
        match &stmt.kind {
            StmtKind::Inst(inst) => {
                visit::registers(inst, |reg, _| fine &= reg.index() < function.regs.len());
                for operand in &inst.operands {
                    let var = match operand {
                        Operand::Var(var, _) => Some(*var),
                        Operand::Addr(address) => match address.base {
                            Base::Var(var) => Some(var),
                            Base::Reg(_) | Base::Absolute => None,
                        },
                        Operand::Label(label) => {
                            fine &= label.index() < labels;
                            None
                        }
                        _ => None,
                    };
                    fine &= var.is_none_or(|var| variable(module, function, var).is_some());
                }
            }
            StmtKind::Label(label) => fine &= label.index() < labels,
            StmtKind::BranchTargets { .. }
            | StmtKind::CallPrototype { .. }
            | StmtKind::CallTargets { .. }
            | StmtKind::Loc { .. }
            | StmtKind::Pragma(_) => {}
        }
    }
    fine
}

/// A variable by its id.
fn variable<'m>(module: &'m Module, function: &'m Function, var: VarId) -> Option<&'m Var> {
    match var {
        VarId::Module(at) => module.vars.get(at as usize),
        VarId::Function(at) => function.vars.get(at as usize),
        VarId::Param(at) => function.params.get(at as usize),
        VarId::Return(at) => function.returns.get(at as usize),
    }
}
