//! Finding a Whisper model on disk, with the small files that belong to its weights.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::table::Table;
use super::{Dims, Settings, WhisperFile, ggml, vocabulary};
use crate::Error;
use crate::bytes::{Bytes, read_small};
use crate::input::is_there;
use crate::object::Object;
use crate::safetensors::Safetensors;

/// What a folder may call its weights, tried in this order.
const WEIGHTS: &[&str] = &[
    "model.bin",
    "ggml-model.bin",
    "model.gguf",
    "model.safetensors.index.json",
    "model.safetensors",
];

/// A small file larger than this is not one of ours.
const MAX_SMALL: u64 = 64 << 20;

pub(super) fn open(path: &Path) -> Result<WhisperFile, Error> {
    if path.is_dir() {
        let mut candidates = WEIGHTS.iter().map(|name| path.join(name));
        return match candidates.find(|file| is_there(file)) {
            Some(file) => open_file(&file),
            None => Err(Error::EmptyFolder {
                path: path.to_path_buf(),
                want: WEIGHTS,
            }),
        };
    }
    open_file(path)
}

fn open_file(path: &Path) -> Result<WhisperFile, Error> {
    let is_index = path.extension().is_some_and(|e| e == "json");
    let bytes = Bytes::open(path)?;
    let first = bytes
        .first(ggml::MAGIC.len() as u64)
        .map_err(|e| e.in_file(path))?;
    if first == ggml::MAGIC {
        // Such a file is whole, and shares its folder with others.
        let table = Table::read(bytes, None).map_err(|e| e.in_file(path))?;
        return WhisperFile::build(table, None).map_err(|e| e.in_file(path));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut config = match small(folder.join("config.json"))? {
        None => None,
        Some((file, bytes)) => Some(Config::parse(&bytes).map_err(|e| e.in_file(&file))?),
    };
    if let Some((file, bytes)) = small(folder.join("generation_config.json"))? {
        let generation = Config::parse(&bytes).map_err(|e| e.in_file(&file))?;
        config = Some(config.unwrap_or_default().joined(generation));
    }
    let table = if is_index {
        drop(bytes);
        Table::from_safetensors(Safetensors::open(path)?, config.as_ref())
    } else {
        Table::read(bytes, config.as_ref())
    };
    let mut table = table.map_err(|e| e.in_file(path))?;
    table.settings.tokenizer_json = small(folder.join("tokenizer.json"))?.map(|(_, bytes)| bytes);
    if table.settings.tokenizer_json.is_none() {
        for (name, read) in [
            (
                "vocabulary.txt",
                vocabulary::from_lines as fn(&[u8]) -> Result<Vec<Vec<u8>>, Error>,
            ),
            ("vocabulary.json", vocabulary::from_json),
        ] {
            if let Some((file, bytes)) = small(folder.join(name))? {
                table.settings.tokens = Some(read(&bytes).map_err(|e| e.in_file(&file))?);
                break;
            }
        }
    }
    WhisperFile::build(table, config.as_ref()).map_err(|e| e.in_file(path))
}

/// The bytes of a file that may be absent.
fn small(path: PathBuf) -> Result<Option<(PathBuf, Vec<u8>)>, Error> {
    if !is_there(&path) {
        return Ok(None);
    }
    let bytes = read_small(&path, MAX_SMALL)?;
    Ok(Some((path, bytes)))
}

/// What is of use in `config.json` and `generation_config.json`, of Hugging Face or of CTranslate2.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    num_mel_bins: Option<u32>,
    max_source_positions: Option<u32>,
    d_model: Option<u32>,
    encoder_attention_heads: Option<u32>,
    encoder_layers: Option<u32>,
    encoder_ffn_dim: Option<u32>,
    max_target_positions: Option<u32>,
    decoder_attention_heads: Option<u32>,
    decoder_layers: Option<u32>,
    decoder_ffn_dim: Option<u32>,
    vocab_size: Option<u32>,
    activation_function: Option<String>,
    model_type: Option<String>,
    tie_word_embeddings: Option<bool>,
    is_encoder_decoder: Option<bool>,
    scale_embedding: Option<bool>,
    quantization_config: Option<serde_json::Value>,
    alignment_heads: Option<Vec<[u32; 2]>>,
    /// CTranslate2's name.
    suppress_ids: Option<Vec<i64>>,
    /// Hugging Face's name.
    suppress_tokens: Option<Vec<i64>>,
}

/// The numbers of heads that a configuration gives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heads {
    pub(super) encoder: Option<u32>,
    pub(super) decoder: Option<u32>,
}

impl Config {
    /// A configuration in JSON.
    ///
    /// # Errors
    /// What is no object, and settings that ask for another computation.
    pub(super) fn parse(bytes: &[u8]) -> Result<Config, Error> {
        let read = serde_json::from_slice::<Object<Config>>(bytes);
        let Object(config) = read.map_err(|source| Error::Json {
            what: "configuration",
            source,
        })?;
        let text = |value: &Option<String>| value.as_ref().map(|text| format!("{text:?}"));
        let truth = |value: Option<bool>| value.map(|truth| truth.to_string());
        for (field, found, want) in [
            ("model_type", text(&config.model_type), "\"whisper\""),
            (
                "activation_function",
                text(&config.activation_function),
                "\"gelu\"",
            ),
            (
                "is_encoder_decoder",
                truth(config.is_encoder_decoder),
                "true",
            ),
            ("scale_embedding", truth(config.scale_embedding), "false"),
        ] {
            if let Some(found) = found.filter(|found| found != want) {
                return Err(Error::Field {
                    field: field.to_owned(),
                    found,
                    want,
                });
            }
        }
        match config.quantization_config {
            Some(_) => Err(Error::Unsupported {
                what: "quantization_config".to_owned(),
            }),
            None => Ok(config),
        }
    }

    /// Each size that the configuration gives, with the same one of `dims`.
    fn sizes(&self, dims: &Dims) -> [(&'static str, Option<u32>, u32); 11] {
        [
            ("num_mel_bins", self.num_mel_bins, dims.n_mels),
            (
                "max_source_positions",
                self.max_source_positions,
                dims.n_audio_ctx,
            ),
            ("d_model", self.d_model, dims.n_audio_state),
            (
                "encoder_attention_heads",
                self.encoder_attention_heads,
                dims.n_audio_head,
            ),
            ("encoder_layers", self.encoder_layers, dims.n_audio_layer),
            (
                "encoder_ffn_dim",
                self.encoder_ffn_dim,
                dims.n_audio_state.saturating_mul(4),
            ),
            (
                "max_target_positions",
                self.max_target_positions,
                dims.n_text_ctx,
            ),
            (
                "decoder_attention_heads",
                self.decoder_attention_heads,
                dims.n_text_head,
            ),
            ("decoder_layers", self.decoder_layers, dims.n_text_layer),
            (
                "decoder_ffn_dim",
                self.decoder_ffn_dim,
                dims.n_text_state.saturating_mul(4),
            ),
            ("vocab_size", self.vocab_size, dims.n_vocab),
        ]
    }

    /// Refuses sizes that are others than those of the weights.
    pub(super) fn agree(&self, dims: &Dims) -> Result<(), Error> {
        for (field, found, want) in self.sizes(dims) {
            if let Some(found) = found.filter(|found| *found != want) {
                return Err(Error::Contradiction { field, found, want });
            }
        }
        Ok(())
    }

    /// These settings, with those of `generation` where it has them.
    fn joined(self, generation: Config) -> Config {
        Config {
            alignment_heads: generation.alignment_heads.or(self.alignment_heads),
            suppress_tokens: generation.suppress_tokens.or(self.suppress_tokens),
            ..self
        }
    }

    /// Whether the output projection is the token embedding, as it is unless something else is said.
    pub(super) fn is_tied(&self) -> bool {
        self.tie_word_embeddings.unwrap_or(true)
    }

    pub(super) fn heads(&self) -> Heads {
        Heads {
            encoder: self.encoder_attention_heads,
            decoder: self.decoder_attention_heads,
        }
    }

    /// The sizes, of a Hugging Face configuration; none if it gives none of them.
    pub(super) fn dims(&self) -> Result<Option<Dims>, Error> {
        let Some(width) = self.d_model else {
            return Ok(None);
        };
        for (name, ffn) in [
            ("encoder_ffn_dim", self.encoder_ffn_dim),
            ("decoder_ffn_dim", self.decoder_ffn_dim),
        ] {
            if let Some(ffn) = ffn.filter(|&ffn| u64::from(ffn) != 4 * u64::from(width)) {
                return Err(Error::Field {
                    field: name.to_owned(),
                    found: ffn.to_string(),
                    want: "4 d_model",
                });
            }
        }
        let size = |name: &str, value: Option<u32>| {
            value.ok_or_else(|| Error::Field {
                field: name.to_owned(),
                found: "absent".to_owned(),
                want: "a whole number",
            })
        };
        Ok(Some(Dims {
            n_mels: size("num_mel_bins", self.num_mel_bins)?,
            n_audio_ctx: size("max_source_positions", self.max_source_positions)?,
            n_audio_state: width,
            n_audio_head: size("encoder_attention_heads", self.encoder_attention_heads)?,
            n_audio_layer: size("encoder_layers", self.encoder_layers)?,
            n_text_ctx: size("max_target_positions", self.max_target_positions)?,
            n_text_state: width,
            n_text_head: size("decoder_attention_heads", self.decoder_attention_heads)?,
            n_text_layer: size("decoder_layers", self.decoder_layers)?,
            n_vocab: size("vocab_size", self.vocab_size)?,
        }))
    }

    /// Adds what a configuration says beyond sizes.
    ///
    /// # Errors
    /// A token that a model of these sizes does not have.
    pub(super) fn complete(&self, settings: &mut Settings, dims: &Dims) -> Result<(), Error> {
        settings.alignment_heads.clone_from(&self.alignment_heads);
        let Some(list) = self.suppress_ids.as_ref().or(self.suppress_tokens.as_ref()) else {
            return Ok(());
        };
        // By -1 openai-whisper's own list is meant.
        settings.suppress_usual = list.contains(&-1);
        let ids: Vec<i64> = list.iter().copied().filter(|id| *id != -1).collect();
        let known = |id: &i64| u32::try_from(*id).is_ok_and(|id| id < dims.n_vocab);
        if let Some(id) = ids.iter().find(|id| !known(id)) {
            return Err(Error::Field {
                field: "a token in the list of suppressed ones".to_owned(),
                found: id.to_string(),
                want: "less than n_vocab",
            });
        }
        settings.suppress = Some(ids.into_iter().map(|id| id as u32).collect());
        Ok(())
    }
}
