//! Run scripts: the CUDA programs' scripts, read and run by the library, give what they want.
#![allow(missing_docs)]

use serde_json::Value;
use std::{fs, path::Path};
use warpsmith::{
    report::{Level, Status},
    script::{Script, Settings},
    vgpu::check::Checks,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/cuda");

#[test]
fn every_program_is_clean_under_the_checker() {
    let settings = Settings {
        checks: Some(Checks::default()),
        ..Settings::default()
    };
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in fs::read_dir(FOLDER).expect("the programs") {
        let folder = folder.expect("readable").path();
        let name = folder.file_name().unwrap_or_default();
        let path = folder.join(Path::new(name).with_extension("json"));
        if !path.exists() {
            continue;
        }
        let script = Script::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let report = script.run(&settings);
        count += 1;
        let issues = report.issues.iter().filter(|one| one.level > Level::Note);
        let issues =
            issues.map(|one| format!("{} at {:?}: {}", one.kind, one.place.line, one.message));
        let mut found: Vec<String> = issues.collect();
        found.extend(report.failure.map(|failure| failure.to_string()));
        wrong.extend(
            found
                .into_iter()
                .map(|one| format!("{}: {one}", name.display())),
        );
    }
    assert!(count > 70, "{count}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_programs_script_runs_and_meets_what_it_expects() {
    let mut wrong = Vec::new();
    let (mut count, mut compared) = (0, 0);
    for folder in fs::read_dir(FOLDER).expect("the programs") {
        let folder = folder.expect("readable").path();
        let name = folder.file_name().unwrap_or_default();
        let path = folder.join(Path::new(name).with_extension("json"));
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let mut script = Script::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let json: Value = serde_json::from_str(&text).expect("JSON");
        for variant in json["variants"].as_array().expect("variants") {
            let variant = variant.as_str().expect("a name");
            script.ptx = folder.join(variant);
            // The first is what the script names; others are for other targets.
            script.target = None;
            let report = script.run(&Settings::default());
            count += 1;
            compared += report.outputs.len();
            if report.status() != Status::Clean {
                let found: Vec<&str> = report
                    .issues
                    .iter()
                    .map(|one| one.message.as_str())
                    .collect();
                let outputs = report.outputs.iter().filter(|one| one.difference.is_some());
                wrong.push(format!(
                    "{}/{variant}: {:?} {found:?} {:?}",
                    name.display(),
                    report.failure.as_ref().map(ToString::to_string),
                    outputs.collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(count > 100 && compared > count, "{count} {compared}");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
