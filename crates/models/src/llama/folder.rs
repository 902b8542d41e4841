//! Model folders as Hugging Face lays them out: `config.json`, `tokenizer.json`, `tokenizer_config.json`, safetensors.

use super::config::Config;
use crate::{Error, chat::ChatTemplate, tokenizer::Tokenizer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use warpsmith_formats::input;

/// A JSON file larger than this is not one of ours.
const MAX_JSON: u64 = 64 << 20;

fn read(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    input::bytes(path, most).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

fn json(path: PathBuf) -> Result<Value, Error> {
    let bytes = read(&path, MAX_JSON)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::Unsupported {
        what: format!("{}: {error}", path.display()),
    })
}

/// The chat template of a folder: a file of its own, or a part of tokenizer_config.json, where several have names.
fn template(folder: &Path) -> Result<Option<String>, Error> {
    let own = folder.join("chat_template.jinja");
    if own.exists() {
        let text = read(&own, MAX_JSON)?;
        return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
    }
    let settings = folder.join("tokenizer_config.json");
    if !settings.exists() {
        return Ok(None);
    }
    let settings = json(settings)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(match settings.get("chat_template") {
        Some(Value::Array(named)) => {
            let usual = named.iter().find(|one| one["name"] == "default");
            usual.and_then(|one| text(&one["template"]))
        }
        Some(other) => text(other),
        None => None,
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
    let template = template(folder)?;
    let template = ChatTemplate::of_model(template.as_deref()).with_tokens(&tokenizer);
    Ok((config, tokenizer, template))
}
