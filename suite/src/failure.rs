//! Why a case of a kernel failed.

use std::fmt;
use warpsmith_kernel::args::Mismatch;

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
        arg: String,
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
        arg: String,
        /// Where and how.
        mismatch: Mismatch,
    },
    /// Something was written around an array.
    Overrun {
        /// Argument.
        arg: String,
    },
    /// An input was changed.
    InputChanged {
        /// Argument.
        arg: String,
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
