//! Whisper's tokens: byte-level BPE by rank, and the tokens that steer the decoder.
//!
//! A token's id is its rank: of two neighbours the pair that joins to the lowest id is merged first. So
//! the bytes of the tokens are all that is needed, whichever file they come from. The merges of a
//! `tokenizer.json` are not asked: those that are published for multilingual models lack their first one.

mod languages;
mod special;
mod words;

use ahash::AHashMap;
use serde::Deserialize;
use warpsmith_formats::whisper::WhisperFile;

pub use languages::{LANGUAGES, language_code};
pub use special::{Special, Start, Task};
pub use words::Word;

use crate::Error;
use crate::tokenizer::alphabet;
use crate::tokenizer::merge::{Rules, merge};
use crate::tokenizer::split::Splitter;

/// Single tokens of these, with or without a space before, are no speech.
const SYMBOLS: [&str; 47] = [
    "\"",
    "#",
    "(",
    ")",
    "*",
    "+",
    "/",
    ":",
    ";",
    "<",
    "=",
    ">",
    "@",
    "[",
    "\\",
    "]",
    "^",
    "_",
    "`",
    "{",
    "|",
    "}",
    "~",
    "「",
    "」",
    "『",
    "』",
    "<<",
    ">>",
    "<<<",
    ">>>",
    "--",
    "---",
    "-(",
    "-[",
    "('",
    "(\"",
    "((",
    "))",
    "(((",
    ")))",
    "[[",
    "]]",
    "{{",
    "}}",
    "♪♪",
    "♪♪♪",
];

/// Symbols of music: their first token, however many they are.
const MUSIC: [&str; 7] = ["♩", "♪", "♫", "♬", "♭", "♮", "♯"];

/// Whisper's tokenizer.
pub struct Tokenizer {
    special: Special,
    /// The bytes of each token below the special ones.
    tokens: Vec<Box<[u8]>>,
    ids: AHashMap<Box<[u8]>, u32>,
    bytes: [Option<u32>; 256],
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("special", &self.special)
            .field("tokens", &self.tokens.len())
            .finish_non_exhaustive()
    }
}

/// The parts of a `tokenizer.json` that matter.
#[derive(Deserialize)]
struct Json {
    model: JsonModel,
    #[serde(default)]
    added_tokens: Vec<JsonAdded>,
}

#[derive(Deserialize)]
struct JsonModel {
    vocab: AHashMap<String, u32>,
}

#[derive(Deserialize)]
struct JsonAdded {
    id: u32,
    content: String,
}

impl Tokenizer {
    /// The tokenizer that a model's file carries, or that lies beside it.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is none, and what is wrong with it.
    pub fn of_file(file: &WhisperFile) -> Result<Self, Error> {
        let n_vocab = file.dims().n_vocab;
        let settings = file.settings();
        if let Some(json) = &settings.tokenizer_json {
            Self::from_json(n_vocab, json)
        } else if let Some(tokens) = &settings.tokens {
            Self::from_tokens(n_vocab, tokens)
        } else {
            Err(Error::Missing {
                what: "tokenizer.json beside the weights",
            })
        }
    }

    /// The tokenizer in a `tokenizer.json`, of a model with `n_vocab` tokens.
    ///
    /// # Errors
    /// Malformed JSON, a size that no Whisper model has, and special tokens at other places.
    pub fn from_json(n_vocab: u32, bytes: &[u8]) -> Result<Self, Error> {
        let json: Json = serde_json::from_slice(bytes).map_err(|error| Error::TokenizerJson {
            message: error.to_string(),
        })?;
        let special = Special::new(n_vocab)?;
        for (text, want) in [
            ("<|endoftext|>", special.end),
            ("<|startoftranscript|>", special.start),
            ("<|notimestamps|>", special.no_timestamps),
        ] {
            let found = json.added_tokens.iter().find(|token| token.content == text);
            if let Some(found) = found.filter(|found| found.id != want) {
                return Err(Error::TokenizerJson {
                    message: format!("{text} is {}, expected {want}", found.id),
                });
            }
        }
        let mut tokens = vec![Vec::new(); special.end as usize];
        for (text, id) in json.model.vocab {
            if let Some(token) = tokens.get_mut(id as usize) {
                // a token not spelled in the byte alphabet is its own text
                *token = match text.chars().map(alphabet::to_byte).collect() {
                    Some(bytes) => bytes,
                    None => text.into_bytes(),
                };
            }
        }
        Self::from_tokens(n_vocab, &tokens)
    }

    /// The tokenizer of a model with `n_vocab` tokens, of which `tokens` are the bytes, by id. Special
    /// ones among them are not looked at.
    ///
    /// # Errors
    /// A size that no Whisper model has.
    pub fn from_tokens(n_vocab: u32, tokens: &[Vec<u8>]) -> Result<Self, Error> {
        let special = Special::new(n_vocab)?;
        let ordinary = tokens.iter().take(special.end as usize);
        let tokens: Vec<Box<[u8]>> = ordinary.map(|t| t.clone().into_boxed_slice()).collect();
        let mut ids = AHashMap::with_capacity(tokens.len());
        for (token, id) in tokens.iter().zip(0..) {
            if !token.is_empty() {
                ids.entry(token.clone()).or_insert(id);
            }
        }
        let bytes = std::array::from_fn(|byte| ids.get(&[byte as u8][..]).copied());
        Ok(Self {
            special,
            tokens,
            ids,
            bytes,
        })
    }

    /// The tokens that steer the decoder.
    pub fn special(&self) -> &Special {
        &self.special
    }

    /// The ids of `text`, all of it ordinary text. Bytes without a token are left out.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        Splitter::Gpt2.split(text, |word| {
            if let Some(&whole) = self.ids.get(word.as_bytes()) {
                ids.push(whole);
                return;
            }
            let symbols = word.bytes().filter_map(|b| self.bytes[usize::from(b)]);
            merge(self, symbols, |id| ids.push(id));
        });
        ids
    }

    /// The text of `ids` without timestamps; bytes that are not UTF-8 become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let printed = ids.iter().filter(|&&id| id < self.special.timestamps);
        self.text(printed)
    }

    /// The text of `ids`, timestamps as `<|1.08|>`.
    pub fn decode_with_timestamps(&self, ids: &[u32]) -> String {
        self.text(ids.iter())
    }

    fn text<'a>(&self, ids: impl Iterator<Item = &'a u32>) -> String {
        let mut bytes = Vec::new();
        for &id in ids {
            match self.tokens.get(id as usize) {
                Some(token) => bytes.extend_from_slice(token),
                None => bytes.extend(self.special.text(id).into_bytes()),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Tokens that print what nobody says: brackets, dashes between speakers, music. They are not sampled
    /// unless asked for. Sorted.
    pub fn non_speech(&self) -> Vec<u32> {
        // hyphens and quotes stand inside words, but begin none
        let mut ids = vec![self.encode(" -"), self.encode(" '")];
        for id in &mut ids {
            id.truncate(1);
        }
        for symbol in SYMBOLS {
            for text in [symbol.to_owned(), format!(" {symbol}")] {
                ids.push(self.encode(&text));
                if ids.last().is_some_and(|ids| ids.len() != 1) {
                    ids.pop();
                }
            }
        }
        for symbol in MUSIC {
            for text in [symbol.to_owned(), format!(" {symbol}")] {
                let mut first = self.encode(&text);
                first.truncate(1);
                ids.push(first);
            }
        }
        let mut ids: Vec<u32> = ids.concat();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Tokens never sampled by default: [`Tokenizer::non_speech`], and special ones that only begin a
    /// sequence. Sorted.
    pub fn suppressed(&self) -> Vec<u32> {
        let mut ids = self.non_speech();
        ids.extend(self.special.never_sampled());
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Tokens that may not come first: a space alone, and the end.
    pub fn blank(&self) -> Vec<u32> {
        let mut ids = self.encode(" ");
        ids.push(self.special.end);
        ids
    }
}

/// A pair merges if its bytes together are a token, the lowest id first.
impl Rules for Tokenizer {
    type Symbol = u32;
    type Rank = u32;

    fn pair(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let (left, right) = (
            &self.tokens[left as usize][..],
            &self.tokens[right as usize],
        );
        let id = *self.ids.get(&[left, right].concat()[..])?;
        Some((id, id))
    }

    fn same(left: u32, right: u32) -> bool {
        left == right
    }
}

#[cfg(test)]
pub(super) mod tests;
