//! Model folders as Hugging Face lays them out: `config.json`, `tokenizer.json`, `tokenizer_config.json`, safetensors.

use super::config::Config;
use crate::{Error, chat::ChatTemplate, tokenizer::Tokenizer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use warpsmith_formats::{input::is_there, read_small};

/// A JSON file larger than this is not one of ours.
const MAX_JSON: u64 = 64 << 20;

fn json(path: PathBuf) -> Result<Value, Error> {
    let bytes = read_small(&path, MAX_JSON)?;
    let unsupported = |why: String| Error::Unsupported {
        what: format!("{}: {why}", path.display()),
    };
    match serde_json::from_slice(&bytes) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(unsupported("expected an object".to_owned())),
        Err(error) => Err(unsupported(error.to_string())),
    }
}

/// A file that may be absent.
fn optional_json(path: PathBuf) -> Result<Option<Value>, Error> {
    match is_there(&path) {
        true => json(path).map(Some),
        false => Ok(None),
    }
}

/// The chat template of a folder: a file of its own, or a part of tokenizer_config.json, where several have names.
fn template(folder: &Path) -> Result<Option<String>, Error> {
    let own = folder.join("chat_template.jinja");
    if is_there(&own) {
        let text = read_small(&own, MAX_JSON)?;
        return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
    }
    let Some(settings) = optional_json(folder.join("tokenizer_config.json"))? else {
        return Ok(None);
    };
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

/// The folder of the weights at `path`.
fn folder(path: &Path) -> &Path {
    match path.is_dir() {
        true => path,
        false => path.parent().unwrap_or(Path::new(".")),
    }
}

/// The configuration beside the weights at `path`.
pub(super) fn config(path: &Path) -> Result<Config, Error> {
    Config::from_json(&json(folder(path).join("config.json"))?)
}

/// Configuration, tokenizer and chat template beside the weights at `path`.
pub(super) fn open(path: &Path) -> Result<(Config, Tokenizer, ChatTemplate), Error> {
    let folder = folder(path);
    let configuration = json(folder.join("config.json"))?;
    let config = Config::from_json(&configuration)?;
    let mut ends = check_ids("config.json", &configuration, config.vocab)?;
    if let Some(generation) = optional_json(folder.join("generation_config.json"))? {
        ends.extend(check_ids(
            "generation_config.json",
            &generation,
            config.vocab,
        )?);
    }
    let tokenizer =
        Tokenizer::from_json_file(folder.join("tokenizer.json"))?.with_end_of_generation(&ends);
    let template = template(folder)?;
    let template = ChatTemplate::of_model(template.as_deref()).with_tokens(&tokenizer);
    Ok((config, tokenizer, template))
}

/// Checks the tokens that a file names; those that end a text come back.
///
/// # Errors
/// One that is no token of a vocabulary of `vocab`.
fn check_ids(file: &str, json: &Value, vocab: u32) -> Result<Vec<u32>, Error> {
    let ids = |key: &str| -> Result<Vec<u32>, Error> {
        let values = match json.get(key) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(values)) => values.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        let mut ids = Vec::with_capacity(values.len());
        for value in values {
            // Early checkpoints say by -1 that nothing is padded.
            if key == "pad_token_id" && value.as_i64() == Some(-1) {
                continue;
            }
            let id = value.as_u64().filter(|id| *id < vocab.into());
            ids.push(id.ok_or_else(|| Error::TokenOutside {
                key: format!("{file}: {key}"),
                found: value.to_string(),
                vocab,
            })? as u32);
        }
        Ok(ids)
    };
    for key in ["bos_token_id", "pad_token_id", "decoder_start_token_id"] {
        ids(key)?;
    }
    ids("eos_token_id")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_outside_the_vocabulary_are_refused_with_both_numbers() {
        let sound = json!({ "bos_token_id": 0, "eos_token_id": [319, 7], "pad_token_id": -1 });
        assert_eq!(check_ids("f", &sound, 320).unwrap(), [319, 7]);
        let absent = json!({ "eos_token_id": null });
        assert!(check_ids("f", &absent, 320).unwrap().is_empty());
        for (key, value) in [
            ("bos_token_id", json!(320)),
            ("eos_token_id", json!(4_294_967_296_u64)),
            ("eos_token_id", json!(-1)),
            ("eos_token_id", json!([7, 320])),
            ("eos_token_id", json!("</s>")),
            ("pad_token_id", json!(999)),
        ] {
            let error = check_ids("config.json", &json!({ key: value }), 320).unwrap_err();
            let wrong = match &value {
                Value::Array(ids) => ids[1].to_string(),
                value => value.to_string(),
            };
            let want = format!("config.json: {key} is {wrong}, expected a token, less than 320");
            assert_eq!(error.to_string(), want);
        }
    }
}
