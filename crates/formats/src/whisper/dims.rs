//! The sizes of a Whisper model.

use std::collections::HashMap;

use super::TensorInfo;
use super::folder::{Config, Heads};
use crate::Error;

/// Of every model that OpenAI published.
const HEAD_DIM: u32 = 64;

/// No size of a sane model is larger; products of three stay far below 2^64.
const LARGEST: u32 = 1 << 20;

/// No sane model has more layers; each costs memory before its tensors are looked for.
const MOST_LAYERS: u32 = 1 << 10;

/// The sizes of a Whisper model, by OpenAI's names. The feed-forward width is four times the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Mel bins: 80, or 128 from large-v3 on.
    pub n_mels: u32,
    /// Frames of the encoder's output: 1500 for 30 s.
    pub n_audio_ctx: u32,
    /// Width of the encoder.
    pub n_audio_state: u32,
    /// Heads of the encoder.
    pub n_audio_head: u32,
    /// Layers of the encoder.
    pub n_audio_layer: u32,
    /// Tokens that the decoder can hold: 448.
    pub n_text_ctx: u32,
    /// Width of the decoder, the same as the encoder's.
    pub n_text_state: u32,
    /// Heads of the decoder.
    pub n_text_head: u32,
    /// Layers of the decoder.
    pub n_text_layer: u32,
    /// Tokens: 51864 for English models, 51865 for multilingual ones, 51866 with Cantonese.
    pub n_vocab: u32,
}

impl Dims {
    /// Every size by its name, in the order of ggml files.
    pub fn fields(&self) -> [(&'static str, u32); 10] {
        let Dims {
            n_mels,
            n_audio_ctx,
            n_audio_state,
            n_audio_head,
            n_audio_layer,
            n_text_ctx,
            n_text_state,
            n_text_head,
            n_text_layer,
            n_vocab,
        } = *self;
        [
            ("n_vocab", n_vocab),
            ("n_audio_ctx", n_audio_ctx),
            ("n_audio_state", n_audio_state),
            ("n_audio_head", n_audio_head),
            ("n_audio_layer", n_audio_layer),
            ("n_text_ctx", n_text_ctx),
            ("n_text_state", n_text_state),
            ("n_text_head", n_text_head),
            ("n_text_layer", n_text_layer),
            ("n_mels", n_mels),
        ]
    }

    /// Whether a model can have these sizes.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (name, size) in self.fields() {
            let layers = name.ends_with("layer");
            let most = if layers { MOST_LAYERS } else { LARGEST };
            if size == 0 || size > most {
                return Err(field(
                    name,
                    size,
                    if layers { "1 to 1024" } else { "1 to 1048576" },
                ));
            }
        }
        if !self.n_audio_state.is_multiple_of(self.n_audio_head) {
            let want = "a divisor of n_audio_state";
            return Err(field("n_audio_head", self.n_audio_head, want));
        }
        if !self.n_text_state.is_multiple_of(self.n_text_head) {
            let want = "a divisor of n_text_state";
            return Err(field("n_text_head", self.n_text_head, want));
        }
        if self.n_audio_state != self.n_text_state {
            return Err(field("n_text_state", self.n_text_state, "n_audio_state"));
        }
        Ok(())
    }
}

fn field(name: &str, found: u32, want: &'static str) -> Error {
    Error::Field {
        field: name.to_owned(),
        found: found.to_string(),
        want,
    }
}

/// The sizes that shapes tell, with the numbers of heads, which they do not, from the file, from `config` or by
/// heads of 64, which all published models have. `tensors` are by OpenAI's names.
pub(super) fn infer(
    tensors: &HashMap<String, TensorInfo>,
    config: Option<&Config>,
    file: Heads,
) -> Result<Dims, Error> {
    let size = |tensor: &str, rank: usize, at: usize| {
        let Some(info) = tensors.get(tensor) else {
            return Err(Error::NoTensor {
                tensor: tensor.to_owned(),
            });
        };
        match info.shape.get(at) {
            Some(&dim) if info.shape.len() == rank => Ok(u32::try_from(dim).unwrap_or(u32::MAX)),
            Some(_) | None => Err(Error::Rank {
                tensor: tensor.to_owned(),
                found: info.shape.len() as u32,
            }),
        }
    };
    let layers = |side: &str| {
        let has = |i: &u32| tensors.contains_key(&format!("{side}.blocks.{i}.mlp.0.weight"));
        (0..MOST_LAYERS).take_while(has).count() as u32
    };
    let n_audio_state = size("encoder.conv1.weight", 3, 0)?;
    let n_text_state = size("decoder.token_embedding.weight", 2, 1)?;
    let named = config.map(Config::heads).unwrap_or_default();
    let heads = |name: &'static str, named: Option<u32>, state: u32| match named {
        Some(heads) => Ok(heads),
        None if state > 0 && state.is_multiple_of(HEAD_DIM) => Ok(state / HEAD_DIM),
        None => Err(Error::Field {
            field: name.to_owned(),
            found: format!("absent, for a width of {state}"),
            want: "a configuration that says, or heads of 64",
        }),
    };
    let dims = Dims {
        n_mels: size("encoder.conv1.weight", 3, 1)?,
        n_audio_ctx: size("encoder.positional_embedding", 2, 0)?,
        n_audio_state,
        n_audio_head: heads(
            "n_audio_head",
            file.encoder.or(named.encoder),
            n_audio_state,
        )?,
        n_audio_layer: layers("encoder"),
        n_text_ctx: size("decoder.positional_embedding", 2, 0)?,
        n_text_state,
        n_text_head: heads("n_text_head", file.decoder.or(named.decoder), n_text_state)?,
        n_text_layer: layers("decoder"),
        n_vocab: size("decoder.token_embedding.weight", 2, 0)?,
    };
    match config {
        Some(config) => config.agree(&dims).map(|()| dims),
        None => Ok(dims),
    }
}
