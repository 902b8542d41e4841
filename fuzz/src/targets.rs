//! The list of everything that is fuzzed.

use crate::Target;

/// Every registered target.
pub fn targets() -> Vec<Box<dyn Target>> {
    Vec::new()
}
