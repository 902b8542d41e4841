//! Calls of `vprintf`: how their parts are handed over.

/// The name of the function.
pub(crate) const NAME: &str = "vprintf";

/// Where the parts of a call are in the transfer area: the two addresses, and the result behind them.
pub(crate) const RESULT: u64 = 16;
pub(crate) const BYTES: u64 = 24;
