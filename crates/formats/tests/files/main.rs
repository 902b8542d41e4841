//! Whole files and whole vectors: what independent engines wrote, what we write, what is broken.

mod gguf_hostile;
mod gguf_split;
mod kinds;
mod quant_vectors;
mod round_trip;
mod safetensors_files;
mod synth_models;
mod whisper_files;
mod whisper_hostile;
mod whisper_synth;

use std::path::PathBuf;

/// A file of the reference data.
fn reference(path: &str) -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference"
    ))
    .join(path)
}
