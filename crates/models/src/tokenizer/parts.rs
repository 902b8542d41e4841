//! Parts of a `tokenizer.json` that the `tokenizers` crate would stumble over, refused by their place in the file.

use serde::Deserialize;
use serde_json::Value;
use warpsmith_formats::Object;

use crate::Error;

/// How much all replacements of a normalizer together may lengthen a text.
const MAX_GROWTH: usize = 4096;

fn refuse(part: &str, what: &str) -> Error {
    Error::TokenizerPart {
        part: part.to_owned(),
        what: what.to_owned(),
    }
}

/// The parts that are looked at; the vocabulary is large, and the crate's to check.
#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    model: Object<Model>,
    #[serde(default)]
    added_tokens: Vec<Object<Added>>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    dropout: Option<f32>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
}

/// A token that is added to those of the model.
#[derive(Deserialize)]
pub(super) struct Added {
    pub(super) id: u32,
    pub(super) content: String,
}

/// Looks at each part of the file; the tokens that it adds come back.
///
/// # Errors
/// The first part that asks for randomness, for unbounded growth of the text, or for what cannot be done.
pub(super) fn check(bytes: &[u8]) -> Result<Vec<Added>, Error> {
    let Object(parts): Object<Parts> = parsed(bytes)?;
    for (name, part) in [
        ("normalizer", &parts.normalizer),
        ("pre_tokenizer", &parts.pre_tokenizer),
        ("decoder", &parts.decoder),
    ] {
        if growth(part) > MAX_GROWTH {
            let what = format!("replacements that lengthen a text over {MAX_GROWTH} times");
            return Err(refuse(name, &what));
        }
        component(name, part)?;
    }
    template("post_processor", &parts.post_processor)?;
    let Object(model) = parts.model;
    if model.dropout.is_some_and(|dropout| dropout != 0.0) {
        return Err(refuse("model.dropout", "random dropout is not supported"));
    }
    if let Some(prefix) = model.continuing_subword_prefix {
        merges(bytes, &prefix)?;
    }
    let added = parts.added_tokens.into_iter().map(|Object(token)| token);
    Ok(added.collect())
}

fn parsed<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::TokenizerJson {
        message: error.to_string(),
    })
}

/// A component and those inside it.
fn component(path: &str, part: &Value) -> Result<(), Error> {
    match part {
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str);
            match text("type") {
                Some("Precompiled") => {
                    return Err(refuse(path, "a precompiled normalizer is not supported"));
                }
                Some("FixedLength") if fields.get("length").and_then(Value::as_u64) == Some(0) => {
                    let path = format!("{path}.length");
                    return Err(refuse(&path, "words of length 0: expected at least 1"));
                }
                Some("Replace" | "Split") => {
                    for kind in ["String", "Regex"] {
                        let pattern = fields.get("pattern").and_then(|pattern| pattern.get(kind));
                        if pattern.and_then(Value::as_str) == Some("") {
                            let path = format!("{path}.pattern.{kind}");
                            return Err(refuse(&path, "an empty pattern: expected a text"));
                        }
                    }
                }
                Some(_) | None => {}
            }
            let mut fields = fields.iter();
            fields.try_for_each(|(name, field)| component(&format!("{path}.{name}"), field))
        }
        Value::Array(parts) => {
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(at, part)| component(&format!("{path}[{at}]"), part))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Templates: of one text, with tokens that they have.
fn template(path: &str, part: &Value) -> Result<(), Error> {
    if let Some(processors) = part["processors"].as_array() {
        let mut processors = processors.iter().enumerate();
        return processors
            .try_for_each(|(at, part)| template(&format!("{path}.processors[{at}]"), part));
    }
    if part["type"] != "TemplateProcessing" {
        return Ok(());
    }
    let tokens = &part["special_tokens"];
    for (name, texts) in [("single", &["A"][..]), ("pair", &["A", "B"])] {
        let pieces = part[name].as_array().map_or(&[][..], Vec::as_slice);
        for (at, piece) in pieces.iter().enumerate() {
            let place = |kind: &str| format!("{path}.{name}[{at}].{kind}.id");
            if let Some(id) = piece["SpecialToken"]["id"].as_str()
                && tokens.get(id).is_none()
            {
                let what = format!("token {id:?} is not in {path}.special_tokens");
                return Err(refuse(&place("SpecialToken"), &what));
            }
            if let Some(id) = piece["Sequence"]["id"].as_str()
                && !texts.contains(&id)
            {
                let what = format!("text {id:?}: expected {}", texts.join(" or "));
                return Err(refuse(&place("Sequence"), &what));
            }
        }
    }
    Ok(())
}

/// A merge as one text or as two.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Rule(String),
    Pair([String; 2]),
}

/// Merges whose second piece begins with the prefix, which the crate cuts off without looking.
fn merges(bytes: &[u8], prefix: &str) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct File {
        model: Model,
    }
    #[derive(Deserialize)]
    struct Model {
        #[serde(default)]
        merges: Vec<Merge>,
    }
    let file: File = parsed(bytes)?;
    for (at, merge) in file.model.merges.iter().enumerate() {
        let second = match merge {
            Merge::Rule(rule) => rule.split_once(' ').map_or("", |(_, second)| second),
            Merge::Pair([_, second]) => second,
        };
        if !second.starts_with(prefix) {
            let what = format!("{second:?} does not begin with the prefix {prefix:?}");
            return Err(refuse(&format!("model.merges[{at}]"), &what));
        }
    }
    Ok(())
}

/// By how much the replacements in a part of the file can multiply the length of a text.
fn growth(part: &Value) -> usize {
    match part {
        Value::Object(fields) => {
            let own = ["content", "prepend", "replacement"]
                .iter()
                .filter_map(|&key| fields.get(key)?.as_str())
                .map(|text| text.len() + 1)
                .fold(1, usize::saturating_mul);
            // the byte alphabet takes two bytes for one
            let spelled = match fields.get("type").and_then(Value::as_str) {
                Some("ByteLevel") => 2,
                Some(_) | None => 1,
            };
            fields
                .values()
                .map(growth)
                .fold(own * spelled, usize::saturating_mul)
        }
        Value::Array(parts) => parts.iter().map(growth).fold(1, usize::saturating_mul),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
