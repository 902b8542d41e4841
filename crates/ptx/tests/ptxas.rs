//! NVIDIA's assembler takes what the verifier passes: instructions of every row, at the lowest
//! version that the table says, for several targets.
#![allow(missing_docs)]

mod common;
#[path = "common/verdicts.rs"]
mod verdicts;

use common::Random;
use std::{collections::BTreeSet, path::PathBuf, process::Command};
use verdicts::{Verdict, cases};
use warpsmith_ptx::{
    isa,
    parse::parse,
    print::{print, print_inst},
    target::{PtxVersion, Suffix, Target},
    verify::verify,
};

fn ptxas() -> PathBuf {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/ptxas");
    let path = std::env::var_os("WARPSMITH_PTXAS").map_or_else(|| own.into(), PathBuf::from);
    assert!(
        path.exists(),
        "no ptxas at {}: `cargo xtask test` installs it, or WARPSMITH_PTXAS names one",
        path.display()
    );
    path
}

/// What the assembler says against a text; empty if it takes it.
fn assemble(text: &str, sm: u16, name: &str) -> String {
    assemble_for(text, &format!("sm_{sm}"), name)
}

fn assemble_for(text: &str, arch: &str, name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("{name}.ptx"));
    std::fs::write(&source, text).unwrap();
    let out = Command::new(ptxas())
        .arg(format!("-arch={arch}"))
        .arg(&source)
        .arg("-o")
        .arg(folder.join(format!("{name}.cubin")))
        .output()
        .unwrap();
    if out.status.success() {
        return String::new();
    }
    let said = [out.stderr, out.stdout].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    // One that breaks off without a word does not take it either.
    if said.is_empty() {
        out.status.to_string()
    } else {
        said
    }
}

/// The lines that the assembler complains about, each with the complaint.
fn complaints(text: &str, said: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    said.lines()
        .filter(|line| !line.contains("warning"))
        .filter_map(|line| {
            let (_, rest) = line.split_once("line ")?;
            let number: usize = rest
                .split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()?;
            let source = lines.get(number.checked_sub(1)?)?;
            Some(format!("{}  <=  {line}", source.trim()))
        })
        .collect()
}

#[test]
fn it_takes_an_instruction_of_every_row() {
    let mut faults = Vec::new();
    let portable = [75, 80, 90, 100].map(Target::sm);
    let specific = [90, 100, 120].map(|sm| Target {
        sm,
        suffix: Suffix::Arch,
    });
    for target in portable.into_iter().chain(specific) {
        let sm = target.sm;
        // Of the last what the others have not.
        let is_new = |row: &isa::Row| {
            let needs = row.needs[0].target;
            sm < 100 || needs == target || needs.sm == sm && target.suffix != Suffix::None
        };
        let mut random = Random(u64::from(sm));
        // Apart by the version they need, so that each is tried at the lowest.
        let mut modules = std::collections::BTreeMap::new();
        for row in isa::rows()
            .iter()
            .filter(|row| !common::needs_context(row.op) && is_new(row))
        {
            for _ in 0..3 {
                let Some(inst) = common::instruction(&mut random, row, target) else {
                    continue;
                };
                let form = isa::form_of(&inst).unwrap();
                let version = form.lowest_version(target).max(target.first_version());
                let module = modules
                    .entry(version)
                    .or_insert_with(|| common::module(target));
                common::push(module, inst);
            }
        }
        for (version, mut module) in modules {
            common::finish(&mut module);
            assert_eq!(Some(module.version), version);
            let text = print(&module);
            verify(module).unwrap();
            let arch = target.to_string();
            let name = format!("rows_{arch}_{}", version.unwrap());
            let said = assemble_for(&text, &arch, &name);
            if !said.is_empty() {
                faults.push(format!(
                    "{arch} {}: {:#?}\n{}",
                    version.unwrap(),
                    complaints(&text, &said),
                    said.lines()
                        .filter(|line| !line.contains("warning"))
                        .take(3)
                        .collect::<String>()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn it_takes_random_modules_before_and_after_a_round_trip() {
    for seed in 0..6 {
        let mut module = common::module(Target::sm(80));
        let mut random = Random(seed);
        for _ in 0..60 {
            let row = &isa::rows()[random.below(isa::rows().len())];
            if common::needs_context(row.op) {
                continue;
            }
            if let Some(inst) = common::instruction(&mut random, row, Target::sm(80)) {
                assert!(!print_inst(&module, &module.functions[0], &inst).contains('<'));
                common::push(&mut module, inst);
            }
        }
        common::finish(&mut module);
        let text = print(&module);
        let again = print(&parse(&text).unwrap());
        assert_eq!(text, again);
        let said = assemble(&again, 80, &format!("random_{seed}"));
        assert!(said.is_empty(), "{:#?}", complaints(&again, &said));
    }
}

#[test]
fn it_takes_the_printed_cases() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let module = parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let verified = verify(module).unwrap_or_else(|found| panic!("{name}: {found:#?}"));
        let said = assemble(&verified.text(), verified.target.sm, &name);
        assert!(said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn the_table_of_verdicts_is_what_it_says() {
    let cases = cases();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (next, faults, cases) = (&next, &faults, &cases);
            scope.spawn(move || {
                let name = format!("verdict_{worker}");
                let order = std::sync::atomic::Ordering::Relaxed;
                while let Some(case) = cases.get(next.fetch_add(1, order)) {
                    let said = assemble_for(&case.text, &case.arch, &name);
                    let takes = case.verdict != Verdict::Refuses;
                    if takes != said.is_empty() {
                        let fault = format!("line {}: {:?}: {said}", case.line, case.verdict);
                        faults.lock().unwrap().push(fault);
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The targets that the assembler's help names.
fn named() -> BTreeSet<Target> {
    let help = Command::new(ptxas()).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let targets = words.filter_map(|word| word.strip_prefix("sm_")?.parse().ok());
    targets.collect()
}

#[test]
fn every_target_it_names_is_known_from_the_same_version_on() {
    let named = named();
    let known: BTreeSet<Target> = Target::all().collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for target in named {
        let first = target.first_version().unwrap();
        // Code for older cards it makes no more.
        let arch = target.max(Target::sm(75)).to_string();
        let takes = |version| {
            let text = format!(
                ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
            );
            assemble_for(&text, &arch, "targets").is_empty()
        };
        assert!(takes(first), "{target} {first}");
        let versions = (2..=first.major)
            .flat_map(|major| (0..10).map(move |minor| PtxVersion::new(major, minor)));
        let before = versions.filter(|version| version.exists() && *version < first);
        let before = before.max().unwrap();
        assert!(!takes(before), "{target} {before}");
    }
}

#[test]
fn a_family_runs_where_it_says() {
    let named = named();
    for module in named.iter().filter(|target| target.sm >= 90) {
        let version = PtxVersion::NEWEST;
        let text = format!(
            ".version {version}\n.target {module}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
        );
        for device in named.iter().filter(|target| target.sm >= 90) {
            // The assembler is asked for a target, we for the card that has it.
            if module.suffix == Suffix::Arch && device.suffix != Suffix::Arch {
                continue;
            }
            let said = assemble_for(&text, &device.to_string(), "families");
            let runs = module.runs_on(*device);
            assert_eq!(runs, said.is_empty(), "{module} on {device}: {said}");
        }
    }
}
