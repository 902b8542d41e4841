//! Conformance: every kernel of the library against its reference, on the virtual GPU.

pub mod run_case;
