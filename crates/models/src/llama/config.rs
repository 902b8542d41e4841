//! Configuration: what distinguishes the Llama-type architectures, as data.

use crate::Error;
use serde_json::Value;
use warpsmith_formats::gguf::Metadata;
use warpsmith_library::rope::Pairing;

/// How frequencies are stretched beyond the trained context.
#[derive(Clone, Debug, PartialEq)]
pub enum RopeScaling {
    /// As trained.
    None,
    /// All frequencies divided by a factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Each base frequency divided by its own factor (a tensor of the file; Llama 3).
    Factors,
    /// Llama 3's rule, where the file has the rule and not the factors.
    Llama3 {
        /// Scale of low frequencies.
        factor: f64,
        /// Wavelengths above `original / low` are scaled whole.
        low: f64,
        /// Wavelengths below `original / high` are kept.
        high: f64,
        /// Trained context.
        original: f64,
    },
    /// YaRN (Peng et al., 2023).
    Yarn {
        /// Stretch.
        factor: f64,
        /// Trained context.
        original: f64,
        /// Rotations above which a dimension is kept.
        beta_fast: f64,
        /// Rotations below which it is interpolated.
        beta_slow: f64,
    },
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
}

const ARCHITECTURES: &str = "llama, qwen2 or qwen3";

fn unsupported(what: String) -> Error {
    Error::Unsupported { what }
}

impl Config {
    /// From the keys of a GGUF file. `has_factors` tells whether the file has a `rope_freqs.weight` tensor.
    ///
    /// # Errors
    /// A missing or unusable key, by name; another architecture.
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
            None => width.checked_div(heads).unwrap_or(0),
        };
        let factor = metadata
            .opt_f32(&key("rope.scaling.factor"))?
            .map_or(1.0, f64::from);
        let original = metadata
            .opt_u32(&key("rope.scaling.original_context_length"))?
            .map(f64::from);
        let context = metadata.u32(&key("context_length"))?;
        let rope_scaling = match metadata.opt_str(&key("rope.scaling.type"))? {
            _ if has_factors => RopeScaling::Factors,
            None | Some("none") => RopeScaling::None,
            Some("linear") => RopeScaling::Linear { factor },
            Some("yarn") => RopeScaling::Yarn {
                factor,
                original: original.unwrap_or(f64::from(context) / factor.max(1.0)),
                beta_fast: 32.0,
                beta_slow: 1.0,
            },
            Some(other) => {
                return Err(unsupported(format!(
                    "rope scaling `{other}`, expected linear or yarn"
                )));
            }
        };
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
            context,
            eps: metadata.f32(&key("attention.layer_norm_rms_epsilon"))?,
            rope_base: metadata
                .opt_f32(&key("rope.freq_base"))?
                .map_or(10_000.0, f64::from),
            rope_dims: metadata
                .opt_u32(&key("rope.dimension_count"))?
                .unwrap_or(head_dim),
            pairing,
            rope_scaling,
            architecture,
        };
        config.validate()?;
        Ok(config)
    }

    /// From a Hugging Face `config.json`.
    ///
    /// # Errors
    /// A missing or unusable key, by name; another architecture.
    pub fn from_json(json: &Value) -> Result<Config, Error> {
        let wrong = |key: &str, want: &str| {
            unsupported(format!("config.json: `{key}` is absent or not {want}"))
        };
        let integer = |key: &str| {
            let value = json
                .get(key)
                .and_then(Value::as_u64)
                .and_then(|n| u32::try_from(n).ok());
            value.ok_or_else(|| wrong(key, "an integer below 2^32"))
        };
        let or = |key: &str, default: u32| match json.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(_) => integer(key),
        };
        let number = |from: &Value, key: &str, default: Option<f64>| match from.get(key) {
            None | Some(Value::Null) => default.ok_or_else(|| wrong(key, "a number")),
            Some(value) => value.as_f64().ok_or_else(|| wrong(key, "a number")),
        };
        let architecture = match json.get("model_type").and_then(Value::as_str) {
            Some(name @ ("llama" | "qwen2" | "qwen3")) => name.to_owned(),
            other => {
                return Err(unsupported(format!(
                    "model type {other:?}, expected {ARCHITECTURES}"
                )));
            }
        };
        let (heads, width, context) = (
            integer("num_attention_heads")?,
            integer("hidden_size")?,
            integer("max_position_embeddings")?,
        );
        let head_dim = or("head_dim", width.checked_div(heads).unwrap_or(0))?;
        let rope_scaling = match json
            .get("rope_scaling")
            .or_else(|| json.get("rope_parameters"))
        {
            None | Some(Value::Null) => RopeScaling::None,
            Some(scaling) => {
                let ty = scaling
                    .get("rope_type")
                    .or_else(|| scaling.get("type"))
                    .and_then(Value::as_str);
                let original = || {
                    number(
                        scaling,
                        "original_max_position_embeddings",
                        Some(context.into()),
                    )
                };
                match ty {
                    None | Some("default") => RopeScaling::None,
                    Some("linear") => RopeScaling::Linear {
                        factor: number(scaling, "factor", None)?,
                    },
                    Some("llama3") => RopeScaling::Llama3 {
                        factor: number(scaling, "factor", None)?,
                        low: number(scaling, "low_freq_factor", None)?,
                        high: number(scaling, "high_freq_factor", None)?,
                        original: original()?,
                    },
                    Some("yarn") => RopeScaling::Yarn {
                        factor: number(scaling, "factor", None)?,
                        original: original()?,
                        beta_fast: number(scaling, "beta_fast", Some(32.0))?,
                        beta_slow: number(scaling, "beta_slow", Some(1.0))?,
                    },
                    Some(other) => return Err(unsupported(format!("rope scaling `{other}`"))),
                }
            }
        };
        let base = json.get("rope_parameters").map_or(json, |parameters| {
            if parameters.get("rope_theta").is_some() {
                parameters
            } else {
                json
            }
        });
        let config = Config {
            layers: integer("num_hidden_layers")?,
            width,
            feed_forward: integer("intermediate_size")?,
            heads,
            kv_heads: or("num_key_value_heads", heads)?,
            head_dim,
            vocab: integer("vocab_size")?,
            context,
            eps: number(json, "rms_norm_eps", Some(1e-6))? as f32,
            rope_base: number(base, "rope_theta", Some(10_000.0))?,
            rope_dims: head_dim,
            pairing: Pairing::Halves,
            rope_scaling,
            architecture,
        };
        config.validate()?;
        Ok(config)
    }

    fn validate(&self) -> Result<(), Error> {
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
        match &self.rope_scaling {
            RopeScaling::None | RopeScaling::Factors => Ok(()),
            RopeScaling::Linear { factor } => finite("rope scaling factor", *factor),
            RopeScaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => [*factor, *low, *high, *original]
                .iter()
                .try_for_each(|value| finite("rope scaling number", *value)),
            RopeScaling::Yarn {
                factor,
                original,
                beta_fast,
                beta_slow,
            } => [*factor, *original, *beta_fast, *beta_slow]
                .iter()
                .try_for_each(|value| finite("rope scaling number", *value)),
        }
    }

    /// Radians a position for each rotated pair, and the factor of sine and cosine. `factors` are the file's, if any.
    ///
    /// # Errors
    /// If there are not as many factors as pairs, or one is not a positive number.
    pub fn frequencies(&self, factors: Option<&[f32]>) -> Result<(Vec<f32>, f32), Error> {
        let pairs = self.rope_dims / 2;
        let base = |i: u32| {
            self.rope_base
                .powf(-f64::from(2 * i) / f64::from(self.rope_dims))
        };
        if let Some(factors) = factors {
            let wrong = factors
                .iter()
                .find(|factor| !(**factor > 0.0 && factor.is_finite()));
            if factors.len() != pairs as usize || wrong.is_some() {
                let what = format!(
                    "{} rope factors (first unusable: {wrong:?}), expected {pairs} positive ones",
                    factors.len()
                );
                return Err(unsupported(what));
            }
        }
        let scaled = |i: u32| match &self.rope_scaling {
            RopeScaling::None => base(i),
            RopeScaling::Linear { factor } => base(i) / factor,
            RopeScaling::Factors => {
                base(i) / factors.map_or(1.0, |factors| f64::from(factors[i as usize]))
            }
            RopeScaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => {
                let wavelength = std::f64::consts::TAU / base(i);
                if wavelength < original / high {
                    base(i)
                } else if wavelength > original / low {
                    base(i) / factor
                } else {
                    let smooth = (original / wavelength - low) / (high - low);
                    (1.0 - smooth) * base(i) / factor + smooth * base(i)
                }
            }
            RopeScaling::Yarn {
                factor,
                original,
                beta_fast,
                beta_slow,
            } => {
                let dimension = |rotations: f64| {
                    f64::from(self.rope_dims)
                        * (original / (rotations * std::f64::consts::TAU)).ln()
                        / (2.0 * self.rope_base.ln())
                };
                let first = dimension(*beta_fast).floor().max(0.0);
                let last = dimension(*beta_slow)
                    .ceil()
                    .min(f64::from(self.rope_dims) - 1.0);
                let ramp = ((f64::from(i) - first) / (last - first).max(0.001)).clamp(0.0, 1.0);
                ramp * base(i) / factor + (1.0 - ramp) * base(i)
            }
        };
        let magnitude = match &self.rope_scaling {
            RopeScaling::Yarn { factor, .. } if *factor > 1.0 => 1.0 + 0.1 * factor.ln(),
            _ => 1.0,
        };
        Ok((
            (0..pairs).map(|i| scaled(i) as f32).collect(),
            magnitude as f32,
        ))
    }
}
