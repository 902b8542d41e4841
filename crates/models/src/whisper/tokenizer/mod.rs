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
use warpsmith_formats::{Object, whisper::WhisperFile};

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
    model: Object<JsonModel>,
    #[serde(default)]
    added_tokens: Vec<Object<JsonAdded>>,
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
        let wrong = |message: String| Error::TokenizerJson { message };
        let Object(json) = serde_json::from_slice::<Object<Json>>(bytes)
            .map_err(|error| wrong(error.to_string()))?;
        let special = Special::new(n_vocab)?;
        let Json {
            model: Object(model),
            added_tokens,
        } = json;
        let mut named: AHashMap<&str, u32> = AHashMap::new();
        named.extend(model.vocab.iter().map(|(text, id)| (text.as_str(), *id)));
        for Object(token) in &added_tokens {
            let known = named.insert(&token.content, token.id);
            if let Some(known) = known.filter(|known| *known != token.id) {
                let JsonAdded { id, content } = token;
                return Err(wrong(format!("{content:?} is {known} and {id}")));
            }
        }
        special.check(|text| named.get(text).copied())?;
        let mut tokens = vec![None; special.end as usize];
        for (text, id) in &model.vocab {
            let Some(token) = tokens.get_mut(*id as usize) else {
                continue;
            };
            // a token not spelled in the byte alphabet is its own text
            let bytes = match text.chars().map(alphabet::to_byte).collect() {
                Some(bytes) => bytes,
                None => text.clone().into_bytes(),
            };
            if token.replace(bytes).is_some() {
                return Err(wrong(format!("two tokens are {id}, one of them {text:?}")));
            }
        }
        // Multilingual vocabularies have nothing as their last token, which some files leave out.
        if let Some(last) = tokens.last_mut().filter(|_| special.is_multilingual()) {
            last.get_or_insert_default();
        }
        let missing = tokens.iter().position(Option::is_none);
        match missing {
            None => Self::from_tokens(n_vocab, &tokens.into_iter().flatten().collect::<Vec<_>>()),
            Some(id) => Err(Error::WhisperToken {
                token: format!("number {id}"),
                found: None,
                want: id as u32,
                vocab: n_vocab,
            }),
        }
    }

    /// The tokenizer of a model with `n_vocab` tokens, of which `tokens` are the bytes, by id. Special
    /// ones may be left out at the end.
    ///
    /// # Errors
    /// A size that no Whisper model has, and tokens that are not those of a model of that size.
    pub fn from_tokens(n_vocab: u32, tokens: &[Vec<u8>]) -> Result<Self, Error> {
        let special = Special::new(n_vocab)?;
        let least = special.end - u32::from(special.is_multilingual());
        if tokens.len() < least as usize || tokens.len() > n_vocab as usize {
            return Err(Error::Unsupported {
                what: format!(
                    "a vocabulary of {} tokens for a model of {n_vocab} (of which {least} are ordinary)",
                    tokens.len()
                ),
            });
        }
        for (token, id) in tokens.iter().zip(0..).skip(special.end as usize) {
            special.check_at(id, token)?;
        }
        let ordinary = tokens.iter().take(special.end as usize);
        let tokens: Vec<Box<[u8]>> = ordinary.map(|t| t.clone().into_boxed_slice()).collect();
        let mut ids = AHashMap::with_capacity(tokens.len());
        for (token, id) in tokens.iter().zip(0..) {
            if !token.is_empty() {
                ids.entry(token.clone()).or_insert(id);
            }
        }
        let bytes: [Option<u32>; 256] =
            std::array::from_fn(|byte| ids.get(&[byte as u8][..]).copied());
        if let Some(byte) = bytes.iter().position(Option::is_none) {
            return Err(Error::Unsupported {
                what: format!("a Whisper vocabulary without a token for the byte {byte:#04x}"),
            });
        }
        // The two vocabularies that there are have the same bytes and other words.
        let (word, want) = special.telling();
        let found = ids.get(word.as_bytes()).copied();
        if found != Some(want) {
            return Err(Error::WhisperToken {
                token: format!("{word:?}"),
                found,
                want,
                vocab: n_vocab,
            });
        }
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
