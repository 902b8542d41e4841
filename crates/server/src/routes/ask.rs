//! What requests for text have in common: prompts, settings of the sampler, stops, how much is told.

use crate::{
    clock,
    error::ApiError,
    fields::{Fields, shown, wrong},
    text::{Prompt, Text},
};
use serde_json::{Value, json};
use warpsmith_models::{
    Error,
    llama::Penalties,
    sampling::SamplerConfig,
    text::StopMatcher,
    tokenizer::{Special, Tokenizer},
};

/// Stop strings of a request at most.
const MOST_STOPS: usize = 16;
/// Continuations of a prompt at most.
pub(crate) const MOST_CHOICES: u64 = 128;

/// Fields that change nothing of the answer.
const HARMLESS: &[&str] = &[
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "user",
];

/// Drops what changes nothing and refuses what every route for text refuses.
pub(crate) fn usual(fields: &mut Fields) -> Result<(), ApiError> {
    fields.ignore(HARMLESS);
    fields.refuse("store", &[json!(false)], "nothing is stored here")
}

/// Settings of the sampler. Without any they are OpenAI's: temperature 1, nothing cut off.
pub(crate) fn sampler(fields: &mut Fields) -> Result<SamplerConfig, ApiError> {
    let float = |x: Option<f64>, usual: f32| x.map_or(usual, |x| x as f32);
    let temperature = float(fields.number("temperature", 0.0..=2.0)?, 1.0);
    let top_p = float(fields.number("top_p", 0.0..=1.0)?, 1.0);
    let min_p = float(fields.number("min_p", 0.0..=1.0)?, 0.0);
    let top_k = fields.whole("top_k", 0..=u64::from(u32::MAX))?;
    let mut repeat_penalty = 1.0;
    for name in ["repetition_penalty", "repeat_penalty"] {
        repeat_penalty = float(fields.number(name, 0.01..=100.0)?, repeat_penalty);
    }
    let seed = match fields.take("seed") {
        None => clock::seed(),
        Some(value) => {
            let signed = || value.as_i64().map(i64::cast_unsigned);
            let seed = value.as_u64().or_else(signed);
            seed.ok_or_else(|| wrong("seed", &value, "a whole number of 64 bits"))?
        }
    };
    let config = SamplerConfig {
        temperature,
        top_k: top_k.unwrap_or(0) as u32,
        top_p,
        min_p,
        repeat_penalty,
        seed,
    };
    config.validate().map_err(|error| match &error {
        Error::Sampler { field, .. } => ApiError::field(*field, error.to_string()),
        _ => ApiError::malformed(error.to_string()),
    })?;
    Ok(config)
}

/// What is taken from the logits of tokens that were drawn before.
pub(crate) fn penalties(fields: &mut Fields) -> Result<Penalties, ApiError> {
    let mut read = |name| {
        let found = fields.number(name, -2.0..=2.0);
        found.map(|found| found.unwrap_or(0.0) as f32)
    };
    Ok(Penalties {
        presence: read("presence_penalty")?,
        frequency: read("frequency_penalty")?,
    })
}

/// Stop strings: one, or a list.
pub(crate) fn stops(fields: &mut Fields) -> Result<StopMatcher, ApiError> {
    let stops = match fields.take("stop") {
        None => Vec::new(),
        Some(Value::String(stop)) => vec![stop],
        Some(Value::Array(list)) if list.len() <= MOST_STOPS => {
            let text = |value: Value| match value {
                Value::String(text) => Ok(text),
                other => Err(wrong("stop", &other, "a string")),
            };
            list.into_iter().map(text).collect::<Result<_, _>>()?
        }
        Some(other) => {
            let want = format!("a string or up to {MOST_STOPS} of them");
            return Err(wrong("stop", &other, &want));
        }
    };
    StopMatcher::new(stops).map_err(|error| ApiError::field("stop", error.to_string()))
}

/// What is added to logits: ids as names of an object, as JSON has it.
pub(crate) fn bias(fields: &mut Fields, vocab: u32) -> Result<Vec<(u32, f32)>, ApiError> {
    const WANT: &str = "an object of token ids with numbers from -100 to 100";
    let map = match fields.take("logit_bias") {
        None => return Ok(Vec::new()),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(wrong("logit_bias", &other, WANT)),
    };
    let mut bias = Vec::with_capacity(map.len());
    for (id, by) in map {
        let token = id.parse().ok().filter(|token| *token < vocab);
        let token = token.ok_or_else(|| {
            let id = shown(&Value::String(id));
            let message = format!("`logit_bias` has {id}, expected a token id below {vocab}");
            ApiError::field("logit_bias", message)
        })?;
        let number = by.as_f64().filter(|by| (-100.0..=100.0).contains(by));
        let number = number.ok_or_else(|| wrong("logit_bias", &by, WANT))?;
        bias.push((token, number as f32));
    }
    Ok(bias)
}

/// Whether parts come as they are made, and whether the tokens are counted at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Whole,
    Stream { usage: bool },
}

impl Way {
    pub(crate) fn of(fields: &mut Fields) -> Result<Way, ApiError> {
        let stream = fields.flag("stream")?.unwrap_or(false);
        let options = fields.object("stream_options")?;
        let mut usage = false;
        if let Some(mut options) = options {
            if !stream {
                let message = "`stream_options` is for `stream`: true";
                return Err(ApiError::field("stream_options", message));
            }
            usage = options.flag("include_usage")?.unwrap_or(false);
            options.ignore(&["include_obfuscation"]);
            options.finish()?;
        }
        Ok(match stream {
            true => Way::Stream { usage },
            false => Way::Whole,
        })
    }
}

/// Prompts of a field: a text, a list of texts, token ids, or a list of lists of token ids. Control tokens in a text count,
/// as of `generate --raw`.
pub(crate) fn prompts(
    name: &str,
    value: Value,
    tokenizer: &Tokenizer,
    most: usize,
) -> Result<Vec<Prompt>, ApiError> {
    const WANT: &str = "a string, a list of strings, token ids, or a list of lists of token ids";
    let all = match value {
        Value::String(text) => vec![encoded(name, &text, tokenizer)?],
        Value::Array(list) if list.is_empty() => {
            return Err(ApiError::field(name, format!("`{name}` is empty")));
        }
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let texts = list.iter().filter_map(Value::as_str);
            let all = texts.map(|text| encoded(name, text, tokenizer));
            all.collect::<Result<_, _>>()?
        }
        Value::Array(list) if list.iter().all(Value::is_number) => {
            vec![ids(name, &list, tokenizer)?]
        }
        Value::Array(list) if list.iter().all(Value::is_array) => {
            let lists = list.iter().filter_map(Value::as_array);
            let all = lists.map(|list| ids(name, list, tokenizer));
            all.collect::<Result<_, _>>()?
        }
        other => return Err(wrong(name, &other, WANT)),
    };
    for ids in &all {
        limited(name, ids.len(), most)?;
    }
    Ok(all.into_iter().map(|ids| Prompt { ids }).collect())
}

/// Whether a prompt is as long as it may be.
pub(crate) fn limited(name: &str, found: usize, most: usize) -> Result<(), ApiError> {
    if found == 0 {
        let message = format!("`{name}` has no tokens");
        return Err(ApiError::field(name, message));
    }
    if found > most {
        let message = format!("`{name}` has {found} tokens, expected at most {most}");
        return Err(ApiError::too_long(name, message));
    }
    Ok(())
}

fn encoded(name: &str, text: &str, tokenizer: &Tokenizer) -> Result<Vec<u32>, ApiError> {
    let ids = tokenizer.encode(text, Special::Parse);
    ids.map_err(|error| ApiError::field(name, error.to_string()))
}

/// Token ids of a list.
pub(crate) fn ids(name: &str, list: &[Value], tokenizer: &Tokenizer) -> Result<Vec<u32>, ApiError> {
    let vocab = tokenizer.vocab_len() as u64;
    let one = |value: &Value| {
        let id = value.as_u64().filter(|id| *id < vocab);
        id.map(|id| id as u32)
            .ok_or_else(|| wrong(name, value, &format!("a token id below {vocab}")))
    };
    list.iter().map(one).collect()
}

/// A token as text and as bytes, for those who are told of it.
pub(crate) fn spelled(text: &Text, token: u32) -> (String, Option<Vec<u8>>) {
    let tokenizer = &text.bundle.tokenizer;
    match tokenizer.bytes(token) {
        Some(bytes) if bytes.is_empty() => {
            let piece = tokenizer.piece(token).unwrap_or_default();
            (piece.to_owned(), Some(piece.as_bytes().to_vec()))
        }
        Some(bytes) => (String::from_utf8_lossy(&bytes).into_owned(), Some(bytes)),
        None => (tokenizer.piece(token).unwrap_or_default().to_owned(), None),
    }
}

/// How many tokens went in and came out.
pub(crate) fn usage(prompt: usize, made: u64) -> Value {
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": made,
        "total_tokens": prompt as u64 + made,
    })
}
