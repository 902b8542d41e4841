//! What the checker finds: data first; drawing is for others.

mod finding;

pub use finding::{Access, Allocation, Checks, Finding, Kind, Place, Verdict};
