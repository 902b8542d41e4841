//! Conformance: every kernel of the library against its reference, on the virtual GPU.

mod docs;
pub mod far;
pub mod run_case;
