//! The format of run scripts as JSON Schema.

use serde_json::Value;

/// The JSON Schema (2020-12) that every script fits.
///
/// # Panics
/// Never: the text is part of the program, and a test reads it.
pub fn schema() -> Value {
    serde_json::from_str(include_str!("schema.json")).expect("the schema is JSON")
}
