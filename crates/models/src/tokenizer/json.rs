//! `tokenizer.json` through the `tokenizers` crate, with its panics and excesses fenced off.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use super::Special;
use crate::Error;

/// How much all replacements of a normalizer together may lengthen a text.
const MAX_GROWTH: usize = 4096;

/// Tokens that may wait for the rest of a character: four bytes, and room for silent tokens.
const MAX_PENDING: usize = 16;

/// A tokenizer of any kind that the `tokenizers` crate knows.
pub(super) struct Json {
    parse: tokenizers::Tokenizer,
    /// Made on first use: most programs need only one of the two.
    plain: OnceLock<Box<tokenizers::Tokenizer>>,
    pieces: Vec<Option<Box<str>>>,
    bos: Option<u32>,
    eos: Option<u32>,
}

/// The parts looked at before the crate sees the file.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    model: ModelHead,
}

#[derive(Deserialize)]
struct ModelHead {
    #[serde(default)]
    dropout: Option<f32>,
}

impl Json {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Error> {
        let head: Head = serde_json::from_slice(bytes).map_err(|error| Error::TokenizerJson {
            message: error.to_string(),
        })?;
        if head.model.dropout.is_some_and(|dropout| dropout != 0.0) {
            return Err(Error::Unsupported {
                what: "a tokenizer.json with random dropout".to_owned(),
            });
        }
        if uses(&head.normalizer, "Precompiled") {
            return Err(Error::Unsupported {
                what: "a tokenizer.json with a precompiled normalizer".to_owned(),
            });
        }
        for part in [&head.normalizer, &head.pre_tokenizer, &head.decoder] {
            if growth(part) > MAX_GROWTH {
                return Err(Error::Unsupported {
                    what: format!("replacements that lengthen a text over {MAX_GROWTH} times"),
                });
            }
        }
        let mut parse = guard(|| tokenizers::Tokenizer::from_bytes(bytes))?;
        // how long a text may be is for the model to say, and padding is for batches
        parse.with_padding(None);
        guard(|| parse.with_truncation(None).map(|_| ()))?;

        let pieces = pieces(&parse)?;
        let mut json = Self {
            parse,
            plain: OnceLock::new(),
            pieces,
            bos: None,
            eos: None,
        };
        (json.bos, json.eos) = json.frame();
        Ok(json)
    }

    /// The tokens that the post-processor puts before and after every text.
    fn frame(&self) -> (Option<u32>, Option<u32>) {
        let encode = |add| guard(|| self.parse.encode_fast("a", add));
        let (Ok(bare), Ok(framed)) = (encode(false), encode(true)) else {
            return (None, None);
        };
        let (bare, framed) = (bare.get_ids(), framed.get_ids());
        if bare.is_empty() {
            return (None, None);
        }
        let Some(at) = framed.windows(bare.len()).position(|ids| ids == bare) else {
            return (None, None);
        };
        let first = framed[..at].first();
        let last = framed[at + bare.len()..].last();
        (first.copied(), last.copied())
    }

    pub(super) fn bos(&self) -> Option<u32> {
        self.bos
    }

    pub(super) fn eos(&self) -> Option<u32> {
        self.eos
    }

    pub(super) fn vocab_len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn piece(&self, id: u32) -> Option<&str> {
        self.pieces.get(id as usize)?.as_deref()
    }

    /// Those of `texts` that are special tokens.
    pub(super) fn ids_of(&self, texts: &[&str]) -> Vec<u32> {
        let added = self.parse.get_added_vocabulary();
        texts
            .iter()
            .filter(|text| added.is_special_token(text))
            .filter_map(|text| self.parse.token_to_id(text))
            .collect()
    }

    pub(super) fn encode(
        &self,
        text: &str,
        special: Special,
        bos: Option<u32>,
    ) -> Result<Vec<u32>, Error> {
        let tokenizer = match special {
            Special::Parse => &self.parse,
            Special::Plain => self.plain.get_or_init(|| {
                let mut plain = Box::new(self.parse.clone());
                plain.set_encode_special_tokens(true);
                plain
            }),
        };
        let mut ids = guard(|| tokenizer.encode_fast(text, true))?
            .get_ids()
            .to_vec();
        if bos.is_some() && ids.first().copied() == bos && ids.get(1).copied() == bos {
            ids.remove(0);
        }
        Ok(ids)
    }

    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, Error> {
        for &id in ids {
            if self.piece(id).is_none() {
                return Err(Error::TokenId {
                    what: "token id",
                    id,
                    vocab: self.pieces.len(),
                });
            }
        }
        guard(|| self.parse.decode(ids, true))
    }

    pub(super) fn stream(&self, prompt: &[u32]) -> Stream<'_> {
        // the tokens just before decide about spaces and half characters
        let tail = prompt.len().saturating_sub(MAX_PENDING);
        let known = prompt[tail..]
            .iter()
            .filter(|&&id| self.piece(id).is_some());
        Stream {
            json: self,
            context: known.copied().collect(),
            pending: Vec::new(),
        }
    }
}

/// A streaming decoder: the text of new tokens is what they add to the text of those before.
pub(super) struct Stream<'a> {
    json: &'a Json,
    context: Vec<u32>,
    pending: Vec<u32>,
}

impl Stream<'_> {
    pub(super) fn push(&mut self, id: u32) -> Result<String, Error> {
        self.json.decode(&[id])?;
        self.pending.push(id);
        let added = self.added()?;
        if added.ends_with(char::REPLACEMENT_CHARACTER) && self.pending.len() < MAX_PENDING {
            return Ok(String::new());
        }
        if added.is_empty() && self.pending.len() < MAX_PENDING {
            return Ok(added);
        }
        self.context = std::mem::take(&mut self.pending);
        Ok(added)
    }

    pub(super) fn finish(self) -> Result<String, Error> {
        self.added()
    }

    fn added(&self) -> Result<String, Error> {
        if self.pending.is_empty() {
            return Ok(String::new());
        }
        let before = self.json.decode(&self.context)?;
        let all = self
            .json
            .decode(&[&self.context[..], &self.pending].concat())?;
        match all.strip_prefix(&before) {
            Some(added) => Ok(added.to_owned()),
            // a decoder that rewrites what came before: the new tokens on their own
            None => self.json.decode(&self.pending),
        }
    }
}

/// All tokens by id.
fn pieces(tokenizer: &tokenizers::Tokenizer) -> Result<Vec<Option<Box<str>>>, Error> {
    let vocab = guard(|| Ok(tokenizer.get_vocab(true)))?;
    let last = *vocab.values().max().ok_or(Error::EmptyVocabulary)?;
    // ids far beyond the number of tokens would cost memory for nothing
    let most = vocab.len().saturating_mul(4).saturating_add(1 << 16);
    if last as usize >= most {
        return Err(Error::TokenId {
            what: "tokenizer.json: the highest id",
            id: last,
            vocab: most,
        });
    }
    let mut pieces = vec![None; last as usize + 1];
    for (text, id) in vocab {
        pieces[id as usize] = Some(text.into_boxed_str());
    }
    Ok(pieces)
}

/// Whether a part of the file has a component of that type.
fn uses(part: &Value, name: &str) -> bool {
    match part {
        Value::Object(fields) => {
            fields.get("type").and_then(Value::as_str) == Some(name)
                || fields.values().any(|field| uses(field, name))
        }
        Value::Array(parts) => parts.iter().any(|part| uses(part, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
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

/// Runs a call into the `tokenizers` crate; its errors and panics become ours.
fn guard<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, Error> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Error::TokenizerJson {
            message: error.to_string(),
        }),
        Err(panic) => {
            let reason = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no reason given");
            Err(Error::TokenizerJson {
                message: format!("the tokenizers crate panicked: {reason}"),
            })
        }
    }
}
