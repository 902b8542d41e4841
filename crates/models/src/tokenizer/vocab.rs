//! The list of tokens with their kinds, checked once.

use std::sync::Arc;

use ahash::AHashMap;

use crate::Error;

/// A tokenizer as GGUF metadata describes it, not checked yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub(super) model: String,
    pub(super) pre: Option<String>,
    pub(super) tokens: Vec<String>,
    pub(super) scores: Option<Vec<f32>>,
    pub(super) types: Option<Vec<i32>>,
    pub(super) merges: Option<Vec<String>>,
    pub(super) bos: Option<u32>,
    pub(super) eos: Option<u32>,
    pub(super) eot: Option<u32>,
    pub(super) eom: Option<u32>,
    pub(super) unknown: Option<u32>,
    pub(super) add_bos: Option<bool>,
    pub(super) add_eos: Option<bool>,
    pub(super) add_space_prefix: Option<bool>,
    /// Every key that names a token, with the token.
    pub(super) named: Vec<(String, u32)>,
}

/// What a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ordinary text.
    Normal,
    /// What cannot be said otherwise.
    Unknown,
    /// Steers the model, prints nothing.
    Control,
    /// Text that is never split.
    UserDefined,
    /// Reserved.
    Unused,
    /// One byte, spelled `<0xHH>`.
    Byte,
}

/// Tokens by id and by text.
pub(super) struct Vocab {
    tokens: Vec<(Arc<str>, Kind)>,
    ids: AHashMap<Arc<str>, u32>,
}

impl Vocab {
    pub(super) fn new(fields: &Fields) -> Result<Self, Error> {
        let want = fields.tokens.len();
        if want == 0 {
            return Err(Error::EmptyVocabulary);
        }
        if u32::try_from(want).is_err() {
            return Err(Error::Unsupported {
                what: format!("a vocabulary of {want} tokens"),
            });
        }
        let lengths = [
            (
                "tokenizer.ggml.token_type",
                fields.types.as_ref().map(Vec::len),
            ),
            (
                "tokenizer.ggml.scores",
                fields.scores.as_ref().map(Vec::len),
            ),
        ];
        for (what, got) in lengths {
            if let Some(got) = got.filter(|&got| got != want) {
                return Err(Error::VocabularyLength { what, want, got });
            }
        }
        let mut tokens = Vec::with_capacity(want);
        let mut ids = AHashMap::with_capacity(want);
        for (id, text) in fields.tokens.iter().enumerate() {
            let kind = match fields.types.as_ref().map_or(1, |types| types[id]) {
                1 => Kind::Normal,
                2 => Kind::Unknown,
                3 => Kind::Control,
                4 => Kind::UserDefined,
                5 => Kind::Unused,
                6 => Kind::Byte,
                got => return Err(Error::TokenType { id, got }),
            };
            let text: Arc<str> = text.as_str().into();
            ids.insert(text.clone(), id as u32);
            tokens.push((text, kind));
        }
        Ok(Self { tokens, ids })
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Refuses ids outside the vocabulary.
    pub(super) fn check(&self, what: &'static str, id: u32) -> Result<(), Error> {
        if (id as usize) < self.tokens.len() {
            Ok(())
        } else {
            Err(Error::TokenId {
                what,
                id,
                vocab: self.tokens.len(),
            })
        }
    }

    pub(super) fn text(&self, id: u32) -> Option<&str> {
        self.tokens.get(id as usize).map(|(text, _)| &**text)
    }

    /// The kind of an id that [`Vocab::check`] has passed.
    pub(super) fn kind(&self, id: u32) -> Kind {
        self.tokens[id as usize].1
    }

    /// The id of a text; the highest one where tokens repeat.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str, Kind)> {
        self.tokens
            .iter()
            .enumerate()
            .map(|(id, (text, kind))| (id as u32, &**text, *kind))
    }
}
