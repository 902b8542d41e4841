//! Faults in PTX written by hand, each with its launches in a run script.
//!
//! In the PTX, `// fault: KIND` marks a line that must be reported, `// other: KIND` one that may be
//! (the other access of a race, the read that brought an undefined value), `// host: KIND` in a
//! line of its own stands for what has no line, and `// first: CTA THREAD` says who is named first.
//! `NAME_clean` is the twin of `NAME`; `NAME_round` runs `NAME` at a size at which nothing is wrong.

use crate::table::{Planted, Reach};
use std::{collections::BTreeSet, fs, path::PathBuf};
use warpsmith::{
    report::Report,
    script::{Script, Settings},
    vgpu::check::{Checks, Kind},
};

/// Where the kernels are, in a folder for each kind.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/faults");

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

/// The CTA and the thread that are named first.
fn first(text: &str) -> Option<(u32, u32)> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("// first: "))?;
    let (cta, thread) = line.split_once(' ').expect("two numbers");
    let number = |text: &str| text.parse().expect("a number");
    Some((number(cta), number(thread)))
}

/// Whether it runs at a size at which the fault does not show.
fn is_round(name: &str) -> bool {
    name.ends_with("_round")
}

/// What is not as the marks say.
fn faults(name: &str, report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(failure) = &report.failure {
        wrong.push(format!("did not run: {failure}"));
    }
    if is_round(name) {
        let issues = report.issues.iter();
        wrong.extend(issues.map(|issue| format!("{}: {}", issue.kind, issue.message)));
        return wrong;
    }
    let text = report.source.text();
    if let Some(want) = first(text) {
        let place = report.issues.first().map(|issue| &issue.place);
        let got = place.and_then(|place| place.block.zip(place.thread));
        let got = got.map(|(cta, thread)| (cta[0], thread[0]));
        if got != Some(want) {
            wrong.push(format!("{got:?} is named first, not {want:?}"));
        }
    }
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
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let all: Vec<PathBuf> = scripts();
    for path in all.iter().filter(|path| name(path).contains(&only)) {
        let script = Script::read(path).unwrap_or_else(|error| panic!("{}: {error}", name(path)));
        let clean = name(path).ends_with("_clean");
        let settings = Settings {
            checks: Some(Checks::default()),
            schedules: if clean { 8 } else { 0 },
            ..Settings::default()
        };
        let found = faults(&name(path), &script.run(&settings));
        if !found.is_empty() {
            wrong.push(format!("{}: {}", name(path), found.join("; ")));
        }
    }
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
    let own = planted();
    for kind in Kind::ALL {
        let own = own.iter().filter(|one| one.kind == *kind).count();
        assert!(own >= 3, "{kind} has {own}");
    }
    for one in own {
        let name = format!("{}/{}", one.kind, one.name);
        assert!(names.contains(&format!("{name}_clean")), "{name}");
    }
}

/// The faults, as the tally counts them.
pub(crate) fn planted() -> Vec<Planted> {
    let all = scripts();
    let names: BTreeSet<String> = all.iter().map(|path| name(path)).collect();
    let faulty = all.iter().filter(|path| {
        let name = name(path);
        !name.ends_with("_clean") && !is_round(&name)
    });
    let planted = faulty.map(|path| {
        let script = Script::read(path).unwrap_or_else(|error| panic!("{error}"));
        let full = name(path);
        let (kind, own) = full.split_once('/').expect("a folder");
        let kind: Kind = kind.parse().expect("a kind");
        let launch = script.launches.first().expect("a launch");
        let of_host = [
            Kind::Leak,
            Kind::UseAfterFree,
            Kind::UnwrittenOutput,
            Kind::SharedLimit,
        ];
        let reach = if script.launches.len() > 1 || of_host.contains(&kind) {
            Reach::Launch
        } else if launch.grid != [1; 3] {
            Reach::Cta
        } else if launch.block[0] > 32 {
            Reach::Warp
        } else {
            Reach::Lane
        };
        Planted {
            kind,
            name: own.to_owned(),
            reach,
            awkward: names.contains(&format!("{full}_round")),
        }
    });
    planted.collect()
}

#[test]
fn marks_say_what_the_folder_says() {
    for path in scripts() {
        if is_round(&name(&path)) {
            continue;
        }
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
