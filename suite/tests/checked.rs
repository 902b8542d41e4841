//! Every registered kernel is clean under the checker, on each generation of targets, in several orders.

use std::collections::BTreeMap;
use warpsmith_library::{
    case::{AnyCase, Random},
    registry::registry,
};
use warpsmith_ptx::target::Target;
use warpsmith_suite::{
    check_case::{bytes, check_case},
    failure::Failure,
};
use warpsmith_vgpu::{Config, Machine, check::Checks};

/// Orders of CTAs and warps.
const ORDERS: u64 = 8;

fn machine(target: Target, seed: Option<u64>) -> Machine {
    let config = Config {
        memory: 2 << 30,
        target,
        seed,
        checks: Some(Checks::default()),
        ..Config::default()
    };
    Machine::new(config).expect("a virtual GPU")
}

/// What is wrong with a case on a machine, or the arrays it leaves; nothing where the target lacks a feature.
fn checked(
    machine: &Machine,
    target: Target,
    case: &dyn AnyCase,
) -> Result<Option<Vec<Vec<u8>>>, String> {
    match check_case(machine, target, case) {
        Ok(checked) if checked.findings.is_empty() => Ok(Some(checked.arrays)),
        Ok(checked) => {
            let first = &checked.findings[0];
            Err(format!(
                "{target} {}: {} findings, the first: {} in {} at {}: {} ({:?})",
                case.label(),
                checked.findings.len(),
                first.kind,
                first.place.kernel,
                first.place.span,
                first.message,
                first.other.as_ref().map(|other| other.span.to_string()),
            ))
        }
        Err(found) if matches!(found[..], [Failure::Unsupported]) => Ok(None),
        Err(found) => Err(format!("{target} {}: {}", case.label(), found[0])),
    }
}

#[test]
fn every_kernel_is_clean() {
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut ran = 0;
    // Targets before 75 differ in products only.
    for (target, family) in [(90, ""), (75, ""), (70, "gem")] {
        let target = Target::sm(target);
        let only = if family.is_empty() { &only } else { family };
        for entry in registry().iter().filter(|entry| entry.name.contains(only)) {
            let start = std::time::Instant::now();
            let machine = machine(target, None);
            for case in (entry.cases)(&mut Random::new(7)) {
                match checked(&machine, target, case.as_ref()) {
                    Ok(left) => ran += usize::from(left.is_some()),
                    Err(one) => wrong.push(one),
                }
            }
            println!("{target} {}: {:?}", entry.name, start.elapsed());
        }
    }
    assert!(ran > 0, "no case ran");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Of each kernel among the cases, the smallest that launches something and one of middle size.
fn some(cases: Vec<Box<dyn AnyCase>>, target: Target) -> Vec<Box<dyn AnyCase>> {
    let mut kernels: BTreeMap<String, Vec<Box<dyn AnyCase>>> = BTreeMap::new();
    for case in cases {
        let grid = case.grid();
        let Ok(built) = case.build(target, Default::default()) else {
            continue;
        };
        if grid.is_ok_and(|grid| grid > 0) {
            kernels
                .entry(built.entry.to_string())
                .or_default()
                .push(case);
        }
    }
    let mut chosen = Vec::new();
    for (_, mut cases) in kernels {
        cases.sort_by_key(|case| bytes(case.as_ref()));
        let middle = cases.len() / 2;
        if middle > 0 {
            chosen.push(cases.swap_remove(middle));
        }
        chosen.push(cases.swap_remove(0));
    }
    chosen
}

#[test]
fn every_kernel_leaves_the_same_in_eight_orders() {
    let only = std::env::var("WARPSMITH_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let mut ran = 0;
    for target in [90, 75].map(Target::sm) {
        let machines: Vec<Machine> = (1..=ORDERS)
            .map(|seed| machine(target, Some(seed)))
            .collect();
        for entry in registry().iter().filter(|entry| entry.name.contains(&only)) {
            let start = std::time::Instant::now();
            for case in some((entry.cases)(&mut Random::new(11)), target) {
                let mut first = None;
                for machine in &machines {
                    match checked(machine, target, case.as_ref()) {
                        Ok(left) => {
                            ran += usize::from(left.is_some());
                            if first.get_or_insert_with(|| left.clone()) != &left {
                                wrong.push(format!("{target} {}: orders differ", case.label()));
                            }
                        }
                        Err(one) => {
                            wrong.push(format!("{:?} {one}", machine.config().seed));
                        }
                    }
                }
            }
            println!("{target} {}: {:?}", entry.name, start.elapsed());
        }
    }
    assert!(ran > 1000, "{ran}");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
