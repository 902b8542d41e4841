//! Every registered kernel equals its f64 reference, on each generation of targets.

use std::time::Instant;
use warpsmith_library::{case::Random, registry::registry};
use warpsmith_ptx::target::Target;
use warpsmith_suite::{failure::Failure, run_case::run_case};
use warpsmith_vgpu::{Config, Machine};

#[test]
fn every_kernel_equals_its_reference() {
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    for target in [Target::sm(70), Target::sm(75), Target::sm(90)] {
        let config = Config {
            memory: 1 << 30,
            target,
            ..Config::default()
        };
        let machine = Machine::new(config).expect("a virtual GPU");
        for entry in registry().iter().filter(|entry| entry.name.contains(&only)) {
            let start = Instant::now();
            let (mut ran, mut unsupported) = (0, 0);
            for case in (entry.cases)(&mut Random::new(7)) {
                match run_case(&machine, target, case.as_ref()) {
                    Ok(()) => ran += 1,
                    Err(found) if matches!(found[..], [Failure::Unsupported]) => unsupported += 1,
                    Err(found) => {
                        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                        failures.push(format!("{target} {}: {}", case.label(), found.join("; ")));
                    }
                }
            }
            println!(
                "{target} {}: {ran} ran, {unsupported} unsupported, {:?}",
                entry.name,
                start.elapsed()
            );
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
