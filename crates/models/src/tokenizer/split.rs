//! Pre-tokenizers: where a text is cut into words before merging.
//!
//! Each is the hand-written equal of a regular expression, quoted at its function; one pass, O(n).

use super::unicode::{Class, class};
use crate::Error;

/// How a model cuts its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Splitter {
    /// GPT-2's expression.
    Gpt2,
    /// Every number character alone, then GPT-2's expression between them.
    SmolLm,
    /// Llama 3's expression: numbers by threes.
    Llama3,
    /// Qwen2's expression: Llama 3's with single numbers.
    Qwen2,
}

impl Splitter {
    /// The pre-tokenizer that `tokenizer.ggml.pre` names.
    pub(crate) fn from_name(name: &str) -> Result<Self, Error> {
        match name {
            "gpt-2" | "phi-2" => Ok(Self::Gpt2),
            "smollm" => Ok(Self::SmolLm),
            "llama-bpe" | "llama3" | "llama-v3" => Ok(Self::Llama3),
            "qwen2" | "deepseek-r1-qwen" => Ok(Self::Qwen2),
            other => Err(Error::Unsupported {
                what: format!("pre-tokenizer {other:?}"),
            }),
        }
    }

    /// Calls `word` with each word; joined, they are the text.
    pub(crate) fn split<'t>(self, text: &'t str, mut word: impl FnMut(&'t str)) {
        match self {
            Self::Gpt2 => cut(text, gpt2, &mut word),
            Self::Llama3 => cut(text, |rest| llama3(rest, 3), &mut word),
            Self::Qwen2 => cut(text, |rest| llama3(rest, 1), &mut word),
            Self::SmolLm => {
                let mut start = 0;
                for (at, c) in text.char_indices() {
                    if class(c) == Class::Number {
                        let end = at + c.len_utf8();
                        cut(&text[start..at], gpt2, &mut word);
                        word(&text[at..end]);
                        start = end;
                    }
                }
                cut(&text[start..], gpt2, &mut word);
            }
        }
    }
}

/// Cuts `text` into words whose lengths `len` says.
fn cut<'t>(text: &'t str, len: impl Fn(&str) -> usize, word: &mut impl FnMut(&'t str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let (first, tail) = rest.split_at(len(rest));
        word(first);
        rest = tail;
    }
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(rest: &str) -> usize {
    if let Some(len) = contraction(rest, Case::Exact) {
        return len;
    }
    let start = usize::from(rest.starts_with(' '));
    match first_class(&rest[start..]) {
        Some(of @ (Class::Letter | Class::Number | Class::Other)) => {
            start + run(&rest[start..], usize::MAX, |c| class(c) == of)
        }
        Some(Class::Space) | None => spaces(rest),
    }
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
/// with `numbers` in place of 3.
fn llama3(rest: &str, numbers: usize) -> usize {
    if let Some(len) = contraction(rest, Case::Folded) {
        return len;
    }
    let Some(first) = rest.chars().next() else {
        return 0;
    };
    let letter = |c| class(c) == Class::Letter;
    let after = first.len_utf8();
    match class(first) {
        Class::Letter => return run(rest, usize::MAX, letter),
        Class::Number => return run(rest, numbers, |c| class(c) == Class::Number),
        Class::Space | Class::Other => {
            if !is_newline(first) && first_class(&rest[after..]) == Some(Class::Letter) {
                return after + run(&rest[after..], usize::MAX, letter);
            }
        }
    }
    let start = usize::from(first == ' ');
    if first_class(&rest[start..]) == Some(Class::Other) {
        let end = start + run(&rest[start..], usize::MAX, |c| class(c) == Class::Other);
        return end + run(&rest[end..], usize::MAX, is_newline);
    }
    let end = run(rest, usize::MAX, |c| class(c) == Class::Space);
    match rest[..end].rfind(is_newline) {
        Some(last) => last + 1,
        None => spaces(rest),
    }
}

/// `\s+(?!\S)|\s+`: a run of spaces leaves its last one to the word that follows.
fn spaces(rest: &str) -> usize {
    let end = run(rest, usize::MAX, |c| class(c) == Class::Space);
    let last = rest[..end].chars().next_back().map_or(0, char::len_utf8);
    if end == rest.len() || end == last {
        end
    } else {
        end - last
    }
}

enum Case {
    Exact,
    Folded,
}

/// The length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at the front.
fn contraction(rest: &str, case: Case) -> Option<usize> {
    let tail = rest.strip_prefix('\'')?;
    let fold = |c: char| match case {
        Case::Exact => c,
        // the long s is the only other character that folds to one of these letters
        Case::Folded if c == 'ſ' => 's',
        Case::Folded => c.to_ascii_lowercase(),
    };
    let mut chars = tail.chars();
    let first = chars.next()?;
    let one = 1 + first.len_utf8();
    match fold(first) {
        's' | 't' | 'm' | 'd' => Some(one),
        'r' | 'v' if fold(chars.next()?) == 'e' => Some(one + 1),
        'l' if fold(chars.next()?) == 'l' => Some(one + 1),
        _ => None,
    }
}

fn is_newline(c: char) -> bool {
    c == '\r' || c == '\n'
}

fn first_class(text: &str) -> Option<Class> {
    text.chars().next().map(class)
}

/// The length in bytes of the first characters that are `of` a sort, `most` of them.
fn run(text: &str, most: usize, of: impl Fn(char) -> bool) -> usize {
    text.chars()
        .take(most)
        .take_while(|&c| of(c))
        .map(char::len_utf8)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(splitter: Splitter, text: &str, want: &[&str]) {
        let mut words = Vec::new();
        splitter.split(text, |word| words.push(word));
        assert_eq!(words, want, "{splitter:?}");
    }

    #[test]
    fn gpt2_leaves_one_space_to_the_next_word() {
        check(
            Splitter::Gpt2,
            "a  b\n c  ",
            &["a", " ", " b", "\n", " c", "  "],
        );
        check(
            Splitter::Gpt2,
            "  's 12a?!",
            &[" ", " '", "s", " 12", "a", "?!"],
        );
        check(
            Splitter::Gpt2,
            "we'll WE'LL",
            &["we", "'ll", " WE", "'", "LL"],
        );
        check(
            Splitter::Gpt2,
            "\u{a0}\u{3000}x",
            &["\u{a0}", "\u{3000}", "x"],
        );
    }

    #[test]
    fn smollm_cuts_every_number_before_anything_else() {
        check(Splitter::SmolLm, "  10½b", &["  ", "1", "0", "½", "b"]);
        check(Splitter::SmolLm, "a 1", &["a", " ", "1"]);
    }

    #[test]
    fn llama3_takes_numbers_by_threes_and_newlines_together() {
        check(Splitter::Llama3, "12345 6", &["123", "45", " ", "6"]);
        check(
            Splitter::Llama3,
            "x;\r\n\n \n  y\t z",
            &["x", ";\r\n\n", " \n", " ", " y", "\t", " z"],
        );
        check(
            Splitter::Llama3,
            "it'S 'ſa (b",
            &["it", "'S", " '", "ſa", " (", "b"],
        );
        check(Splitter::Llama3, "'ſa", &["'ſ", "a"]);
        check(Splitter::Llama3, "$ab \n", &["$ab", " \n"]);
    }

    #[test]
    fn qwen2_takes_numbers_singly() {
        check(Splitter::Qwen2, "a123 b", &["a", "1", "2", "3", " b"]);
    }

    proptest! {
        #[test]
        fn words_joined_are_the_text(text in "\\PC*|[ \r\n\t'a1Sſ½!\u{3000}]*") {
            for splitter in [Splitter::Gpt2, Splitter::SmolLm, Splitter::Llama3, Splitter::Qwen2] {
                let mut joined = String::new();
                splitter.split(&text, |word| {
                    assert!(!word.is_empty());
                    joined.push_str(word);
                });
                prop_assert_eq!(&joined, &text);
            }
        }
    }
}
