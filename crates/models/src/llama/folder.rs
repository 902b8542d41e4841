//! Model folders as Hugging Face lays them out: `config.json`, `tokenizer.json`, `tokenizer_config.json`, safetensors.

use super::config::Config;
use crate::{Error, chat::ChatTemplate, tokenizer::Tokenizer};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A JSON file larger than this is not one of ours.
const MAX_JSON: u64 = 64 << 20;

fn json(path: PathBuf) -> Result<Value, Error> {
    let read = || {
        let size = std::fs::metadata(&path)?.len();
        if size > MAX_JSON {
            return Err(std::io::Error::other(format!(
                "{size} bytes, expected at most {MAX_JSON}"
            )));
        }
        std::fs::read(&path)
    };
    let bytes = read().map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|error| Error::Unsupported {
        what: format!("{}: {error}", path.display()),
    })
}

/// Configuration, tokenizer and chat template beside the weights at `path`.
pub(super) fn open(path: &Path) -> Result<(Config, Tokenizer, ChatTemplate), Error> {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(Path::new("."))
    };
    let configuration = json(folder.join("config.json"))?;
    let config = Config::from_json(&configuration)?;
    let ends: Vec<u32> = match configuration.get("eos_token_id") {
        Some(Value::Array(ids)) => ids
            .iter()
            .filter_map(Value::as_u64)
            .filter_map(|id| id.try_into().ok())
            .collect(),
        Some(id) => id
            .as_u64()
            .and_then(|id| id.try_into().ok())
            .into_iter()
            .collect(),
        None => Vec::new(),
    };
    let tokenizer =
        Tokenizer::from_json_file(folder.join("tokenizer.json"))?.with_end_of_generation(&ends);
    let settings = folder.join("tokenizer_config.json");
    let template = if settings.exists() {
        json(settings)?
            .get("chat_template")
            .and_then(Value::as_str)
            .map(str::to_owned)
    } else {
        None
    };
    let template = match template {
        Some(source) => ChatTemplate::from_source(&source)?,
        None => ChatTemplate::chatml()?,
    };
    Ok((config, tokenizer, template))
}
