//! Runs a test case on a virtual GPU: poisoned outputs, guarded arrays, results compared element by element.

use crate::{arrays::Laid, failure::Failure};
use std::fmt;
use warpsmith_kernel::{Built, Options};
use warpsmith_library::case::AnyCase;
use warpsmith_ptx::target::Target;
use warpsmith_vgpu::{Launch, Machine};

/// Runs `case` built for `target` and compares its outputs.
///
/// # Errors
/// All that is wrong, or [`Failure::Unsupported`].
pub fn run_case(machine: &Machine, target: Target, case: &dyn AnyCase) -> Result<(), Vec<Failure>> {
    let refused = |error: &dyn fmt::Display| vec![Failure::Refused(error.to_string())];
    let (built, grid) = build(target, case)?;
    let laid = Laid::of(case).map_err(|failure| vec![failure])?;
    let mut starts = Vec::new();
    for array in &laid.arrays {
        let start = machine
            .alloc(array.before.len() as u64)
            .map_err(|error| refused(&error))?;
        machine
            .write(start, &array.before)
            .map_err(|error| refused(&error))?;
        starts.push(start);
    }
    launch(machine, &built, grid, laid.params(&starts))?;
    let mut after = Vec::new();
    for (array, start) in laid.arrays.iter().zip(starts) {
        let mut bytes = vec![0; array.before.len()];
        let read = machine.read(start, &mut bytes);
        let freed = machine.free(start);
        if let Some(error) = read.err().or(freed.err()) {
            return Err(vec![Failure::Fault(format!(
                "`{}` ({:?}): {error}",
                array.name, array.access
            ))]);
        }
        after.push(bytes);
    }
    let failures = laid.compare(case, &after);
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures)
    }
}

/// The kernel of a case for a target, and its grid.
pub(crate) fn build(target: Target, case: &dyn AnyCase) -> Result<(Built, u64), Vec<Failure>> {
    let refused = |error: &dyn fmt::Display| vec![Failure::Refused(error.to_string())];
    let built = case
        .build(target, Options::default())
        .map_err(|error| match error {
            warpsmith_kernel::BuildError::Unsupported { .. } => vec![Failure::Unsupported],
            error => refused(&error),
        })?;
    let grid = case.grid().map_err(|error| refused(&error))?;
    Ok((built, grid))
}

/// Runs it over these parameters and waits; an empty grid is nothing to do.
pub(crate) fn launch(
    machine: &Machine,
    built: &Built,
    grid: u64,
    params: Vec<u8>,
) -> Result<(), Vec<Failure>> {
    let refused = |error: &dyn fmt::Display| vec![Failure::Refused(error.to_string())];
    if grid > 0 {
        let module = machine
            .load(&built.module)
            .map_err(|error| refused(&error))?;
        let kernel = module
            .kernel(&built.entry)
            .ok_or_else(|| refused(&"the entry is missing"))?;
        let launch = Launch {
            kernel,
            grid: [u32::try_from(grid).map_err(|error| refused(&error))?, 1, 1],
            block: [built.threads, 1, 1],
            dynamic_shared: built.dynamic_shared,
            params,
            cooperative: false,
            cluster: None,
        };
        let stream = machine.stream().map_err(|error| refused(&error))?;
        stream.launch(launch).map_err(|error| refused(&error))?;
        stream
            .synchronize()
            .map_err(|error| vec![Failure::Fault(error.to_string())])?;
    }
    Ok(())
}
