//! Runs a test case under the checker: arrays are allocated as they are, and outputs are memory nobody wrote.

use crate::{
    arrays::{GUARD, Laid},
    failure::Failure,
    run_case::{build, launch},
};
use std::fmt;
use warpsmith_library::case::AnyCase;
use warpsmith_ptx::target::Target;
use warpsmith_vgpu::{Machine, check::Finding};

/// What a checked run left and said.
#[derive(Debug)]
pub struct Checked {
    /// What was found.
    pub findings: Vec<Finding>,
    /// The arrays that the case says something of, in order.
    pub arrays: Vec<Vec<u8>>,
}

/// Runs `case` built for `target` on a machine that checks, and compares its outputs.
///
/// # Errors
/// As [`crate::run_case::run_case`].
pub fn check_case(
    machine: &Machine,
    target: Target,
    case: &dyn AnyCase,
) -> Result<Checked, Vec<Failure>> {
    let refused = |error: &dyn fmt::Display| vec![Failure::Refused(error.to_string())];
    let (built, grid) = build(target, case)?;
    let laid = Laid::of(case).map_err(|failure| vec![failure])?;
    let mut starts = Vec::new();
    for array in &laid.arrays {
        let inside = array.inside(&array.before);
        let start = machine
            .alloc(inside.len() as u64)
            .map_err(|error| refused(&error))?;
        if !matches!(array.access, warpsmith_kernel::args::Access::Out) {
            machine
                .write(start, inside)
                .map_err(|error| refused(&error))?;
        }
        starts.push(start);
    }
    // The layout counts a guard before each array; here is none.
    let bases: Vec<u64> = starts.iter().map(|start| start - GUARD as u64).collect();
    launch(machine, &built, grid, laid.params(&bases))?;
    let mut after = Vec::new();
    for (array, start) in laid.arrays.iter().zip(starts) {
        let mut bytes = array.before.clone();
        let end = bytes.len() - GUARD;
        let is_input = matches!(array.access, warpsmith_kernel::args::Access::In);
        if array.meant || is_input {
            machine
                .read(start, &mut bytes[GUARD..end])
                .map_err(|error| refused(&error))?;
        }
        machine.free(start).map_err(|error| refused(&error))?;
        after.push(bytes);
    }
    let failures = laid.compare(case, &after);
    if failures.is_empty() {
        let meant = laid.arrays.iter().zip(after);
        let meant = meant.filter(|(array, _)| array.meant);
        Ok(Checked {
            findings: machine.take_findings(),
            arrays: meant.map(|(_, bytes)| bytes).collect(),
        })
    } else {
        Err(failures)
    }
}

/// Bytes of a case's arrays: how large it is.
pub fn bytes(case: &dyn AnyCase) -> usize {
    let laid = Laid::of(case);
    laid.map_or(0, |laid| laid.arrays.iter().map(|a| a.before.len()).sum())
}
