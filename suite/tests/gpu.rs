//! The program for cards, where there is none: what it says without one, and all of it rehearsed on the virtual GPU.

use serde_json::Value;
use std::process::{Command, Output};

fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith-gpu"))
        .args(args)
        // A driver, where there is one, then lists no card.
        .env("CUDA_VISIBLE_DEVICES", "-1")
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn without_a_card_it_says_what_was_tried_and_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let output = program(&["--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    let no_driver = said.starts_with("error: no CUDA driver; tried libcuda.so.1: ");
    assert!(
        no_driver || said == "error: no card 0: the driver lists 0\n",
        "{said}"
    );
    assert!(!out.exists(), "a report about nothing");
}

/// Runs `sections` on the virtual GPU and returns the report.
fn rehearse(sections: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let fixed = [
        "--device",
        "virtual",
        "--small",
        "--out",
        &out,
        "--sections",
        sections,
        "--budget",
        "300",
    ];
    let output = program(&[&fixed, more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut files: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    let json = std::fs::read_to_string(&files[0]).expect("the JSON");
    serde_json::from_str(&json).expect("JSON")
}

#[test]
fn kernels_are_compared_with_reference_and_interpreter() {
    let report = rehearse(
        "kernels,targets",
        &["--only", "softmax", "--targets", "70", "--jobs", "2"],
    );
    let rows = report["kernels"].as_array().expect("rows");
    assert_eq!(rows.len(), 2, "own target and sm_70");
    for row in rows {
        let cases = row["cases"].as_u64().expect("a number");
        assert!(cases > 10, "{row}");
        assert_eq!(row["passed"], cases, "{row}");
        assert_eq!(
            row["same_bits"], cases,
            "the interpreter beside itself: {row}"
        );
        assert!(row["elements"].as_u64().expect("a number") > cases, "{row}");
    }
}

#[test]
fn checks_of_the_device_hold() {
    let report = rehearse("checks", &[]);
    let checks = report["checks"].as_array().expect("rows");
    assert_eq!(checks.len(), 14, "{checks:#?}");
    assert!(
        checks.iter().all(|check| check["well"] == true),
        "{checks:#?}"
    );
}

#[test]
fn every_group_of_times_has_figures() {
    let report = rehearse("timing", &[]);
    let times = report["times"].as_array().expect("rows");
    for group in ["launch", "decode", "gemv", "gemm", "attention", "pointwise"] {
        let of_group: Vec<_> = times.iter().filter(|time| time["group"] == group).collect();
        assert!(of_group.len() >= 4, "{group}: {of_group:?}");
        assert!(
            of_group
                .iter()
                .all(|time| time["seconds"].as_f64().is_some_and(|s| s > 0.0)),
            "{group}: {of_group:?}"
        );
    }
}
