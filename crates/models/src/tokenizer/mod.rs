//! Text to token ids and back, as the model's own file defines it.
//!
//! A [`Tokenizer`] comes from GGUF metadata (byte-level BPE or SentencePiece BPE, both written
//! here) or from a `tokenizer.json` (through the `tokenizers` crate).
//!
//! ```
//! use warpsmith_models::tokenizer::{Special, Tokenizer};
//!
//! let json = br#"{"version":"1.0","added_tokens":[],"model":{"type":"BPE",
//!   "vocab":{"h":0,"i":1,"hi":2},"merges":["h i"]}}"#;
//! let tokenizer = Tokenizer::from_json(json)?;
//! let ids = tokenizer.encode("hi", Special::Plain)?;
//! assert_eq!(ids, [2]);
//! assert_eq!(tokenizer.decode(&ids)?, "hi");
//! # Ok::<(), warpsmith_models::Error>(())
//! ```

pub(crate) mod alphabet;
mod bpe;
mod decode;
mod from_gguf;
mod json;
pub(crate) mod merge;
mod parts;
mod special;
pub(crate) mod split;
mod spm;
mod unicode;
mod vocab;

use std::path::Path;

use crate::Error;
pub use decode::Decoder;
use json::Json;
use special::{Matcher, Segment};
use vocab::{Fields, Kind, Vocab};

/// A `tokenizer.json` larger than this is none.
const MAX_JSON: u64 = 256 << 20;

/// Texts of control tokens that end a generation, beside the ids a file names.
const END_TEXTS: [&str; 11] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "</s>",
    "<end_of_turn>",
    "<|end|>",
    "<|eot|>",
    "<EOT>",
    "<|end\u{2581}of\u{2581}sentence|>",
];

/// What to do with the texts of control tokens found in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// `<|im_end|>` in the text becomes that control token: for rendered chat templates.
    Parse,
    /// Control tokens are ordinary text: for text from users.
    Plain,
}

/// A tokenizer with its vocabulary.
///
/// ```
/// use std::path::Path;
/// use warpsmith_formats::gguf::Gguf;
/// use warpsmith_models::tokenizer::{Special, Tokenizer};
///
/// # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/synth/tiny-llama3.gguf"));
/// let tokenizer = Tokenizer::from_gguf(Gguf::open(path)?.metadata())?; // or `from_json_file`
/// let ids = tokenizer.encode("Hello, world", Special::Parse)?;
/// assert_eq!(tokenizer.decode(&ids)?.trim(), "Hello, world");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tokenizer {
    engine: Engine,
    bos: Option<u32>,
    eos: Option<u32>,
    /// Sorted.
    ends: Vec<u32>,
}

enum Engine {
    Gguf(Box<Gguf>),
    Json(Box<Json>),
}

/// A tokenizer described by GGUF metadata.
struct Gguf {
    vocab: Vocab,
    matcher: Matcher,
    model: Model,
    /// Added before the text, if the model wants it.
    prefix: Option<u32>,
    /// Added after the text, if the model wants it.
    suffix: Option<u32>,
}

enum Model {
    Bpe(Box<bpe::Bpe>),
    Spm(spm::Spm),
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("vocab_len", &self.vocab_len())
            .field("bos", &self.bos)
            .field("eos", &self.eos)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// The tokenizer of a model file.
    ///
    /// # Errors
    /// A missing key, a tokenizer model or pre-tokenizer not known here (named), lists whose
    /// lengths differ, merges or ids that point outside the vocabulary.
    pub fn from_gguf(metadata: &warpsmith_formats::gguf::Metadata) -> Result<Self, Error> {
        Self::from_fields(Fields::from_gguf(metadata)?)
    }

    /// The tokenizer in a `tokenizer.json` file.
    ///
    /// # Errors
    /// As [`Tokenizer::from_json`], and when the file cannot be read or is no regular file.
    pub fn from_json_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let bytes = warpsmith_formats::read_small(path.as_ref(), MAX_JSON)?;
        Self::from_json(&bytes)
    }

    /// The tokenizer in the bytes of a `tokenizer.json`.
    ///
    /// # Errors
    /// Malformed JSON, an inconsistent tokenizer, or one that asks for randomness or for
    /// unbounded growth of the text.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        let json = Json::new(bytes)?;
        let mut ends = json.ids_of(&END_TEXTS);
        let eos = json.eos().or_else(|| ends.first().copied());
        ends.extend(eos);
        ends.sort_unstable();
        ends.dedup();
        Ok(Self {
            bos: json.bos(),
            eos,
            ends,
            engine: Engine::Json(Box::new(json)),
        })
    }

    fn from_fields(fields: Fields) -> Result<Self, Error> {
        let vocab = Vocab::new(&fields)?;
        for (what, id) in [
            ("tokenizer.ggml.bos_token_id", fields.bos),
            ("tokenizer.ggml.eos_token_id", fields.eos),
            ("tokenizer.ggml.eot_token_id", fields.eot),
            ("tokenizer.ggml.eom_token_id", fields.eom),
            ("tokenizer.ggml.unknown_token_id", fields.unknown),
        ] {
            if let Some(id) = id {
                vocab.check(what, id)?;
            }
        }
        for (key, id) in &fields.named {
            if *id as usize >= vocab.len() {
                return Err(Error::TokenOutside {
                    key: key.clone(),
                    found: id.to_string(),
                    vocab: vocab.len() as u32,
                });
            }
        }
        let (model, bos_by_default) = match fields.model.as_str() {
            "gpt2" => {
                let bpe = bpe::Bpe::new(&fields, &vocab)?;
                let bos = bpe.adds_bos_by_default();
                (Model::Bpe(Box::new(bpe)), bos)
            }
            "llama" => (Model::Spm(spm::Spm::new(&fields, &vocab)?), true),
            other => {
                return Err(Error::Unsupported {
                    what: format!("tokenizer model {other:?}"),
                });
            }
        };
        if fields.add_bos == Some(true) && fields.bos.is_none() {
            return Err(Error::Missing {
                what: "tokenizer.ggml.bos_token_id",
            });
        }
        if fields.add_eos == Some(true) && fields.eos.is_none() {
            return Err(Error::Missing {
                what: "tokenizer.ggml.eos_token_id",
            });
        }
        let mut ends: Vec<u32> = [fields.eos, fields.eot, fields.eom]
            .into_iter()
            .flatten()
            .collect();
        ends.extend(
            END_TEXTS
                .iter()
                .filter_map(|text| vocab.id(text))
                .filter(|&id| vocab.kind(id) == Kind::Control),
        );
        ends.sort_unstable();
        ends.dedup();
        Ok(Self {
            bos: fields.bos,
            eos: fields.eos,
            ends,
            engine: Engine::Gguf(Box::new(Gguf {
                matcher: Matcher::new(&vocab)?,
                prefix: fields
                    .bos
                    .filter(|_| fields.add_bos.unwrap_or(bos_by_default)),
                suffix: fields.eos.filter(|_| fields.add_eos.unwrap_or(false)),
                vocab,
                model,
            })),
        })
    }

    /// The ids of `text`, with the beginning and end tokens the model wants.
    ///
    /// With [`Special::Parse`], a text that already begins with the beginning token does not get
    /// a second one. Bytes for which a byte-level vocabulary has no token are left out, as in the
    /// reference tokenizers. Costs O(n log n).
    ///
    /// # Errors
    /// Only for a `tokenizer.json` that cannot handle the text.
    pub fn encode(&self, text: &str, special: Special) -> Result<Vec<u32>, Error> {
        match &self.engine {
            Engine::Gguf(gguf) => Ok(gguf.encode(text, special)),
            Engine::Json(json) => json.encode(text, special, self.bos),
        }
    }

    /// The text of `ids`; control tokens print nothing, bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    /// An id outside the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String, Error> {
        match &self.engine {
            Engine::Gguf(_) => {
                let mut decoder = self.decoder();
                let mut text = String::new();
                for &id in ids {
                    text.push_str(&decoder.push(id)?);
                }
                text.push_str(&decoder.finish()?);
                Ok(text)
            }
            Engine::Json(json) => json.decode(ids),
        }
    }

    /// A streaming decoder for a text of its own.
    pub fn decoder(&self) -> Decoder<'_> {
        Decoder::new(self, &[])
    }

    /// A streaming decoder for what follows `prompt`: leading spaces are kept.
    pub fn decoder_after(&self, prompt: &[u32]) -> Decoder<'_> {
        Decoder::new(self, prompt)
    }

    /// One more than the highest id.
    pub fn vocab_len(&self) -> usize {
        match &self.engine {
            Engine::Gguf(gguf) => gguf.vocab.len(),
            Engine::Json(json) => json.vocab_len(),
        }
    }

    /// The token as its file spells it: in the byte alphabet for byte-level BPE.
    pub fn piece(&self, id: u32) -> Option<&str> {
        match &self.engine {
            Engine::Gguf(gguf) => gguf.vocab.text(id),
            Engine::Json(json) => json.piece(id),
        }
    }

    /// The bytes that a token prints in the middle of a text, which may be half a character; none for a control token.
    /// `None` for what is no token, and where only a `tokenizer.json` knows.
    pub fn bytes(&self, id: u32) -> Option<Vec<u8>> {
        match &self.engine {
            Engine::Gguf(gguf) => {
                let mut bytes = Vec::new();
                gguf.print(id, &mut bytes).ok()?;
                Some(bytes)
            }
            Engine::Json(_) => None,
        }
    }

    /// The bytes of every token, as [`Tokenizer::bytes`] has them.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a `tokenizer.json` that does not say which bytes its tokens are.
    pub(crate) fn words(&self) -> Result<Vec<Vec<u8>>, Error> {
        match &self.engine {
            Engine::Gguf(gguf) => (0..gguf.vocab.len() as u32)
                .map(|id| {
                    let mut bytes = Vec::new();
                    gguf.print(id, &mut bytes)?;
                    Ok(bytes)
                })
                .collect(),
            Engine::Json(json) => json.words(),
        }
    }

    /// The ids of a text in the middle of another one: nothing is put before it or behind it, and texts of control tokens
    /// are text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub(crate) fn within(&self, text: &str) -> Result<Vec<u32>, Error> {
        match &self.engine {
            Engine::Gguf(gguf) => {
                let mut ids = Vec::new();
                gguf.segments(text, Special::Plain, false, &mut ids);
                Ok(ids)
            }
            Engine::Json(json) => json.within(text),
        }
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Whether a generation stops at `id`.
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }

    /// The ids that end a text, in ascending order.
    pub fn end_of_generation(&self) -> &[u32] {
        &self.ends
    }

    /// The same tokenizer, also stopping at `ids` (a `generation_config.json` lists them).
    pub fn with_end_of_generation(mut self, ids: &[u32]) -> Self {
        self.ends.extend(ids);
        self.ends.sort_unstable();
        self.ends.dedup();
        self
    }
}

impl Gguf {
    fn encode(&self, text: &str, special: Special) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 2);
        ids.extend(self.prefix);
        self.segments(text, special, true, &mut ids);
        if self.prefix.is_some() && ids.get(1).copied() == self.prefix {
            ids.remove(0);
        }
        ids.extend(self.suffix);
        ids
    }

    /// Appends the ids of a text, which may follow a control token.
    fn segments(&self, text: &str, special: Special, mut after_token: bool, ids: &mut Vec<u32>) {
        for segment in self.matcher.segments(text, special) {
            match segment {
                Segment::Token(id) => {
                    ids.push(id);
                    after_token = true;
                }
                Segment::Text(text) => {
                    match &self.model {
                        Model::Bpe(bpe) => bpe.encode(text, &self.vocab, ids),
                        Model::Spm(spm) => spm.encode(text, after_token, &self.vocab, ids),
                    }
                    after_token = false;
                }
            }
        }
    }

    /// Appends the bytes that `id` prints.
    fn print(&self, id: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        self.vocab.check("token id", id)?;
        match &self.model {
            Model::Bpe(_) => bpe::print(&self.vocab, id, out),
            Model::Spm(_) => spm::print(&self.vocab, id, out),
        }
        Ok(())
    }

    /// Whether the first printed space belongs to the tokenizer and not to the text.
    fn strips_first_space(&self) -> bool {
        match &self.model {
            Model::Bpe(_) => false,
            Model::Spm(spm) => spm.adds_space(),
        }
    }
}

#[cfg(test)]
mod tests;
