//! A tokenizer as the parser of grammars sees it: the bytes of each token, and tokens for bytes.

use crate::{Error, quiet, tokenizer::Tokenizer};
use llguidance::toktrie::{INVALID_TOKEN, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};
use std::sync::Arc;

/// Texts whose tokens tell whether a tokenizer gives texts back as they are.
const PROBES: [&str; 3] = ["{\"a b\": [1, -2.5e3]}", "x\n  y", "é → 猫"];

/// A vocabulary, sorted by its bytes.
pub(super) struct Words {
    tokenizer: Arc<Tokenizer>,
    trie: TokTrie,
    /// Whether its own tokens of a text are those that the text is made of.
    faithful: bool,
}

impl Words {
    pub(super) fn new(tokenizer: &Arc<Tokenizer>) -> Result<Words, Error> {
        let mut words = tokenizer.words()?;
        for (id, word) in words.iter_mut().enumerate() {
            // What prints nothing is of no grammar, unless it is called by its name.
            if word.is_empty()
                && let Some(name) = tokenizer.piece(id as u32)
            {
                word.push(TokTrie::SPECIAL_TOKEN_MARKER);
                word.extend_from_slice(name.as_bytes());
            }
        }
        let count = words.len() as u32;
        let ends: Vec<u32> = tokenizer.end_of_generation().to_vec();
        let ends: Vec<u32> = ends.into_iter().filter(|id| *id < count).collect();
        let first = ends.first().copied().unwrap_or(INVALID_TOKEN);
        let info = TokRxInfo::new(count, first);
        let trie = quiet::catch(|| {
            let trie = TokTrie::from(&info, &words);
            match ends.len() {
                0 | 1 => trie,
                _ => trie.with_eos_tokens(&ends),
            }
        });
        let trie = trie.map_err(|reason| Error::Unsupported {
            what: format!("grammars over this vocabulary: {reason}"),
        })?;
        let mut words = Words {
            tokenizer: Arc::clone(tokenizer),
            trie,
            faithful: false,
        };
        words.faithful = PROBES.iter().all(|text| words.own(text).is_some());
        Ok(words)
    }

    pub(super) fn env(self) -> TokEnv {
        Arc::new(self)
    }

    /// The tokenizer's own tokens of a text in the middle of another one, if they are that text.
    fn own(&self, text: &str) -> Option<Vec<TokenId>> {
        let ids = self.tokenizer.within(text).ok()?;
        (self.trie.decode_raw(&ids) == text.as_bytes()).then_some(ids)
    }
}

impl TokenizerEnv for Words {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let mut ids = Vec::new();
        // A text may begin or end within a character.
        for chunk in bytes.utf8_chunks() {
            let valid = chunk.valid();
            match self.own(valid) {
                Some(own) => ids.extend(own),
                None => ids.extend(self.trie.greedy_tokenize(valid.as_bytes())),
            }
            ids.extend(self.trie.greedy_tokenize(chunk.invalid()));
        }
        ids
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.faithful
    }
}
