//! NVIDIA's assembler takes what the verifier passes: instructions of every row, at the lowest
//! version that the table says, for several targets.
#![allow(missing_docs)]

mod common;

use common::Random;
use std::{path::PathBuf, process::Command};
use warpsmith_ptx::{
    isa,
    parse::parse,
    print::{print, print_inst},
    qual::Qual,
    target::Target,
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
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("{name}.ptx"));
    std::fs::write(&source, text).unwrap();
    let out = Command::new(ptxas())
        .arg(format!("-arch=sm_{sm}"))
        .arg(&source)
        .arg("-o")
        .arg(folder.join(format!("{name}.cubin")))
        .output()
        .unwrap();
    if out.status.success() {
        return String::new();
    }
    String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout)
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
    for sm in [75, 80, 90, 100] {
        let target = Target::sm(sm);
        let mut random = Random(u64::from(sm));
        // Apart by the version they need, so that each is tried at the lowest.
        let mut modules = std::collections::BTreeMap::new();
        for row in isa::rows()
            .iter()
            .filter(|row| !common::needs_context(row.op))
        {
            for _ in 0..3 {
                let Some(inst) = common::instruction(&mut random, row, target) else {
                    continue;
                };
                // Coordinates must fit the tensor's shape.
                if inst.quals.has(Qual::Tensor) {
                    continue;
                }
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
            let said = assemble(&text, sm, &format!("rows_{sm}_{}", version.unwrap()));
            if !said.is_empty() {
                faults.push(format!(
                    "sm_{sm} {}: {:#?}\n{}",
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
