//! Conformance tests and reference data.
