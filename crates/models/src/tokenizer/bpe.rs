//! Byte-level BPE, the `gpt2` tokenizer model: words of bytes, merged by rank.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::alphabet;
use super::merge::{Rules, merge};
use super::split::Splitter;
use super::vocab::{Fields, Kind, Vocab};
use crate::Error;

/// Byte-level merges with their pre-tokenizer.
pub(super) struct Bpe {
    splitter: Splitter,
    bytes: [Option<u32>; 256],
    merges: Merges,
}

/// (left, right) to (rank, merged).
struct Merges(FxHashMap<(u32, u32), (u32, u32)>);

impl Rules for Merges {
    type Symbol = u32;
    type Rank = u32;

    fn pair(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        self.0.get(&(left, right)).copied()
    }

    fn same(left: u32, right: u32) -> bool {
        left == right
    }
}

impl Bpe {
    pub(super) fn new(fields: &Fields, vocab: &Vocab) -> Result<Self, Error> {
        let pre = fields.pre.as_deref().ok_or(Error::Missing {
            what: "tokenizer.ggml.pre, which says where text is cut into words",
        })?;
        let splitter = Splitter::from_name(pre)?;
        if fields.add_space_prefix == Some(true) {
            return Err(Error::Setting {
                key: "tokenizer.ggml.add_space_prefix".to_owned(),
                found: true.to_string(),
                want: "false for byte-level tokens".to_owned(),
            });
        }
        let rules = fields.merges.as_deref().ok_or(Error::Missing {
            what: "tokenizer.ggml.merges",
        })?;
        if u32::try_from(rules.len()).is_err() {
            return Err(Error::Unsupported {
                what: format!("{} merges", rules.len()),
            });
        }
        let mut merges = FxHashMap::with_capacity_and_hasher(rules.len(), Default::default());
        let mut joined = String::new();
        for (index, rule) in rules.iter().enumerate() {
            let (left, right) = parts(rule).ok_or_else(|| Error::MergeShape {
                index,
                text: rule.clone(),
            })?;
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let id = |text: &str| {
                vocab.id(text).ok_or_else(|| Error::Merge {
                    index,
                    text: rule.clone(),
                    lacks: text.to_owned(),
                })
            };
            merges
                .entry((id(left)?, id(right)?))
                .or_insert((index as u32, id(&joined)?));
        }
        let mut spelled = [0; 4];
        let bytes = std::array::from_fn(|byte| {
            vocab.id(alphabet::to_char(byte as u8).encode_utf8(&mut spelled))
        });
        Ok(Self {
            splitter,
            bytes,
            merges: Merges(merges),
        })
    }

    /// Llama 3 files add a beginning token even where they do not say so.
    pub(super) fn adds_bos_by_default(&self) -> bool {
        match self.splitter {
            Splitter::Llama3 => true,
            Splitter::Gpt2 | Splitter::SmolLm | Splitter::Qwen2 => false,
        }
    }

    /// Appends the ids of `text`.
    pub(super) fn encode(&self, text: &str, vocab: &Vocab, ids: &mut Vec<u32>) {
        let text = self.normalize(text);
        let mut spelled = String::new();
        self.splitter.split(&text, |word| {
            if self.whole_words_first() {
                spelled.clear();
                spelled.extend(word.bytes().map(alphabet::to_char));
                let whole = vocab.id(&spelled);
                if let Some(id) = whole.filter(|&id| vocab.kind(id) == Kind::Normal) {
                    ids.push(id);
                    return;
                }
            }
            let symbols = word
                .bytes()
                .filter_map(|byte| self.bytes[usize::from(byte)]);
            merge(&self.merges, symbols, |id| ids.push(id));
        });
    }

    /// Qwen2 composes characters first (NFC).
    fn normalize<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.splitter {
            Splitter::Qwen2 if is_nfc_quick(text.chars()) != IsNormalized::Yes => {
                Cow::Owned(text.nfc().collect())
            }
            Splitter::Qwen2 | Splitter::Gpt2 | Splitter::SmolLm | Splitter::Llama3 => {
                Cow::Borrowed(text)
            }
        }
    }

    /// Llama 3 takes a word that is a token as it is, whatever the merges would give.
    fn whole_words_first(&self) -> bool {
        match self.splitter {
            Splitter::Llama3 => true,
            Splitter::Gpt2 | Splitter::SmolLm | Splitter::Qwen2 => false,
        }
    }
}

/// The two pieces of a merge rule.
fn parts(rule: &str) -> Option<(&str, &str)> {
    let (left, right) = rule.split_once(' ')?;
    (!left.is_empty() && !right.is_empty() && !right.contains(' ')).then_some((left, right))
}

/// Appends the bytes that the token prints.
pub(super) fn print(vocab: &Vocab, id: u32, out: &mut Vec<u8>) {
    let text = vocab.text(id).unwrap_or_default();
    match vocab.kind(id) {
        Kind::Control | Kind::Unknown => {}
        Kind::UserDefined => out.extend_from_slice(text.as_bytes()),
        Kind::Normal | Kind::Unused | Kind::Byte => {
            let start = out.len();
            for c in text.chars() {
                match alphabet::to_byte(c) {
                    Some(byte) => out.push(byte),
                    None => {
                        // not spelled in the byte alphabet: it is its own text
                        out.truncate(start);
                        out.extend_from_slice(text.as_bytes());
                        return;
                    }
                }
            }
        }
    }
}
