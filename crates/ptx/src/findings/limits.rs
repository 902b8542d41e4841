//! A module against the device it is meant for: instructions, PTX version, shared memory.

use super::{Certainty, Code, Finding};
use crate::{
    ir::{Module, Name, Span, StmtKind, Var},
    isa,
    target::{PtxVersion, Target},
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
    let mut push = |code, function: &Name, span| {
        found.push(Finding {
            code,
            certainty: Certainty::Certain,
            function: function.clone(),
            span,
            other: None,
        });
    };
    let of_module = Name::Borrowed("");
    if module.target.sm > target.sm {
        let form = format!(".target {}", module.target);
        let needs = module.target.sm;
        let code = Code::TooNewForTarget {
            form,
            needs,
            target,
        };
        push(code, &of_module, Span::None);
    }
    if let Some(limit) = limits.ptx.filter(|limit| module.version > *limit) {
        let code = Code::TooNewVersion {
            version: module.version,
            limit,
            lowest: lowest_version(module),
        };
        push(code, &of_module, Span::None);
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
            if form.lowest_version(target).is_none() && told.insert(name.clone()) {
                let code = Code::TooNewForTarget {
                    form: name,
                    needs: form.first_sm(),
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
    }
}
