//! Numbers of what a program has.

/// A block of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockId(pub(crate) u32);

/// The description of an access of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessId(pub(crate) u32);

/// A place in the text of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpanId(pub(crate) u32);
