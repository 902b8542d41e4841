//! Which tensors a model has: each that it needs is in the file, and each of the file is used.

use super::{
    config::{Biases, Config, Head},
    rope::RopeScaling,
    source::{LayerPart, Part, Source},
};
use crate::Error;
use std::collections::HashSet;

/// Parts that every layer has.
const LAYER: [LayerPart; 9] = [
    LayerPart::AttentionNorm,
    LayerPart::Query,
    LayerPart::Key,
    LayerPart::Value,
    LayerPart::Output,
    LayerPart::FeedForwardNorm,
    LayerPart::Gate,
    LayerPart::Up,
    LayerPart::Down,
];
const HEAD_NORMS: [LayerPart; 2] = [LayerPart::QueryNorm, LayerPart::KeyNorm];
const PROJECTED: [LayerPart; 3] = [
    LayerPart::QueryBias,
    LayerPart::KeyBias,
    LayerPart::ValueBias,
];
const OUTPUT: [LayerPart; 1] = [LayerPart::OutputBias];

/// Compares the names of a file's tensors with the parts of a model.
///
/// # Errors
/// [`Error::MissingTensor`] for a part that the file lacks, [`Error::UnusedTensor`] for a tensor that is no part.
pub(super) fn check(source: &Source, config: &Config) -> Result<(), Error> {
    let names: HashSet<&str> = source.names().collect();
    let layers = |part: LayerPart| (0..config.layers).map(move |at| Part::Layer(at, part));
    let has = |part: Part| {
        let name = source.name(part);
        name.is_some_and(|name| names.contains(name.as_str()))
    };
    let any = |parts: &[LayerPart]| parts.iter().any(|part| layers(*part).any(has));

    let mut wanted = vec![Part::Embedding, Part::FinalNorm];
    let mut allowed = Vec::new();
    match config.head {
        Head::Own => wanted.push(Part::Head),
        Head::Embedding | Head::OwnIfThere => allowed.push(Part::Head),
    }
    if config.rope_scaling == RopeScaling::Factors {
        wanted.push(Part::RopeFactors);
    }
    let (projected, output) = match config.biases {
        Biases::None => (false, false),
        Biases::QueryKeyValue => (true, false),
        Biases::All => (true, true),
        Biases::AsInFile => (any(&PROJECTED), any(&OUTPUT)),
    };
    let groups: [(bool, &[LayerPart]); 4] = [
        (true, &LAYER),
        (config.norms_heads(), &HEAD_NORMS),
        (projected, &PROJECTED),
        (output, &OUTPUT),
    ];
    for (_, parts) in groups.iter().filter(|(needed, _)| *needed) {
        wanted.extend(parts.iter().copied().flat_map(layers));
    }
    if let Some(missing) = wanted.iter().find(|part| !has(**part)) {
        return Err(source.missing(*missing));
    }
    let known: HashSet<String> = wanted
        .into_iter()
        .chain(allowed)
        .filter_map(|part| source.name(part))
        .collect();
    let unused = source
        .names()
        .find(|name| !known.contains(*name) && !is_idle(name, config.layers));
    match unused {
        None => Ok(()),
        Some(name) => Err(Error::UnusedTensor {
            name: name.to_owned(),
            why: match layer_of(name) {
                Some((at, _)) if at >= config.layers => {
                    format!("the model has {} layers, counted from 0", config.layers)
                }
                Some(_) | None => format!("a {} model has no such part here", config.architecture),
            },
        }),
    }
}

/// The layer that a name is about, and what follows its number.
fn layer_of(name: &str) -> Option<(u32, &str)> {
    let rest = ["blk.", "model.layers."]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    let (number, part) = rest.split_once('.')?;
    Some((number.parse().ok()?, part))
}

/// Buffers of rotary frequencies that older programs saved: they follow from the configuration.
fn is_idle(name: &str, layers: u32) -> bool {
    match layer_of(name) {
        Some((at, part)) => {
            at < layers
                && matches!(
                    part,
                    "attn_rot_embd" | "attn_rot_embd.weight" | "self_attn.rotary_emb.inv_freq"
                )
        }
        None => name == "model.rotary_emb.inv_freq",
    }
}
