//! Every registered kernel is clean under the checker, on each generation of targets, in several orders.

use warpsmith_library::{case::Random, registry::registry};
use warpsmith_ptx::target::Target;
use warpsmith_suite::{check_case::check_case, run_case::Failure};
use warpsmith_vgpu::{Config, Machine, check::Checks};

#[test]
fn every_kernel_is_clean() {
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut ran = 0;
    // Targets before 75 differ in products only; each run of a family has its own order of CTAs and warps.
    for (target, seed, family) in [
        (Target::sm(90), None, ""),
        (Target::sm(75), Some(1), ""),
        (Target::sm(70), Some(2), "gem"),
    ] {
        let only = if family.is_empty() {
            only.as_str()
        } else {
            family
        };
        for entry in registry().iter().filter(|entry| entry.name.contains(only)) {
            let start = std::time::Instant::now();
            let config = Config {
                memory: 2 << 30,
                target,
                seed,
                checks: Some(Checks::default()),
                ..Config::default()
            };
            let machine = Machine::new(config).expect("a virtual GPU");
            for case in (entry.cases)(&mut Random::new(7)) {
                match check_case(&machine, target, case.as_ref()) {
                    Ok(findings) if findings.is_empty() => ran += 1,
                    Ok(findings) => {
                        let first = &findings[0];
                        wrong.push(format!(
                            "{target} {}: {} findings, the first: {} in {} at {}: {} ({:?})",
                            case.label(),
                            findings.len(),
                            first.kind,
                            first.place.kernel,
                            first.place.span,
                            first.message,
                            first.other.as_ref().map(|other| other.span.to_string()),
                        ));
                    }
                    Err(found) if matches!(found[..], [Failure::Unsupported]) => {}
                    Err(found) => wrong.push(format!("{target} {}: {}", case.label(), found[0])),
                }
            }
            println!("{target} {}: {:?}", entry.name, start.elapsed());
        }
    }
    assert!(ran > 0, "no case ran");
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
