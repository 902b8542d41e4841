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
