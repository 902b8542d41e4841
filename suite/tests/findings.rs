//! Static findings say nothing of correct kernels: the library's, and compiled CUDA C++.
#![allow(missing_docs)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use warpsmith_kernel::{BuildError, Options};
use warpsmith_library::{case::Random, registry::registry};
use warpsmith_ptx::{
    findings::{Certainty, Limits, find},
    ir::Module,
    parse::parse,
    target::Target,
};

/// Texts of what is found but for notes.
fn found(name: &str, module: &Module) -> Vec<String> {
    let all = find(module, Limits::default());
    let all = all.iter().filter(|one| one.certainty != Certainty::Note);
    all.map(|one| format!("{name}, {}, {}: {}", one.function, one.span, one.code))
        .collect()
}

#[test]
fn the_librarys_kernels_are_clean() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for target in [Target::sm(70), Target::sm(80), Target::sm(90)] {
        for entry in registry() {
            for case in (entry.cases)(&mut Random::new(3)) {
                let built = match case.build(target, Options::default()) {
                    Ok(built) => built,
                    Err(BuildError::Unsupported { .. }) => continue,
                    Err(error) => panic!("{}: {error}", case.label()),
                };
                if seen.insert((target, built.entry.clone())) {
                    wrong.extend(found(&format!("{target} {}", case.label()), &built.module));
                }
            }
        }
    }
    assert!(seen.len() > 100, "{}", seen.len());
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The PTX files below a folder.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|ext| ext == "ptx") {
            all.push(path);
        }
    }
}

#[test]
fn compiled_cuda_is_clean() {
    let mut all = Vec::new();
    files(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases/cuda")),
        &mut all,
    );
    all.sort();
    assert!(all.len() > 100, "{}", all.len());
    let mut wrong = Vec::new();
    for path in all {
        let text = fs::read_to_string(&path).expect("readable");
        let module =
            parse(&text).unwrap_or_else(|found| panic!("{}: {}", path.display(), found[0]));
        let name = path
            .strip_prefix(env!("CARGO_MANIFEST_DIR"))
            .unwrap_or(&path);
        wrong.extend(found(&name.display().to_string(), &module));
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn clean_twins_of_faulty_cuda_are_clean() {
    let mut all = Vec::new();
    files(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cases/faulty")),
        &mut all,
    );
    let mut wrong = Vec::new();
    let mut twins = 0;
    for path in all {
        let text = fs::read_to_string(&path).expect("readable");
        let module =
            parse(&text).unwrap_or_else(|found| panic!("{}: {}", path.display(), found[0]));
        let is_twin = |name: &str| name.ends_with("_clean");
        twins += module.functions.iter().filter(|f| is_twin(&f.name)).count();
        let found = find(&module, Limits::default());
        wrong.extend(
            found
                .iter()
                .filter(|one| one.certainty != Certainty::Note && is_twin(&one.function))
                .map(|one| format!("{}, {}, {}", one.function, one.span, one.code)),
        );
    }
    assert!(twins > 50, "{twins}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
