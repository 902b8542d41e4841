//! Cutting tokens into words, each with its tokens.

use super::Tokenizer;

/// ASCII punctuation, in Python's order: a run of it as it stands here is punctuation too.
const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
/// Languages that are written without spaces; their words are characters.
const WITHOUT_SPACES: [&str; 6] = ["zh", "ja", "th", "lo", "my", "yue"];

/// A word and the tokens it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text, with the space before it.
    pub text: String,
    /// Its tokens.
    pub tokens: Vec<u32>,
}

impl Tokenizer {
    /// The words of `ids` in the language of that code; special tokens are words of their own.
    pub fn split_words(&self, ids: &[u32], language: &str) -> Vec<Word> {
        let characters = self.split_characters(ids);
        if WITHOUT_SPACES.contains(&language) {
            return characters;
        }
        let mut words: Vec<Word> = Vec::new();
        for part in characters {
            let special = part.tokens[0] >= self.special().end;
            let punctuation = PUNCTUATION.contains(part.text.trim());
            match words.last_mut() {
                Some(word) if !special && !punctuation && !part.text.starts_with(' ') => {
                    word.text.push_str(&part.text);
                    word.tokens.extend(part.tokens);
                }
                Some(_) | None => words.push(part),
            }
        }
        words
    }

    /// The shortest runs of tokens that are whole characters.
    fn split_characters(&self, ids: &[u32]) -> Vec<Word> {
        const UNKNOWN: char = char::REPLACEMENT_CHARACTER;
        let full: Vec<char> = self.decode_with_timestamps(ids).chars().collect();
        let (mut words, mut tokens, mut before) = (Vec::new(), Vec::new(), 0);
        for &id in ids {
            tokens.push(id);
            let text = self.decode_with_timestamps(&tokens);
            // a character that stays unknown however the text goes on is whole
            let whole = match text.chars().position(|c| c == UNKNOWN) {
                None => true,
                Some(at) => full.get(before + at) == Some(&UNKNOWN),
            };
            if whole {
                before += text.chars().count();
                let tokens = std::mem::take(&mut tokens);
                words.push(Word { text, tokens });
            }
        }
        if !tokens.is_empty() {
            let text = self.decode_with_timestamps(&tokens);
            words.push(Word { text, tokens });
        }
        words
    }
}
