//! SentencePiece BPE, the `llama` tokenizer model: characters, merged by the score of the result.

use super::merge::{Rules, merge};
use super::vocab::{Fields, Kind, Vocab};
use crate::Error;

/// How SentencePiece spells a space.
const SPACE: char = '\u{2581}';

/// Scores and byte fallback.
pub(super) struct Spm {
    scores: Vec<f32>,
    bytes: Box<[Option<u32>; 256]>,
    unknown: Option<u32>,
    space_prefix: bool,
    /// Whether some piece goes on past the end of a word.
    joins_words: bool,
}

impl Spm {
    pub(super) fn new(fields: &Fields, vocab: &Vocab) -> Result<Self, Error> {
        let scores = fields.scores.clone().ok_or(Error::Missing {
            what: "tokenizer.ggml.scores",
        })?;
        if let Some((id, &got)) = scores.iter().enumerate().find(|(_, s)| !s.is_finite()) {
            return Err(Error::TokenScore { id, got });
        }
        let mut bytes = Box::new([None; 256]);
        for (id, text, kind) in vocab.iter() {
            if kind == Kind::Byte {
                let byte = byte_of(text).ok_or_else(|| Error::ByteToken {
                    id: id as usize,
                    got: text.to_owned(),
                })?;
                bytes[usize::from(byte)] = Some(id);
            }
        }
        let unknown = fields
            .unknown
            .or_else(|| vocab.iter().find(|t| t.2 == Kind::Unknown).map(|t| t.0));
        if unknown.is_none() && bytes.iter().any(Option::is_none) {
            return Err(Error::Missing {
                what: "a token for every byte, or one for the unknown",
            });
        }
        Ok(Self {
            scores,
            bytes,
            unknown,
            space_prefix: fields.add_space_prefix.unwrap_or(true),
            joins_words: vocab
                .iter()
                .any(|(_, text, _)| text.trim_start_matches(SPACE).contains(SPACE)),
        })
    }

    /// Whether a space is put before the text.
    pub(super) fn adds_space(&self) -> bool {
        self.space_prefix
    }

    /// Appends the ids of `text`; `first` when it begins the input or follows a control token.
    pub(super) fn encode(&self, text: &str, first: bool, vocab: &Vocab, ids: &mut Vec<u32>) {
        let mut spelled = String::with_capacity(text.len() + text.len() / 4 + SPACE.len_utf8());
        if first && self.space_prefix {
            spelled.push(SPACE);
        }
        spelled.extend(text.chars().map(|c| if c == ' ' { SPACE } else { c }));

        let rules = Scored {
            spm: self,
            vocab,
            text: &spelled,
        };
        let mut start = 0;
        while start < spelled.len() {
            let end = start + self.independent(&spelled[start..]);
            let symbols = spelled[start..end]
                .char_indices()
                .map(|(at, c)| (start + at, start + at + c.len_utf8()));
            merge(&rules, symbols, |(start, end)| {
                let piece = &spelled[start..end];
                match rules.token(piece) {
                    Some(id) => ids.push(id),
                    None => self.spell_out(piece, ids),
                }
            });
            start = end;
        }
    }

    /// The length of the front of `text` that merges with nothing behind it.
    fn independent(&self, text: &str) -> usize {
        if self.joins_words {
            return text.len();
        }
        let begins = |&(at, _): &(usize, &str)| at > 0 && !text[..at].ends_with(SPACE);
        text.match_indices(SPACE)
            .find(begins)
            .map_or(text.len(), |(at, _)| at)
    }

    /// A character that is no token, as bytes or as the unknown token.
    fn spell_out(&self, piece: &str, ids: &mut Vec<u32>) {
        let bytes = piece.bytes().map(|byte| self.bytes[usize::from(byte)]);
        if bytes.clone().all(|id| id.is_some()) {
            ids.extend(bytes.flatten());
        } else {
            ids.extend(self.unknown);
        }
    }
}

/// The merge rules over one text; a symbol is its range in the text.
struct Scored<'a> {
    spm: &'a Spm,
    vocab: &'a Vocab,
    text: &'a str,
}

impl Scored<'_> {
    /// The token that text may become.
    fn token(&self, piece: &str) -> Option<u32> {
        self.vocab
            .id(piece)
            .filter(|&id| match self.vocab.kind(id) {
                Kind::Normal | Kind::UserDefined => true,
                Kind::Unknown | Kind::Control | Kind::Unused | Kind::Byte => false,
            })
    }
}

impl Rules for Scored<'_> {
    type Symbol = (usize, usize);
    type Rank = Descending;

    fn pair(&self, left: Self::Symbol, right: Self::Symbol) -> Option<(Descending, Self::Symbol)> {
        let merged = (left.0, right.1);
        let id = self.token(&self.text[merged.0..merged.1])?;
        // adding zero makes the two zeros equal
        Some((Descending(self.spm.scores[id as usize] + 0.0), merged))
    }

    fn same(left: Self::Symbol, right: Self::Symbol) -> bool {
        left == right
    }
}

/// A score; the highest comes first.
#[derive(Clone, Copy)]
struct Descending(f32);

impl Ord for Descending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}
impl PartialOrd for Descending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Descending {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Descending {}

/// The byte that `<0xHH>` spells.
fn byte_of(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let hex = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// Appends the bytes that the token prints.
pub(super) fn print(vocab: &Vocab, id: u32, out: &mut Vec<u8>) {
    let text = vocab.text(id).unwrap_or_default();
    match vocab.kind(id) {
        Kind::Control | Kind::Unknown => {}
        Kind::Byte => out.extend(byte_of(text)),
        Kind::Normal | Kind::UserDefined | Kind::Unused => {
            let mut utf8 = [0; 4];
            for c in text.chars() {
                let c = if c == SPACE { ' ' } else { c };
                out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
        }
    }
}
