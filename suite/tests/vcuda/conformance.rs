//! Kernels, models and the promises of the device crate, through the program for cards.

use crate::library::Folder;
use serde_json::Value;
use warpsmith_library::registry::registry;

/// Runs sections of `warpsmith-gpu` on a card of the library; the report.
fn report(settings: &[(&str, &str)], args: &[&str]) -> Value {
    let (folder, out) = (Folder::new(), tempfile::tempdir().expect("a folder"));
    let mut command = folder.command(env!("CARGO_BIN_EXE_warpsmith-gpu"));
    for (name, value) in settings {
        command.env(format!("WARPSMITH_VCUDA_{name}"), value);
    }
    command.env("WARPSMITH_VCUDA_MEMORY", "1G");
    command.args([
        "--device",
        "cuda:0",
        "--small",
        "--budget",
        "900",
        "--patience",
        "300",
        "--out",
    ]);
    let output = command
        .arg(out.path())
        .args(args)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut files = std::fs::read_dir(out.path()).expect("the folder");
    let json = files.find_map(|file| {
        let path = file.expect("a file").path();
        path.extension()
            .is_some_and(|extension| extension == "json")
            .then_some(path)
    });
    let text = std::fs::read_to_string(json.expect("a report")).expect("the JSON");
    serde_json::from_str(&text).expect("JSON")
}

/// Rows of a table, all of them well.
fn well<'a>(report: &'a Value, table: &str) -> &'a [Value] {
    let rows = report[table].as_array().expect("rows");
    let bad: Vec<_> = rows.iter().filter(|row| row["well"] != true).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    rows
}

#[test]
fn every_kernel_and_model_gives_through_the_driver_what_it_gives_without() {
    let report = report(&[], &["--sections", "kernels,models", "--jobs", "2"]);
    let rows = report["kernels"].as_array().expect("rows");
    assert_eq!(rows.len(), registry().len());
    for row in rows {
        let cases = row["cases"].as_u64().expect("a number");
        assert!(
            cases > 0 && row["passed"] == cases && row["same_bits"] == cases,
            "{row}"
        );
    }
    assert_eq!(well(&report, "models").len(), 36);
}

#[test]
fn the_device_keeps_its_promises_with_and_without_memory_pools() {
    for settings in [
        &[][..],
        &[
            ("POOLS", "0"),
            ("SM", "75"),
            ("DRIVER", "10.2"),
            ("SMS", "5"),
        ],
    ] {
        let report = report(settings, &["--sections", "checks"]);
        assert_eq!(well(&report, "checks").len(), 14);
    }
}
