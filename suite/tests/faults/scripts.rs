//! Small kernels with one planted fault each, and clean twins that look alike: the checker finds the
//! first at the right line with the right kind, and says nothing of the second.
//!
//! In the PTX, `// fault: KIND` marks a line that must be reported, `// other: KIND` one that may be
//! (the other access of a race, the read that brought an undefined value), and `// host: KIND` in a
//! line of its own stands for what has no line.

use std::{collections::BTreeSet, fs, path::PathBuf};
use warpsmith::{
    report::Report,
    script::{Script, Settings},
    vgpu::check::{Checks, Kind},
};

/// Where the kernels are, in a folder for each kind.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/faults");

/// Kernels whose fault is not found yet.
const GAPS: &[&str] = &[];

fn scripts() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in fs::read_dir(FOLDER).expect("the kernels") {
        let folder = folder.expect("readable").path();
        if folder.is_dir() {
            let files = fs::read_dir(folder).expect("readable");
            let files = files.map(|file| file.expect("readable").path());
            all.extend(files.filter(|file| file.extension().is_some_and(|ext| ext == "json")));
        }
    }
    all.sort();
    all
}

/// `KIND/NAME` of a script.
fn name(path: &std::path::Path) -> String {
    let kind = path.parent().and_then(|folder| folder.file_name());
    let kind = kind.unwrap_or_default().to_string_lossy();
    format!(
        "{kind}/{}",
        path.file_stem().unwrap_or_default().to_string_lossy()
    )
}

/// The lines of a text with a mark, and the kind that each names.
fn marks(text: &str, mark: &str) -> BTreeSet<(u32, Kind)> {
    let lines = text.lines().zip(1..);
    lines
        .filter_map(|(line, number)| {
            let (_, kind) = line.split_once(&format!("// {mark}: "))?;
            Some((number, kind.trim().parse().expect("a kind")))
        })
        .collect()
}

/// What is not as the marks say.
fn faults(report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(failure) = &report.failure {
        wrong.push(format!("did not run: {failure}"));
    }
    let text = report.source.text();
    let mut missing = marks(text, "fault");
    let may: BTreeSet<(u32, Kind)> = &missing | &marks(text, "other");
    let host = marks(text, "host");
    let mut host_missing: BTreeSet<Kind> = host.iter().map(|(_, kind)| *kind).collect();
    for issue in &report.issues {
        let Ok(kind) = issue.kind.parse::<Kind>() else {
            wrong.push(format!("`{}` is no kind of a run", issue.kind));
            continue;
        };
        let lines = [issue.place.line, issue.other.as_ref().and_then(|o| o.line)];
        let lines: Vec<u32> = lines.into_iter().flatten().collect();
        let known = lines.iter().all(|line| may.contains(&(*line, kind)));
        if host.iter().any(|(_, at_host)| *at_host == kind) {
            host_missing.remove(&kind);
        } else if lines.is_empty() || !known {
            wrong.push(format!("{kind} at {lines:?}: {}", issue.message));
        }
        for line in lines {
            missing.remove(&(line, kind));
        }
    }
    // One of several lines with a kind is enough: a kernel may end at the first.
    let found = |kind: &Kind| report.issues.iter().any(|issue| issue.kind == kind.name());
    let missing = missing.iter().filter(|(_, kind)| !found(kind));
    wrong.extend(missing.map(|(line, kind)| format!("no {kind} at line {line}")));
    wrong.extend(host_missing.iter().map(|kind| format!("no {kind}")));
    wrong
}

#[test]
fn each_fault_is_found_and_no_clean_kernel_is_reported() {
    let settings = Settings {
        checks: Some(Checks::default()),
        ..Settings::default()
    };
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let (mut wrong, mut gaps) = (Vec::new(), BTreeSet::new());
    let all: Vec<PathBuf> = scripts();
    for path in all.iter().filter(|path| name(path).contains(&only)) {
        let script = Script::read(path).unwrap_or_else(|error| panic!("{}: {error}", name(path)));
        let found = faults(&script.run(&settings));
        if !found.is_empty() {
            gaps.insert(name(path));
            if !GAPS.contains(&name(path).as_str()) {
                wrong.push(format!("{}: {}", name(path), found.join("; ")));
            }
        }
    }
    let closed = GAPS
        .iter()
        .filter(|gap| only.is_empty() && !gaps.contains(**gap));
    wrong.extend(closed.map(|gap| format!("{gap} is found now: take it off the list")));
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_kind_has_three_faults_and_their_twins() {
    let names: BTreeSet<String> = scripts().iter().map(|path| name(path)).collect();
    for kind in Kind::ALL {
        let own: Vec<&String> = names
            .iter()
            .filter(|name| name.starts_with(&format!("{kind}/")) && !name.ends_with("_clean"))
            .collect();
        assert!(own.len() >= 3, "{kind} has {}", own.len());
        for name in own {
            assert!(names.contains(&format!("{name}_clean")), "{name}");
        }
    }
}

#[test]
fn marks_say_what_the_folder_says() {
    for path in scripts() {
        let text = fs::read_to_string(path.with_extension("ptx")).expect("readable");
        let marked = [marks(&text, "fault"), marks(&text, "host")];
        let marked: BTreeSet<Kind> = marked.iter().flatten().map(|(_, kind)| *kind).collect();
        let clean = name(&path).ends_with("_clean");
        let kind = path.parent().and_then(|folder| folder.file_name());
        let kind: Kind = kind
            .expect("a folder")
            .to_string_lossy()
            .parse()
            .expect("a kind");
        let want = if clean {
            BTreeSet::new()
        } else {
            BTreeSet::from([kind])
        };
        assert_eq!(marked, want, "{}", name(&path));
    }
}

/// The document of the kinds.
const DOCUMENT: &str = include_str!("../../../docs/checker.md");

#[test]
fn the_document_shows_each_kind_with_its_kernel() {
    for kind in Kind::ALL {
        let (_, section) = DOCUMENT
            .split_once(&format!("### {kind}\n"))
            .unwrap_or_else(|| panic!("no section for {kind}"));
        let section = section.split("### ").next().unwrap_or(section);
        let named = section.split('`').find(|word| word.ends_with(".ptx"));
        let path = format!("{FOLDER}/{}", named.expect("a kernel is named"));
        let kernel = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let shown = section
            .split("```text\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let shown = shown.unwrap_or_else(|| panic!("{kind} shows no kernel"));
        assert!(shown.lines().count() > 0, "{kind}");
        for line in shown.lines() {
            assert!(
                kernel.lines().any(|own| own == line),
                "{path} has no line `{line}`"
            );
        }
    }
}
