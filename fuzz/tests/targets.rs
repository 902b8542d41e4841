//! Each registered target, for one second.

use std::time::Duration;
use warpsmith_fuzz::{Budget, fuzz_with, targets};

/// Longer than the tool's own limit: the tests of the whole house run at once.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_second_of_fuzzing_finds_nothing() {
    let targets = targets();
    assert!(targets.len() >= 6);
    for target in targets {
        let name = target.name();
        match fuzz_with(
            target,
            Budget::Time(Duration::from_secs(1)),
            1,
            LIMIT,
            |_| {},
        ) {
            Ok(stats) => assert!(stats.iterations > 0, "{name} ran nothing"),
            Err(finding) => panic!("{finding}"),
        }
    }
}

#[test]
fn random_sequences_of_calls_of_the_driver_end_and_touch_nothing_else() {
    let test = std::env::current_exe().expect("this program");
    // Cargo builds it beside the tests that depend on its crate.
    let library = test.with_file_name("libwarpsmith_vcuda.so");
    assert!(library.exists(), "{} is missing", library.display());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_warpsmith-calls"))
        .args(["--count", "200", "--each", "100", "--library"])
        .arg(library)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "200 sequences, 0 processes failed\n");
}
