//! Finds the tokens that are never split, before anything else looks at the text.

use aho_corasick::{AhoCorasick, MatchKind};

use super::Special;
use super::vocab::{Kind, Vocab};
use crate::Error;

/// A part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Segment<'t> {
    /// Text still to be tokenized, not empty.
    Text(&'t str),
    /// A token already.
    Token(u32),
}

/// Leftmost-longest search for whole tokens.
pub(super) struct Matcher {
    parse: Search,
    plain: Search,
}

struct Search {
    automaton: AhoCorasick,
    ids: Vec<u32>,
}

impl Matcher {
    pub(super) fn new(vocab: &Vocab) -> Result<Self, Error> {
        Ok(Self {
            parse: Search::new(vocab, |kind| match kind {
                Kind::Control | Kind::UserDefined | Kind::Unknown => true,
                Kind::Normal | Kind::Unused | Kind::Byte => false,
            })?,
            plain: Search::new(vocab, |kind| kind == Kind::UserDefined)?,
        })
    }

    /// The parts of `text` in order.
    pub(super) fn segments<'t>(&self, text: &'t str, special: Special) -> Vec<Segment<'t>> {
        let search = match special {
            Special::Parse => &self.parse,
            Special::Plain => &self.plain,
        };
        let mut segments = Vec::new();
        let mut start = 0;
        if !search.ids.is_empty() {
            for found in search.automaton.find_iter(text) {
                if start < found.start() {
                    segments.push(Segment::Text(&text[start..found.start()]));
                }
                segments.push(Segment::Token(search.ids[found.pattern().as_usize()]));
                start = found.end();
            }
        }
        if start < text.len() {
            segments.push(Segment::Text(&text[start..]));
        }
        segments
    }
}

impl Search {
    fn new(vocab: &Vocab, wanted: impl Fn(Kind) -> bool) -> Result<Self, Error> {
        let (ids, texts): (Vec<u32>, Vec<&str>) = vocab
            .iter()
            .filter(|(_, text, kind)| !text.is_empty() && wanted(*kind))
            .map(|(id, text, _)| (id, text))
            .unzip();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&texts)
            .map_err(|error| Error::Unsupported {
                what: format!("{} control tokens ({error})", texts.len()),
            })?;
        Ok(Self { automaton, ids })
    }
}
