//! Configuration: what distinguishes the Llama-type architectures, as data.

use super::{keys, rope::RopeScaling};
use crate::Error;
use warpsmith_formats::gguf::{Gguf, Metadata};
use warpsmith_library::rope::Pairing;

/// Where logits come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A matrix of its own, which the file must have.
    Own,
    /// The token embedding; another matrix in the file is not used.
    Embedding,
    /// A matrix of its own where the file has one, else the token embedding: the custom of GGUF.
    OwnIfThere,
}

/// Which projections of an attention have biases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Biases {
    /// None.
    None,
    /// Those of queries, keys and values.
    QueryKeyValue,
    /// These and that of the output.
    All,
    /// Those that the file has, the same ones in each layer.
    AsInFile,
}

/// A Llama-type model's shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Architecture as the file names it: `llama`, `qwen2`, `qwen3`.
    pub architecture: String,
    /// Layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub width: u32,
    /// Width of the gated feed-forward part.
    pub feed_forward: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Dimensions of a head.
    pub head_dim: u32,
    /// Tokens in the vocabulary.
    pub vocab: u32,
    /// Positions the model was trained for.
    pub context: u32,
    /// Epsilon of the norms.
    pub eps: f32,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Rotated dimensions of each head.
    pub rope_dims: u32,
    /// Which dimensions make a pair.
    pub pairing: Pairing,
    /// Frequency scaling.
    pub rope_scaling: RopeScaling,
    /// Where logits come from.
    pub head: Head,
    /// Biases of the attention.
    pub biases: Biases,
}

const ARCHITECTURES: &str = "llama, qwen2 or qwen3";

pub(super) fn unsupported(what: String) -> Error {
    Error::Unsupported { what }
}

impl Config {
    /// Of a GGUF file.
    ///
    /// # Errors
    /// As [`Config::from_gguf`].
    pub(super) fn of_gguf(gguf: &Gguf) -> Result<Config, Error> {
        Config::from_gguf(gguf.metadata(), gguf.tensor("rope_freqs.weight").is_some())
    }

    /// From the keys of a GGUF file. `has_factors` tells whether the file has a `rope_freqs.weight` tensor.
    ///
    /// # Errors
    /// A missing or unusable key, one that asks for what is not done here, one that is not known: each by name.
    pub fn from_gguf(metadata: &Metadata, has_factors: bool) -> Result<Config, Error> {
        let architecture = metadata.str("general.architecture")?.to_owned();
        let pairing = match architecture.as_str() {
            "llama" => Pairing::Neighbours,
            "qwen2" | "qwen3" => Pairing::Halves,
            other => {
                return Err(unsupported(format!(
                    "architecture `{other}`, expected {ARCHITECTURES}"
                )));
            }
        };
        let key = |name: &str| format!("{architecture}.{name}");
        let heads = metadata.u32(&key("attention.head_count"))?;
        let width = metadata.u32(&key("embedding_length"))?;
        let head_dim = match metadata.opt_u32(&key("attention.key_length"))? {
            Some(length) => length,
            None => Config::shared_width(width, heads)?,
        };
        let rope_scaling = RopeScaling::from_gguf(metadata, &architecture, has_factors)?;
        let vocab = match metadata.opt_u32(&key("vocab_size"))? {
            Some(vocab) => vocab,
            None => metadata.strings("tokenizer.ggml.tokens")?.len() as u32,
        };
        let config = Config {
            layers: metadata.u32(&key("block_count"))?,
            width,
            feed_forward: metadata.u32(&key("feed_forward_length"))?,
            heads,
            kv_heads: metadata
                .opt_u32(&key("attention.head_count_kv"))?
                .unwrap_or(heads),
            head_dim,
            vocab,
            context: metadata.u32(&key("context_length"))?,
            eps: metadata.f32(&key("attention.layer_norm_rms_epsilon"))?,
            rope_base: metadata
                .opt_f32(&key("rope.freq_base"))?
                .map_or(10_000.0, f64::from),
            rope_dims: metadata
                .opt_u32(&key("rope.dimension_count"))?
                .unwrap_or(head_dim),
            pairing,
            rope_scaling,
            head: Head::OwnIfThere,
            biases: match architecture.as_str() {
                "qwen2" => Biases::QueryKeyValue,
                _ => Biases::AsInFile,
            },
            architecture,
        };
        config.validate()?;
        keys::check(metadata, &config)?;
        Ok(config)
    }

    /// Whether queries and keys are normed head by head.
    pub(super) fn norms_heads(&self) -> bool {
        self.architecture == "qwen3"
    }

    /// The size of a head where heads share out the width.
    pub(super) fn shared_width(width: u32, heads: u32) -> Result<u32, Error> {
        match width.checked_div(heads) {
            Some(head_dim) if head_dim * heads == width => Ok(head_dim),
            Some(_) | None => Err(unsupported(format!(
                "{heads} heads over a width of {width}, expected a divisor of it"
            ))),
        }
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let within = |what: &str, value: u32, low: u32, high: u32| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(unsupported(format!(
                    "{what} {value}, expected {low} to {high}"
                )))
            }
        };
        within("layer count", self.layers, 1, 4096)?;
        within("width", self.width, 1, 1 << 20)?;
        within("feed-forward width", self.feed_forward, 1, 1 << 22)?;
        within("head count", self.heads, 1, 4096)?;
        within("key head count", self.kv_heads, 1, self.heads)?;
        within("head size", self.head_dim, 1, 256)?;
        within("vocabulary size", self.vocab, 1, 1 << 24)?;
        within("context length", self.context, 1, 1 << 30)?;
        within("rotated dimensions", self.rope_dims, 0, self.head_dim)?;
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(unsupported(format!(
                "{} heads over {} key heads, expected a multiple",
                self.heads, self.kv_heads
            )));
        }
        if !self.rope_dims.is_multiple_of(2) {
            return Err(unsupported(format!(
                "{} rotated dimensions, expected an even number",
                self.rope_dims
            )));
        }
        let finite = |what: &str, value: f64| {
            let sane = value.is_finite() && value > 0.0;
            if sane {
                Ok(())
            } else {
                Err(unsupported(format!(
                    "{what} {value}, expected a positive number"
                )))
            }
        };
        finite("rope base", self.rope_base)?;
        if !(self.eps >= 0.0 && self.eps.is_finite()) {
            return Err(unsupported(format!(
                "norm epsilon {}, expected a number from 0",
                self.eps
            )));
        }
        self.rope_scaling.validate()
    }
}
