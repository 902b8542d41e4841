//! What is in a model file, of whichever format.

use super::WIDEST;
use crate::cli::output::printable;
use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use warpsmith::{
    formats::{
        Kind,
        gguf::{Array, Gguf, Value},
        input::is_there,
        quant::WeightType,
        read_small,
        safetensors::Safetensors,
        whisper::{Format, WhisperFile},
    },
    models::{Rounding, llama, whisper},
};

/// Values of an array that are shown.
const SHOWN: usize = 4;
/// A JSON file larger than this is not one of ours.
const MAX_JSON: u64 = 256 << 20;

/// What a file has.
pub(super) struct Contents {
    pub(super) format: String,
    pub(super) pairs: Vec<Pair>,
    pub(super) tensors: Vec<Tensor>,
    /// Where the files do not agree.
    pub(super) warnings: Vec<String>,
}

/// A key and its value.
pub(super) struct Pair {
    pub(super) key: String,
    pub(super) ty: String,
    /// In at most a line.
    pub(super) text: String,
    pub(super) json: Json,
}

/// A tensor.
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) ty: WeightType,
    /// Slowest dimension first.
    pub(super) shape: Vec<u64>,
    pub(super) bytes: u64,
    /// What it is in the file, where it becomes another one.
    pub(super) was: Option<WeightType>,
}

impl Contents {
    /// Of a file, or of the model in a folder.
    pub(super) fn read(path: &Path) -> Result<Contents> {
        if path.is_dir() {
            return folder(path);
        }
        if !path.is_file() && path.exists() {
            bail!("this is neither a file nor a folder");
        }
        let mut magic = Vec::new();
        File::open(path)?.take(4).read_to_end(&mut magic)?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            _ if magic == b"GGUF" => gguf(path),
            Some("safetensors") => safetensors(path),
            Some("json") if path.to_string_lossy().ends_with(".index.json") => safetensors(path),
            Some("json") => json_file(path),
            // What is no other model may still be a broken GGUF file, which says what is wrong with it.
            Some("gguf") => gguf(path),
            Some(_) | None => speech(path).or_else(|error| match magic.as_slice() {
                b"lmgg" => Err(error),
                _ if extension == Some("bin") => Err(error),
                _ => gguf(path),
            }),
        }
    }
}

impl Contents {
    /// The same as it is loaded with `rounding`.
    ///
    /// # Errors
    /// What is no model that is run here.
    pub(super) fn rounded(path: &Path, rounding: Rounding) -> Result<Contents> {
        let (mut contents, products) = match Kind::of(path) {
            Some(Kind::Speech) => {
                let products = whisper::products(&WhisperFile::open(path)?);
                (speech(path)?, products)
            }
            Some(Kind::Text) | None => (Contents::read(path)?, llama::products(path)?),
        };
        if products.is_empty() {
            bail!("--weights is for models that are run here, and this is none");
        }
        for tensor in &mut contents.tensors {
            let columns = tensor.shape.last().copied().unwrap_or(1);
            let to = rounding.of(tensor.ty, columns);
            if to == tensor.ty || !products.contains(&tensor.name) {
                continue;
            }
            let elements = tensor.shape.iter().product();
            tensor.bytes = to.bytes_of(elements).unwrap_or(tensor.bytes);
            tensor.was = Some(std::mem::replace(&mut tensor.ty, to));
        }
        Ok(contents)
    }
}

/// The model of a folder: safetensors, one GGUF file, or Whisper as CTranslate2 and whisper.cpp have it.
fn folder(path: &Path) -> Result<Contents> {
    let has = |name: &str| is_there(&path.join(name));
    if has("model.safetensors") || has("model.safetensors.index.json") {
        return safetensors(path);
    }
    if has("model.bin") || has("ggml-model.bin") || has("model.gguf") {
        return speech(path).or_else(|error| match has("model.gguf") {
            true => gguf(&path.join("model.gguf")),
            false => Err(error),
        });
    }
    let files = std::fs::read_dir(path)?.filter_map(Result::ok);
    let mut files: Vec<PathBuf> = files
        .map(|entry| entry.path())
        .filter(|file| {
            file.extension()
                .is_some_and(|extension| extension == "gguf")
        })
        .collect();
    files.sort();
    match files.as_slice() {
        [one] => gguf(one),
        // The first part of a split file knows the others.
        [first, ..] if first.to_string_lossy().contains("-00001-of-") => gguf(first),
        [] if has("tokenizer.json") => json_file(&path.join("tokenizer.json")),
        [] => safetensors(path),
        several => bail!(
            "{} GGUF files are in this folder, expected one: name the file",
            several.len()
        ),
    }
}

fn gguf(path: &Path) -> Result<Contents> {
    let file = Gguf::open(path)?;
    let tensors = file.tensors().iter().map(|info| Tensor {
        name: info.name.clone(),
        ty: info.dtype,
        shape: info.dims.iter().rev().copied().collect(),
        bytes: info.bytes,
        was: None,
    });
    let pairs = file.metadata().iter().map(|(key, value)| Pair {
        key: key.to_owned(),
        ty: type_name(value),
        text: value_text(value),
        json: value_json(value),
    });
    Ok(Contents {
        format: format!("GGUF version {}", file.version()),
        pairs: pairs.collect(),
        tensors: tensors.collect(),
        warnings: warnings(path)?,
    })
}

/// Tensors, with the configuration beside them.
fn safetensors(path: &Path) -> Result<Contents> {
    let file = Safetensors::open(path)?;
    let tensors = file.tensors().iter().map(|info| Tensor {
        name: info.name.clone(),
        ty: info.dtype,
        shape: info.shape.clone(),
        bytes: info.bytes,
        was: None,
    });
    let beside = match path.is_dir() {
        true => path.join("config.json"),
        false => path.with_file_name("config.json"),
    };
    Ok(Contents {
        format: "safetensors".to_owned(),
        pairs: match is_there(&beside) {
            true => json_pairs(&json_of(&beside)?),
            false => Vec::new(),
        },
        tensors: tensors.collect(),
        warnings: warnings(path)?,
    })
}

fn speech(path: &Path) -> Result<Contents> {
    let file = WhisperFile::open(path)?;
    let format = match file.format() {
        Format::CTranslate2 => "Whisper as CTranslate2 has it",
        Format::Ggml => "Whisper as ggml has it",
        Format::Gguf => "Whisper as GGUF",
        Format::Safetensors => "Whisper as safetensors",
    };
    let tensors = file.tensors().map(|info| Tensor {
        name: info.name.clone(),
        ty: info.dtype,
        shape: info.shape.clone(),
        bytes: info.bytes,
        was: None,
    });
    let sizes = file.dims().fields();
    let mut pairs: Vec<Pair> = sizes
        .into_iter()
        .map(|(key, size)| pair(key, &json!(size)))
        .collect();
    let settings = file.settings();
    let tokens = settings.tokens.as_ref().map(|tokens| json!(tokens.len()));
    let heads = settings.alignment_heads.as_ref().map(|heads| json!(heads));
    let suppress = settings.suppress.as_ref().map(|ids| json!(ids));
    let found = [
        ("tokens", tokens),
        ("alignment_heads", heads),
        ("suppress", suppress),
        (
            "tokenizer.json",
            settings
                .tokenizer_json
                .as_ref()
                .map(|text| json!(text.len())),
        ),
    ];
    pairs.extend(
        found
            .into_iter()
            .filter_map(|(key, value)| value.map(|value| pair(key, &value))),
    );
    Ok(Contents {
        format: format.to_owned(),
        pairs,
        tensors: tensors.collect(),
        warnings: Vec::new(),
    })
}

fn json_of(path: &Path) -> Result<Json> {
    let bytes = read_small(path, MAX_JSON)?;
    let name = || printable(&path.display().to_string());
    serde_json::from_slice(&bytes).with_context(name)
}

/// What is said of a model when it is loaded.
fn warnings(path: &Path) -> Result<Vec<String>> {
    let warnings = llama::warnings(path)?;
    Ok(warnings.iter().map(ToString::to_string).collect())
}

/// A tokenizer.json by its parts, another JSON file by its keys.
fn json_file(path: &Path) -> Result<Contents> {
    let json = json_of(path)?;
    if json.get("weight_map").is_some() {
        return safetensors(path);
    }
    let (Some(model), Some(_)) = (json.get("model"), json.get("added_tokens")) else {
        if !json.is_object() {
            bail!("expected an object");
        }
        return Ok(Contents {
            format: "JSON".to_owned(),
            pairs: json_pairs(&json),
            tensors: Vec::new(),
            warnings: Vec::new(),
        });
    };
    let count = |value: Option<&Json>| match value {
        Some(Json::Array(list)) => json!(list.len()),
        Some(Json::Object(map)) => json!(map.len()),
        Some(_) | None => Json::Null,
    };
    let kind = |part: &str| {
        json.get(part)
            .map_or(Json::Null, |part| part["type"].clone())
    };
    let added = json["added_tokens"].as_array();
    let special = added
        .into_iter()
        .flatten()
        .filter(|token| token["special"] == true);
    let special: Vec<&Json> = special.map(|token| &token["content"]).collect();
    let found = [
        ("version", json["version"].clone()),
        ("model.type", model["type"].clone()),
        ("model.vocab", count(model.get("vocab"))),
        ("model.merges", count(model.get("merges"))),
        ("added_tokens", count(json.get("added_tokens"))),
        ("special_tokens", json!(special)),
        ("normalizer", kind("normalizer")),
        ("pre_tokenizer", kind("pre_tokenizer")),
        ("post_processor", kind("post_processor")),
        ("decoder", kind("decoder")),
    ];
    let there = found.into_iter().filter(|(_, value)| !value.is_null());
    Ok(Contents {
        format: "tokenizer.json".to_owned(),
        pairs: there.map(|(key, value)| pair(key, &value)).collect(),
        tensors: Vec::new(),
        warnings: Vec::new(),
    })
}

fn json_pairs(json: &Json) -> Vec<Pair> {
    let keys = json.as_object().into_iter().flatten();
    keys.map(|(key, value)| pair(key, value)).collect()
}

/// A key with a value of JSON; of a long list its length and first values.
fn pair(key: &str, value: &Json) -> Pair {
    let (ty, text, shown) = match value {
        Json::Null => ("null".to_owned(), "null".to_owned(), None),
        Json::Bool(value) => ("bool".to_owned(), value.to_string(), None),
        Json::Number(value) => ("number".to_owned(), value.to_string(), None),
        Json::String(value) => ("string".to_owned(), quoted(value), None),
        Json::Object(map) => (format!("{} keys", map.len()), cut(&value.to_string()), None),
        Json::Array(list) => {
            let mut first: Vec<String> = list
                .iter()
                .take(SHOWN)
                .map(|value| cut(&value.to_string()))
                .collect();
            let long = list.len() > SHOWN;
            if long {
                first.push("...".to_owned());
            }
            let shown = json!({ "type": "list", "length": list.len(), "first": list[..SHOWN.min(list.len())] });
            (
                format!("{} of them", list.len()),
                format!("[{}]", first.join(", ")),
                long.then_some(shown),
            )
        }
    };
    Pair {
        key: key.to_owned(),
        ty,
        text,
        json: shown.unwrap_or_else(|| value.clone()),
    }
}

/// Text that is no longer than a line.
fn cut(text: &str) -> String {
    let shown = printable(&text.chars().take(WIDEST).collect::<String>());
    match text.chars().count() > WIDEST {
        true => shown + "...",
        false => shown,
    }
}

fn type_name(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("{} of them, {}", array.len(), array.type_name()),
        other => other.type_name().to_owned(),
    }
}

/// A value in at most a line.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(array) => {
            let mut shown: Vec<String> = first_values(array).iter().map(value_text).collect();
            if array.len() > SHOWN {
                shown.push("...".to_owned());
            }
            format!("[{}]", shown.join(", "))
        }
        Value::U8(v) => v.to_string(),
        Value::I8(v) => v.to_string(),
        Value::U16(v) => v.to_string(),
        Value::I16(v) => v.to_string(),
        Value::U32(v) => v.to_string(),
        Value::I32(v) => v.to_string(),
        Value::F32(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::F64(v) => v.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let total = text.chars().count();
    let shown = printable(&text.chars().take(WIDEST).collect::<String>());
    if total > WIDEST {
        format!("\"{shown}...\" ({total} characters)")
    } else {
        format!("\"{shown}\"")
    }
}

/// A value as JSON; of a long array its length and first values.
fn value_json(value: &Value) -> Json {
    match value {
        Value::String(v) => json!(v),
        Value::Array(array) => {
            let first: Vec<Json> = first_values(array).iter().map(value_json).collect();
            if array.len() > SHOWN {
                json!({ "type": array.type_name(), "length": array.len(), "first": first })
            } else {
                first.into()
            }
        }
        Value::U8(v) => json!(v),
        Value::I8(v) => json!(v),
        Value::U16(v) => json!(v),
        Value::I16(v) => json!(v),
        Value::U32(v) => json!(v),
        Value::I32(v) => json!(v),
        Value::F32(v) => json!(v),
        Value::Bool(v) => json!(v),
        Value::U64(v) => json!(v),
        Value::I64(v) => json!(v),
        Value::F64(v) => json!(v),
    }
}

/// The first values of an array.
fn first_values(array: &Array) -> Vec<Value> {
    macro_rules! first {
        ($($kind:ident),*) => {
            match array {
                $(Array::$kind(v) => v.iter().take(SHOWN).cloned().map(Value::$kind).collect(),)*
            }
        };
    }
    first!(
        U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64
    )
}
