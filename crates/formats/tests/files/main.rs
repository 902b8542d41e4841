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
mod whisper_parts;
mod whisper_synth;

use std::path::PathBuf;

/// What `read` puts into a buffer.
fn bytes_of(read: impl FnOnce(&mut Vec<u8>) -> Result<(), warpsmith_formats::Error>) -> Vec<u8> {
    let mut bytes = Vec::new();
    read(&mut bytes).expect("the bytes are there");
    bytes
}

/// A file of the reference data.
fn reference(path: &str) -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference"
    ))
    .join(path)
}
