//! Token ids to text as they come, never half a character.

use super::{Engine, Gguf, Tokenizer, json};
use crate::Error;

/// A streaming decoder; made by [`Tokenizer::decoder`] and [`Tokenizer::decoder_after`].
pub struct Decoder<'a>(State<'a>);

enum State<'a> {
    Bytes {
        gguf: &'a Gguf,
        held: Vec<u8>,
        strip_space: bool,
    },
    Json(json::Stream<'a>),
}

impl std::fmt::Debug for Decoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer, prompt: &[u32]) -> Self {
        Self(match &tokenizer.engine {
            Engine::Gguf(gguf) => {
                let mut printed = Vec::new();
                let begun = prompt.iter().any(|&id| {
                    // ids outside the vocabulary print nothing here; pushing one is an error
                    gguf.print(id, &mut printed).is_ok() && !printed.is_empty()
                });
                State::Bytes {
                    gguf,
                    held: Vec::new(),
                    strip_space: !begun && gguf.strips_first_space(),
                }
            }
            Engine::Json(json) => State::Json(json.stream(prompt)),
        })
    }

    /// Takes the next token and returns the text that is now certain, often nothing.
    ///
    /// # Errors
    /// An id outside the vocabulary.
    pub fn push(&mut self, id: u32) -> Result<String, Error> {
        match &mut self.0 {
            State::Bytes {
                gguf,
                held,
                strip_space,
            } => {
                gguf.print(id, held)?;
                if *strip_space && !held.is_empty() {
                    *strip_space = false;
                    if held[0] == b' ' {
                        held.remove(0);
                    }
                }
                Ok(take_complete(held))
            }
            State::Json(stream) => stream.push(id),
        }
    }

    /// The text still held back; half a character becomes U+FFFD.
    ///
    /// # Errors
    /// Only for a `tokenizer.json` whose decoder fails.
    pub fn finish(self) -> Result<String, Error> {
        match self.0 {
            State::Bytes { held, .. } => Ok(String::from_utf8_lossy(&held).into_owned()),
            State::Json(stream) => stream.finish(),
        }
    }
}

/// Takes all characters that are complete; what can never become one is U+FFFD.
fn take_complete(held: &mut Vec<u8>) -> String {
    let mut text = String::with_capacity(held.len());
    let mut done = 0;
    for chunk in held.utf8_chunks() {
        text.push_str(chunk.valid());
        done += chunk.valid().len();
        let bad = chunk.invalid();
        let may_continue = done + bad.len() == held.len()
            && std::str::from_utf8(bad).is_err_and(|error| error.error_len().is_none());
        if may_continue {
            break;
        }
        if !bad.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            done += bad.len();
        }
    }
    held.drain(..done);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_a_character_waits_for_the_other_half() {
        let mut held = "é".as_bytes()[..1].to_vec();
        assert_eq!(take_complete(&mut held), "");
        held.push("é".as_bytes()[1]);
        assert_eq!(take_complete(&mut held), "é");
        assert!(held.is_empty());
    }

    proptest! {
        #[test]
        fn in_pieces_or_at_once_bytes_give_one_text(pieces in prop::collection::vec(
            prop::collection::vec(prop_oneof![any::<u8>(), Just(0xF0), Just(0x9F), Just(0x99)], 0..4), 0..12))
        {
            let mut held = Vec::new();
            let mut text = String::new();
            for piece in &pieces {
                held.extend(piece);
                text.push_str(&take_complete(&mut held));
            }
            text.push_str(&String::from_utf8_lossy(&held));
            prop_assert_eq!(text, String::from_utf8_lossy(&pieces.concat()).into_owned());
        }
    }
}
