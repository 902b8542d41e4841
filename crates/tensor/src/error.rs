//! What can be wrong with a tensor or an operation on tensors.

use std::fmt;

/// An error of this crate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operand has a shape that the operation does not take.
    #[error("{op}: `{arg}` has shape {found:?}, expected {expected}")]
    Shape {
        /// Operation.
        op: &'static str,
        /// Operand.
        arg: &'static str,
        /// What the operation takes.
        expected: Expected,
        /// What it was given.
        found: Vec<usize>,
    },
    /// There are more or fewer elements than the shape has.
    #[error("{op}: shape {shape:?} has {expected} elements, found {found}")]
    Elements {
        /// Operation.
        op: &'static str,
        /// The shape.
        shape: Vec<usize>,
        /// Elements of the shape.
        expected: usize,
        /// Elements given.
        found: usize,
    },
    /// A dimension is larger than kernels count.
    #[error("{op}: `{arg}` has a dimension of {found}, expected at most {most}")]
    Dimension {
        /// Operation.
        op: &'static str,
        /// Operand.
        arg: &'static str,
        /// The largest it may be.
        most: usize,
        /// What it is.
        found: usize,
    },
    /// A shape has more elements than can be counted.
    #[error("{op}: shape {shape:?} has more elements than can be addressed")]
    TooLarge {
        /// Operation.
        op: &'static str,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Not done by this crate.
    #[error("{what} is not supported")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// The device refused, or work on it failed.
    #[error(transparent)]
    Device(#[from] warpsmith_device::Error),
}

impl From<warpsmith_kernel::LaunchError> for Error {
    fn from(error: warpsmith_kernel::LaunchError) -> Error {
        Error::Device(error.into())
    }
}

/// A shape that an operation takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This one.
    Exactly(Vec<usize>),
    /// Any of so many dimensions.
    Rank(usize),
    /// Any of at least so many dimensions.
    AtLeast(usize),
    /// Any whose last dimension is this.
    Last(usize),
    /// Any of two dimensions whose first one is this.
    RowsOfTwo(usize),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Exactly(shape) => write!(f, "{shape:?}"),
            Expected::Rank(rank) => write!(f, "{rank} dimensions"),
            Expected::AtLeast(rank) => write!(f, "at least {rank} dimensions"),
            Expected::Last(n) => write!(f, "[.., {n}]"),
            Expected::RowsOfTwo(n) => write!(f, "[{n}, _]"),
        }
    }
}
