//! Rotary frequencies, and how files say that they are stretched beyond the trained context.

use super::config::{Config, unsupported};
use crate::{
    Error,
    settings::{Fact, Known, Neutral},
};
use serde_json::Value;
use warpsmith_formats::gguf::Metadata;

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
        /// What sine and cosine are multiplied by.
        magnitude: f64,
    },
}

/// YaRN's own choice of what sine and cosine are multiplied by.
fn yarn_magnitude(factor: f64) -> f64 {
    if factor > 1.0 {
        1.0 + 0.1 * factor.ln()
    } else {
        1.0
    }
}

impl RopeScaling {
    /// From the keys of a GGUF file. `has_factors` tells whether the file has factors of its own.
    ///
    /// # Errors
    /// A kind that is not known here, by name; a key that the kind needs; factors beside another stretch.
    pub(super) fn from_gguf(
        metadata: &Metadata,
        architecture: &str,
        has_factors: bool,
    ) -> Result<RopeScaling, Error> {
        let key = |name: &str| format!("{architecture}.rope.{name}");
        let number = |name: &str| Ok::<_, Error>(metadata.opt_f32(&key(name))?.map(f64::from));
        // The older key means the same; 0 is how a converter says that there is none.
        let factor = match number("scaling.factor")? {
            Some(factor) => Some(factor),
            None => number("scale_linear")?,
        };
        let factor = factor.filter(|factor| *factor != 0.0 && *factor != 1.0);
        let kind = metadata.opt_str(&key("scaling.type"))?;
        let scaling = match (kind, factor) {
            // A factor without a kind is a linear one.
            (None | Some("linear"), Some(factor)) => RopeScaling::Linear { factor },
            (None | Some("none" | "linear"), None) | (Some("none"), Some(_)) => RopeScaling::None,
            (Some("yarn"), factor) => {
                let factor = factor.unwrap_or(1.0);
                RopeScaling::Yarn {
                    factor,
                    original: metadata
                        .u32(&key("scaling.original_context_length"))?
                        .into(),
                    beta_fast: number("scaling.yarn_beta_fast")?.unwrap_or(32.0),
                    beta_slow: number("scaling.yarn_beta_slow")?.unwrap_or(1.0),
                    magnitude: yarn_magnitude(factor),
                }
            }
            (Some(other), _) => {
                return Err(Error::Setting {
                    key: key("scaling.type"),
                    found: format!("{other:?}"),
                    want: "\"none\", \"linear\" or \"yarn\"".to_owned(),
                });
            }
        };
        match (has_factors, scaling) {
            (false, scaling) => Ok(scaling),
            (true, RopeScaling::None) => Ok(RopeScaling::Factors),
            (true, other) => Err(unsupported(format!(
                "rotary factors of the file's own beside {other:?}"
            ))),
        }
    }

    /// From a Hugging Face configuration, whose `rope_scaling` or `rope_parameters` it is. `context` is the trained one.
    ///
    /// # Errors
    /// A kind that is not known here, by name; a setting that is missing, not a number, or not done here.
    pub(super) fn from_json(name: &str, scaling: &Value, context: u32) -> Result<Self, Error> {
        let Value::Object(fields) = scaling else {
            return Err(unsupported(format!(
                "config.json: `{name}` is {scaling}, expected an object"
            )));
        };
        let number = |key: &str, default: Option<f64>| match fields.get(key) {
            None | Some(Value::Null) => default.ok_or_else(|| missing(name, key)),
            Some(value) => value.as_f64().ok_or_else(|| missing(name, key)),
        };
        let kind = ["rope_type", "type"]
            .iter()
            .find_map(|key| fields.get(*key).filter(|value| !value.is_null()));
        let kind = match kind {
            None => "default",
            Some(kind) => kind.as_str().unwrap_or("no text"),
        };
        let (scaling, read): (RopeScaling, &[&str]) = match kind {
            "default" => (RopeScaling::None, &[]),
            "linear" => {
                let factor = number("factor", None)?;
                (RopeScaling::Linear { factor }, &["factor"])
            }
            "llama3" => (
                RopeScaling::Llama3 {
                    factor: number("factor", None)?,
                    low: number("low_freq_factor", None)?,
                    high: number("high_freq_factor", None)?,
                    original: number("original_max_position_embeddings", None)?,
                },
                &["factor", "low_freq_factor", "high_freq_factor"],
            ),
            "yarn" => {
                let factor = number("factor", None)?;
                (
                    RopeScaling::Yarn {
                        factor,
                        original: number("original_max_position_embeddings", Some(context.into()))?,
                        beta_fast: number("beta_fast", Some(32.0))?,
                        beta_slow: number("beta_slow", Some(1.0))?,
                        magnitude: number("attention_factor", Some(yarn_magnitude(factor)))?,
                    },
                    &["factor", "beta_fast", "beta_slow", "attention_factor"],
                )
            }
            other => {
                return Err(Error::Setting {
                    key: format!("config.json: {name}.rope_type"),
                    found: format!("{other:?}"),
                    want: "\"default\", \"linear\", \"llama3\" or \"yarn\"".to_owned(),
                });
            }
        };
        let known = Known {
            read,
            idle: &[
                "rope_type",
                "type",
                "rope_theta",
                "original_max_position_embeddings",
            ],
            neutral: vec![
                ("factor", Neutral::Numbers(vec![1.0])),
                ("partial_rotary_factor", Neutral::Numbers(vec![1.0])),
                ("truncate", Neutral::Bool(true)),
            ],
        };
        for (key, value) in fields {
            known.check(
                key,
                &format!("config.json: {name}.{key}"),
                &Fact::of_json(value),
            )?;
        }
        Ok(scaling)
    }

    /// Refuses numbers that are not positive.
    pub(super) fn validate(&self) -> Result<(), Error> {
        let numbers: &[f64] = match self {
            RopeScaling::None | RopeScaling::Factors => &[],
            RopeScaling::Linear { factor } => &[*factor],
            RopeScaling::Llama3 {
                factor,
                low,
                high,
                original,
            } => {
                if low == high {
                    return Err(unsupported(format!(
                        "rope scaling with both frequency factors {low}, expected two different ones"
                    )));
                }
                &[*factor, *low, *high, *original]
            }
            RopeScaling::Yarn {
                factor,
                original,
                beta_fast,
                beta_slow,
                magnitude,
            } => &[*factor, *original, *beta_fast, *beta_slow, *magnitude],
        };
        match numbers.iter().find(|n| !(n.is_finite() && **n > 0.0)) {
            None => Ok(()),
            Some(wrong) => Err(unsupported(format!(
                "rope scaling number {wrong}, expected a positive number"
            ))),
        }
    }
}

fn missing(name: &str, key: &str) -> Error {
    unsupported(format!(
        "config.json: `{name}.{key}` is absent or not a number"
    ))
}

impl Config {
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
                magnitude: _,
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
            RopeScaling::Yarn { magnitude, .. } => *magnitude,
            RopeScaling::None
            | RopeScaling::Linear { .. }
            | RopeScaling::Factors
            | RopeScaling::Llama3 { .. } => 1.0,
        };
        Ok((
            (0..pairs).map(|i| scaled(i) as f32).collect(),
            magnitude as f32,
        ))
    }
}
