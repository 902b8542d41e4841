//! The verifier: the only maker of [`Verified`].

use crate::{
    diag::{Code, Diagnostic},
    ir::{Inst, Module, Name, Origin, StmtKind},
    isa, print,
    target::PtxVersion,
};
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

/// The lowest PTX version that a module's target and forms need. Forms that do not exist, or not
/// on the target, count for nothing: [`verify`] refuses them.
pub fn lowest_version(module: &Module) -> PtxVersion {
    let target = module.target;
    let floor = target.first_version().unwrap_or(PtxVersion::new(4, 0));
    instructions(module)
        .filter_map(|(_, _, inst)| isa::form(inst.op, &inst.quals)?.lowest_version(target))
        .fold(floor, PtxVersion::max)
}

fn instructions(module: &Module) -> impl Iterator<Item = (&Name, crate::ir::Span, &Inst)> {
    module.functions.iter().flat_map(|function| {
        let body = function.body.as_deref().unwrap_or(&[]);
        body.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::Inst(inst) => Some((&function.name, stmt.span, inst)),
            _ => None,
        })
    })
}

/// Checks a module; all that is wrong with it otherwise.
pub fn verify(mut module: Module) -> Result<Verified, Vec<Diagnostic>> {
    if module
        .functions
        .iter()
        .any(|function| function.origin == Origin::Language)
    {
        module.version = lowest_version(&module);
    }
    let mut found = Vec::new();
    for (function, span, inst) in instructions(&module) {
        let form = || format!("{}{}", inst.op.name(), inst.quals);
        let code = match isa::form(inst.op, &inst.quals) {
            None => Code::UnknownForm { form: form() },
            Some(known) => match known.lowest_version(module.target) {
                None => Code::TooNewForTarget {
                    form: form(),
                    needs: known.first_sm(),
                    target: module.target,
                },
                Some(needs) if needs > module.version => Code::TooNewForVersion {
                    form: form(),
                    needs,
                    version: module.version,
                },
                Some(_) => continue,
            },
        };
        found.push(Diagnostic::new(code, span).in_function(function));
    }
    if found.is_empty() {
        Ok(Verified(Arc::new(module)))
    } else {
        Err(found)
    }
}
