//! The programs have every instruction form of ordinary CUDA.

use super::{programs, read, script::Script};
use std::collections::BTreeSet;
use warpsmith_ptx::ir::StmtKind;

/// The forms that the compiler was seen to emit.
const FORMS: &str = include_str!("../../../crates/vgpu/tests/forms.txt");

#[test]
fn the_programs_have_every_form_of_the_list() {
    let mut seen = BTreeSet::new();
    for folder in programs() {
        let script = Script::read(&folder);
        for variant in &script.variants {
            let Ok(module) = read(&folder.join(variant)) else {
                continue;
            };
            let bodies = module.functions.iter().filter_map(|f| f.body.as_ref());
            for stmt in bodies.flatten() {
                if let StmtKind::Inst(inst) = &stmt.kind {
                    seen.insert(format!("{}{}", inst.op.name(), inst.quals));
                }
            }
        }
    }
    // A script has no textures and surfaces: programs of `suite/cases/runtime` do.
    let elsewhere = [
        "wgmma.",
        "barrier.cluster.",
        "cp.async.bulk.",
        "mapa.",
        "tex.",
        "tld4.",
        "txq.",
        "suld.",
        "sust.",
        "sured.",
        "suq.",
    ];
    let outside = |form: &str| elsewhere.iter().any(|part| form.starts_with(part));
    let missing: Vec<&str> = FORMS
        .lines()
        .filter(|form| !outside(form) && !seen.contains(*form))
        .collect();
    assert!(
        missing.is_empty(),
        "{} forms are in no program:\n{}",
        missing.len(),
        missing.join("\n")
    );
}
