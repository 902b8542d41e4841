//! Kernels that wait for what never comes, and for what comes late: each ends with what is so, with and without checks.
//!
//! In `cases/waits/`: CUDA C++ compiled by NVRTC, and PTX written by hand, each with its run scripts.

use std::path::Path;
use warpsmith::{
    report::{Report, Status},
    script::{Script, Settings},
    vgpu::check::Checks,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/waits");

fn run(name: &str, settings: &Settings) -> Report {
    let path = Path::new(FOLDER).join(name).with_extension("json");
    let script = Script::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    script.run(settings)
}

/// Without checks, with them, and in eight orders with them and without.
fn ways() -> [Settings; 4] {
    let checks = Some(Checks::default());
    [
        Settings::default(),
        Settings {
            checks: checks.clone(),
            ..Settings::default()
        },
        Settings {
            schedules: 8,
            ..Settings::default()
        },
        Settings {
            checks,
            schedules: 8,
            ..Settings::default()
        },
    ]
}

/// What was found, as kinds without repeats.
fn kinds(report: &Report) -> Vec<&'static str> {
    let mut kinds: Vec<&str> = report.issues.iter().map(|issue| issue.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[test]
fn what_never_comes_is_a_deadlock_at_its_line_for_its_word() {
    // The script, the line, the buffer of the word, and what else is found.
    let all: [(&str, u32, Option<&str>); 4] = [
        ("spin_on_memory", 24, Some("a")),
        ("spin_on_mbarrier", 28, None),
        ("toomany", 61, Some("arrived")),
        ("toomany_plain", 61, Some("arrived")),
    ];
    let mut wrong = Vec::new();
    for (name, line, buffer) in all {
        for settings in ways() {
            let report = run(name, &settings);
            let found = report.issues.iter().find(|issue| issue.kind == "deadlock");
            let place = found.and_then(|issue| issue.place.line);
            let allocation = found.and_then(|issue| issue.allocation.as_ref());
            let word = allocation.and_then(|allocation| allocation.name.as_deref());
            // A grid that does not fit is refused before it runs.
            let refused = name == "toomany";
            let fine = if refused {
                found.is_some()
            } else {
                place == Some(line) && (buffer.is_none() || word == buffer)
            };
            if !fine || kinds(&report) != ["deadlock"] {
                wrong.push(format!("{name}: {place:?} {word:?} {:?}", kinds(&report)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_comes_late_ends_with_its_outputs_and_nothing_is_reported() {
    for name in ["fits", "fits_plain", "get_insert_volatile", "dot_tail_sync"] {
        for settings in ways() {
            let report = run(name, &settings);
            let issues = report.issues.iter().map(|issue| &issue.message);
            let issues: Vec<&String> = issues.collect();
            assert_eq!(
                report.status(),
                Status::Clean,
                "{name}: {issues:?} {:?}",
                report.failure
            );
        }
    }
}

#[test]
fn a_load_that_the_compiler_moved_out_of_its_loop_is_a_race_and_a_deadlock() {
    for settings in ways() {
        let report = run("get_insert", &settings);
        let kinds = kinds(&report);
        assert!(kinds.contains(&"deadlock"), "{kinds:?}");
        assert_eq!(
            settings.checks.is_some(),
            kinds.contains(&"race_global"),
            "{kinds:?}"
        );
    }
}

#[test]
fn instructions_of_the_warp_wait_for_their_lanes() {
    for settings in ways() {
        let report = run("sync_mask_not_awaited", &settings);
        let issue = report.issues.first().expect("a finding");
        let places = (
            issue.place.line,
            issue.other.as_ref().and_then(|other| other.line),
        );
        assert_eq!((issue.kind, places), ("deadlock", (Some(27), Some(29))));
        let report = run("aligned_in_half_warp", &settings);
        let issue = report.issues.first().expect("a finding");
        assert_eq!(
            (issue.kind, issue.place.line),
            ("barrier_divergence", Some(29))
        );
    }
}

#[test]
fn a_warp_tail_without_its_barriers_depends_on_the_order_of_lanes() {
    for name in ["dot_tail", "dot_nv"] {
        for settings in ways().into_iter().filter(|settings| settings.schedules > 1) {
            let report = run(name, &settings);
            let kinds = kinds(&report);
            let fine = kinds.contains(&"schedule") || kinds.contains(&"race_shared");
            assert!(fine, "{name}: {kinds:?}");
        }
    }
}
