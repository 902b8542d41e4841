//! What the reference data say about the synthetic models.

use crate::common::reference;
use serde_json::Value;

/// What the reference says about a synthetic model.
pub(crate) fn facts(name: &str) -> Value {
    let path = reference(&format!("synth/{name}.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// Ids in a JSON array.
pub(crate) fn ids(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .expect("an array")
        .iter()
        .map(|id| id.as_u64().expect("an id"))
        .collect()
}

/// The synthetic models.
pub(crate) const MODELS: [&str; 3] = ["tiny-qwen2", "tiny-llama3", "tiny-llama2spm"];
