//! Which tensors of a file rows are multiplied by.

use super::{
    config::{Config, Head},
    folder,
    source::{LayerPart, Part, Source},
};
use crate::Error;
use std::path::Path;

/// The matrices of a layer.
const OF_A_LAYER: [LayerPart; 7] = [
    LayerPart::Query,
    LayerPart::Key,
    LayerPart::Value,
    LayerPart::Output,
    LayerPart::Gate,
    LayerPart::Up,
    LayerPart::Down,
];

/// Whether the token embedding is the matrix of the logits too.
pub(super) fn is_tied(source: &Source, config: &Config) -> bool {
    match config.head {
        Head::Embedding => true,
        Head::Own => false,
        Head::OwnIfThere => source.tensor(Part::Head).is_none(),
    }
}

/// The names of the matrices of the model at `path` that rows are multiplied by, which [`Rounding`](crate::Rounding) is
/// for; none of a model that is not run here. Costs the headers.
///
/// # Errors
/// What cannot be read.
pub fn products(path: &Path) -> Result<Vec<String>, Error> {
    let source = Source::open(path)?;
    let config = match &source {
        Source::Gguf(gguf) => Config::of_gguf(gguf),
        Source::Safetensors(_) => folder::config(path),
    };
    let Ok(config) = config else {
        return Ok(Vec::new());
    };
    let logits = match is_tied(&source, &config) {
        true => Part::Embedding,
        false => Part::Head,
    };
    let layers = (0..config.layers).flat_map(|at| OF_A_LAYER.map(|part| Part::Layer(at, part)));
    let parts = layers.chain([logits]);
    Ok(parts.filter_map(|part| source.name(part)).collect())
}
