//! Runs a test case on a virtual GPU: poisoned outputs, guarded arrays, results compared element by element.

use std::fmt;
use warpsmith_kernel::{
    Options,
    args::{Access, HostBuffer, Mismatch, Visitor},
};
use warpsmith_library::case::AnyCase;
use warpsmith_ptx::target::Target;
use warpsmith_vgpu::{Launch, Machine};

/// Why a case failed.
#[derive(Debug)]
pub enum Failure {
    /// The target lacks a feature; not a failure of the kernel.
    Unsupported,
    /// It was not built, loaded or launched.
    Refused(String),
    /// An array does not have the size of its shape.
    Shape {
        /// Argument.
        arg: &'static str,
        /// Elements of the shape.
        want: u128,
        /// Elements.
        got: usize,
    },
    /// The device reported a fault.
    Fault(String),
    /// An output differs.
    Differs {
        /// Argument.
        arg: &'static str,
        /// Where and how.
        mismatch: Mismatch,
    },
    /// Something was written around an array.
    Overrun {
        /// Argument.
        arg: &'static str,
    },
    /// An input was changed.
    InputChanged {
        /// Argument.
        arg: &'static str,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unsupported => f.write_str("unsupported on this target"),
            Failure::Refused(why) => write!(f, "refused: {why}"),
            Failure::Shape { arg, want, got } => {
                write!(f, "`{arg}` has {got} elements, its shape needs {want}")
            }
            Failure::Fault(what) => write!(f, "fault: {what}"),
            Failure::Differs { arg, mismatch } => write!(f, "`{arg}`: {mismatch}"),
            Failure::Overrun { arg } => write!(f, "wrote outside `{arg}`"),
            Failure::InputChanged { arg } => write!(f, "changed input `{arg}`"),
        }
    }
}

/// Bytes before and after each array that nobody may touch.
const GUARD: usize = 256;
/// What outputs and guards hold before the launch: NaN in every float type.
const POISON: u8 = 0xff;

struct Array {
    name: &'static str,
    access: Access,
    start: u64,
    before: Vec<u8>,
}

struct Upload<'m> {
    machine: &'m Machine,
    params: Vec<u8>,
    arrays: Vec<Array>,
    failure: Option<Failure>,
}

impl Upload<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.params
            .resize(self.params.len().next_multiple_of(bytes.len().max(1)), 0);
        self.params.extend_from_slice(bytes);
    }
}

impl Visitor for Upload<'_> {
    fn array(
        &mut self,
        name: &'static str,
        access: Access,
        array: Option<&dyn HostBuffer>,
        dims: &[u128],
    ) {
        let Some(array) = array else {
            self.push(&0u64.to_le_bytes());
            return;
        };
        let want = dims.iter().product();
        if want != array.len() as u128 {
            self.failure.get_or_insert(Failure::Shape {
                arg: name,
                want,
                got: array.len(),
            });
        }
        let len = array.len() * array.element_bytes();
        let mut before = vec![POISON; len + 2 * GUARD];
        if let Some(contents) = array.contents() {
            before[GUARD..GUARD + len].copy_from_slice(contents);
        }
        let start = match self.machine.alloc(before.len() as u64) {
            Ok(start) => start,
            Err(error) => {
                self.failure
                    .get_or_insert(Failure::Refused(error.to_string()));
                return;
            }
        };
        if let Err(error) = self.machine.write(start, &before) {
            self.failure
                .get_or_insert(Failure::Refused(error.to_string()));
        }
        self.arrays.push(Array {
            name,
            access,
            start,
            before,
        });
        self.push(&(start + GUARD as u64).to_le_bytes());
    }

    fn scalar(&mut self, _name: &'static str, bytes: &[u8]) {
        self.push(bytes);
    }
}

struct Compare<'a> {
    after: std::slice::Iter<'a, (Array, Vec<u8>)>,
    failures: Vec<Failure>,
}

impl Visitor for Compare<'_> {
    fn array(
        &mut self,
        arg: &'static str,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let Some(array) = array else { return };
        let Some((Array { before, .. }, after)) = self.after.next() else {
            return;
        };
        let end = before.len() - GUARD;
        if before[..GUARD] != after[..GUARD] || before[end..] != after[end..] {
            self.failures.push(Failure::Overrun { arg });
        }
        match access {
            Access::In | Access::Maybe => {
                if before[GUARD..end] != after[GUARD..end] {
                    self.failures.push(Failure::InputChanged { arg });
                }
            }
            Access::Out | Access::InOut => {
                if let Err(mismatch) = array.check(&after[GUARD..end]) {
                    self.failures.push(Failure::Differs { arg, mismatch });
                }
            }
        }
    }

    fn scalar(&mut self, _name: &'static str, _bytes: &[u8]) {}
}

/// Runs `case` built for `target` and compares its outputs.
///
/// # Errors
/// All that is wrong, or [`Failure::Unsupported`].
pub fn run_case(machine: &Machine, target: Target, case: &dyn AnyCase) -> Result<(), Vec<Failure>> {
    let refused = |error: &dyn fmt::Display| vec![Failure::Refused(error.to_string())];
    let built = case
        .build(target, Options::default())
        .map_err(|error| match error {
            warpsmith_kernel::BuildError::Unsupported { .. } => vec![Failure::Unsupported],
            error => refused(&error),
        })?;
    let grid = case.grid().map_err(|error| refused(&error))?;
    let mut upload = Upload {
        machine,
        params: Vec::new(),
        arrays: Vec::new(),
        failure: None,
    };
    case.visit(&mut upload);
    let Upload {
        params,
        arrays,
        failure,
        ..
    } = upload;
    if let Some(failure) = failure {
        return Err(vec![failure]);
    }
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
        };
        let stream = machine.stream().map_err(|error| refused(&error))?;
        stream.launch(launch).map_err(|error| refused(&error))?;
        stream
            .synchronize()
            .map_err(|error| vec![Failure::Fault(error.to_string())])?;
    }
    let mut after = Vec::new();
    for array in arrays {
        let mut bytes = vec![0; array.before.len()];
        let read = machine.read(array.start, &mut bytes);
        let freed = machine.free(array.start);
        if let Some(error) = read.err().or(freed.err()) {
            return Err(vec![Failure::Fault(format!(
                "`{}` ({:?}): {error}",
                array.name, array.access
            ))]);
        }
        after.push((array, bytes));
    }
    let mut compare = Compare {
        after: after.iter(),
        failures: Vec::new(),
    };
    case.visit(&mut compare);
    if compare.failures.is_empty() {
        Ok(())
    } else {
        Err(compare.failures)
    }
}
