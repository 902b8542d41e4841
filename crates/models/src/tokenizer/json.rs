//! `tokenizer.json` through the `tokenizers` crate, with its panics and excesses fenced off.

use std::sync::OnceLock;

use super::{Special, parts};
use crate::{Error, quiet};

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

impl Json {
    pub(super) fn new(bytes: &[u8]) -> Result<Self, Error> {
        let added = parts::check(bytes)?;
        let mut parse = guard("reading the file", || {
            tokenizers::Tokenizer::from_bytes(bytes)
        })?;
        // how long a text may be is for the model to say, and padding is for batches
        guard("reading the file", || {
            parse.with_padding(None);
            parse.with_truncation(None).map(|_| ())
        })?;
        for token in added {
            let got = guard("finding a token", || Ok(parse.token_to_id(&token.content)))?;
            if got.is_some_and(|got| got != token.id) {
                return Err(Error::AddedToken {
                    token: token.content,
                    want: token.id,
                    got,
                });
            }
        }
        let pieces = pieces(&parse)?;
        let mut json = Self {
            parse,
            plain: OnceLock::new(),
            pieces,
            bos: None,
            eos: None,
        };
        (json.bos, json.eos) = json.frame()?;
        Ok(json)
    }

    /// The tokens that the post-processor puts before and after every text.
    ///
    /// What it is found by tells early whether a text can be encoded and decoded at all: a tokenizer may refuse this
    /// one, but not panic over it or give tokens that there are not.
    fn frame(&self) -> Result<(Option<u32>, Option<u32>), Error> {
        let encode = |add| {
            let encoded = Self::tried(guard("encoding", || self.parse.encode_fast("a", add)))?;
            let ids = encoded.map_or_else(Vec::new, |encoded| encoded.get_ids().to_vec());
            self.check(&ids)?;
            Ok::<_, Error>(ids)
        };
        let (bare, framed) = (encode(false)?, encode(true)?);
        Self::tried(guard("decoding", || self.parse.decode(&framed, true)))?;
        if bare.is_empty() {
            return Ok((None, None));
        }
        let Some(at) = framed.windows(bare.len()).position(|ids| ids == bare) else {
            return Ok((None, None));
        };
        let first = framed[..at].first();
        let last = framed[at + bare.len()..].last();
        Ok((first.copied(), last.copied()))
    }

    /// What came of a call that may fail and may not panic.
    fn tried<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(panic @ Error::TokenizerPanic { .. }) => Err(panic),
            Err(_) => Ok(None),
        }
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
            Special::Plain => self.plain()?,
        };
        let encoded = guard("encoding", || tokenizer.encode_fast(text, true))?;
        let mut ids = encoded.get_ids().to_vec();
        self.check(&ids)?;
        if bos.is_some() && ids.first().copied() == bos && ids.get(1).copied() == bos {
            ids.remove(0);
        }
        Ok(ids)
    }

    /// The same tokenizer, to which texts of control tokens are text.
    fn plain(&self) -> Result<&tokenizers::Tokenizer, Error> {
        guard("copying itself", || {
            Ok(&**self.plain.get_or_init(|| {
                let mut plain = Box::new(self.parse.clone());
                plain.set_encode_special_tokens(true);
                plain
            }))
        })
    }

    /// The ids of a text in the middle of another one.
    pub(super) fn within(&self, text: &str) -> Result<Vec<u32>, Error> {
        let plain = self.plain()?;
        let encoded = guard("encoding", || plain.encode_fast(text, false))?;
        let ids = encoded.get_ids().to_vec();
        self.check(&ids)?;
        Ok(ids)
    }

    /// The bytes that each token prints in the middle of a text.
    pub(super) fn words(&self) -> Result<Vec<Vec<u8>>, Error> {
        let text = guard("writing itself", || self.parse.to_string(false))?;
        let unsupported = |why: String| Error::Unsupported {
            what: format!("grammars with this tokenizer.json: {why}"),
        };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| unsupported(error.to_string()))?;
        let words = quiet::catch(|| llguidance::token_bytes_from_tokenizer_json(&value));
        let words = words.map(|words| words.map_err(|error| format!("{error:#}")));
        let mut words = words.flatten().map_err(unsupported)?;
        words.resize(self.pieces.len(), Vec::new());
        for word in &mut words {
            // Control tokens print nothing.
            if word.first() == Some(&llguidance::toktrie::TokTrie::SPECIAL_TOKEN_MARKER) {
                word.clear();
            }
        }
        Ok(words)
    }

    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, Error> {
        self.check(ids)?;
        guard("decoding", || self.parse.decode(ids, true))
    }

    /// Refuses ids that no token has.
    fn check(&self, ids: &[u32]) -> Result<(), Error> {
        match ids.iter().find(|id| self.piece(**id).is_none()) {
            None => Ok(()),
            Some(&id) => Err(Error::TokenId {
                what: "token id",
                id,
                vocab: self.pieces.len(),
            }),
        }
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
    let vocab = guard("listing its tokens", || Ok(tokenizer.get_vocab(true)))?;
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

/// Runs a call into the `tokenizers` crate; its errors and panics become ours.
fn guard<T>(doing: &'static str, call: impl FnOnce() -> tokenizers::Result<T>) -> Result<T, Error> {
    match quiet::catch(call) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Error::TokenizerJson {
            message: error.to_string(),
        }),
        Err(reason) => Err(Error::TokenizerPanic { doing, reason }),
    }
}
