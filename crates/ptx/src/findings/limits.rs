//! A module against the device it is meant for: instructions, PTX version, shared memory.

use super::{Certainty, Code, Finding};
use crate::{
    ir::{Directive, Function, Module, Name, StmtKind, Var},
    isa,
    target::{PtxVersion, Suffix, Target},
    types::Space,
    verify::lowest_version,
};
use std::collections::BTreeSet;

/// The device that a module is meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Its target; the module's own if not given.
    pub target: Option<Target>,
    /// The newest PTX version that its driver takes.
    pub ptx: Option<PtxVersion>,
}

pub(super) fn check(module: &Module, limits: Limits, found: &mut Vec<Finding>) {
    let target = limits.target.unwrap_or(module.target);
    let mut add = |code, certainty, function: &Name, span| {
        found.push(Finding {
            code,
            certainty,
            function: function.clone(),
            span,
            other: None,
        });
    };
    let mut push = |code, function: &Name, span| add(code, Certainty::Certain, function, span);
    let of_module = Name::Borrowed("");
    let runs = module.target.runs_on(target);
    if !runs {
        let form = format!(".target {}", module.target);
        let needs = module.target;
        let code = Code::TooNewForTarget {
            form,
            needs,
            target,
        };
        push(code, &of_module, module.span);
    }
    // A device has all that is specific to it, whatever the module may use of that.
    let device = Target {
        suffix: Suffix::Arch,
        ..target
    };
    if let Some(limit) = limits.ptx.filter(|limit| module.version > *limit) {
        let code = Code::TooNewVersion {
            version: module.version,
            limit,
            lowest: lowest_version(module),
        };
        push(code, &of_module, module.version_span);
    }
    for function in &module.functions {
        let mut told = BTreeSet::new();
        for stmt in function.body.iter().flatten() {
            let StmtKind::Inst(inst) = &stmt.kind else {
                continue;
            };
            let Some(form) = isa::form_of(inst) else {
                continue;
            };
            let name = format!("{}{}", inst.op.name(), inst.quals);
            if !runs && form.lowest_version(device).is_none() && told.insert(name.clone()) {
                let code = Code::TooNewForTarget {
                    form: name,
                    needs: form.first_target(),
                    target,
                };
                push(code, &function.name, stmt.span);
            }
        }
        let shared = |var: &&Var| var.space == Space::Shared;
        let bytes = function.vars.iter().filter(shared).fold(0u64, |sum, var| {
            sum.saturating_add(var.bytes().unwrap_or(u64::MAX))
        });
        let limit = target.shared_limit().map_or(u64::MAX, u64::from);
        if bytes > limit {
            let code = Code::SharedLimit {
                bytes,
                limit,
                target,
            };
            push(code, &function.name, function.span);
        }
        let local = |var: &&Var| var.space == Space::Local;
        let bytes = function.vars.iter().filter(local).fold(0u64, |sum, var| {
            sum.saturating_add(var.bytes().unwrap_or(u64::MAX))
        });
        if bytes > LOCAL {
            let limit = LOCAL;
            push(
                Code::LocalLimit { bytes, limit },
                &function.name,
                function.span,
            );
        }
    }
    for function in &module.functions {
        for (code, certainty) in bounds(function) {
            add(code, certainty, &function.name, function.span);
        }
    }
}

/// Bytes of local memory that a thread has at most (CUDA C++ programming guide, "Compute capabilities").
const LOCAL: u64 = 512 << 10;

/// What a kernel's directives ask for and no device has, or say twice.
fn bounds(function: &Function) -> Vec<(Code, Certainty)> {
    let mut out = Vec::new();
    let mut seen: Vec<(&'static str, &[u32])> = Vec::new();
    for directive in &function.directives {
        let (name, numbers): (&'static str, &[u32]) = match directive {
            Directive::ReqNtid(dims) => (".reqntid", dims),
            Directive::MaxNtid(dims) => (".maxntid", dims),
            Directive::MinNctaPerSm(count) => (".minnctapersm", std::slice::from_ref(count)),
            Directive::MaxNreg(count) => (".maxnreg", std::slice::from_ref(count)),
            Directive::Other(name, numbers) if name == ".reqnctapercluster" => {
                (".reqnctapercluster", numbers)
            }
            Directive::Other(name, numbers) if name == ".maxclusterrank" => {
                (".maxclusterrank", numbers)
            }
            Directive::Other(..) | Directive::NoReturn | Directive::Pragma(_) => continue,
        };
        if seen
            .iter()
            .any(|(other, known)| *other == name && *known != numbers)
        {
            out.push((Code::TwoBounds { name }, Certainty::Possible));
        }
        seen.push((name, numbers));
        let all = numbers
            .iter()
            .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
        let shown: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let value = shown.join(", ");
        let threads = |limit| Code::TooManyThreads {
            name,
            value: value.clone(),
            limit,
        };
        match name {
            ".reqntid" if all > 1024 => out.push((threads("1024"), Certainty::Certain)),
            // Fewer may be launched all the same.
            ".maxntid" if all > 1024 => out.push((threads("1024"), Certainty::Note)),
            ".reqntid" if numbers.get(2).is_some_and(|z| *z > 64) => {
                out.push((threads("64 along z of its 1024"), Certainty::Certain));
            }
            ".reqnctapercluster" if all > 16 => {
                out.push((Code::TooManyCtas { value }, Certainty::Certain));
            }
            _ => {}
        }
    }
    out
}
