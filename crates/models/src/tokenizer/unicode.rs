//! The four classes of characters that pre-tokenizers tell apart.

use std::sync::LazyLock;

use regex_syntax::hir::{Class as Ranges, HirKind};

/// A character's class; each character has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s`
    Space,
    /// `[^\s\p{L}\p{N}]`
    Other,
}

static LETTERS: LazyLock<Bits> = LazyLock::new(|| Bits::of(r"\p{L}"));
static NUMBERS: LazyLock<Bits> = LazyLock::new(|| Bits::of(r"\p{N}"));

/// The class of `c`.
pub(super) fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' | 'A'..='Z' => Class::Letter,
            '0'..='9' => Class::Number,
            ' ' | '\t'..='\r' => Class::Space,
            _ => Class::Other,
        };
    }
    if LETTERS.has(c) {
        Class::Letter
    } else if c.is_whitespace() {
        Class::Space
    } else if NUMBERS.has(c) {
        Class::Number
    } else {
        Class::Other
    }
}

/// One bit a code point: 136 KiB.
struct Bits(Vec<u64>);

impl Bits {
    fn of(class: &str) -> Self {
        let hir = regex_syntax::parse(class).expect("a general category");
        let HirKind::Class(Ranges::Unicode(ranges)) = hir.kind() else {
            unreachable!("a general category is a class of characters")
        };
        let mut bits = vec![0; 0x11_0000 / 64];
        for range in ranges.iter() {
            for code in u32::from(range.start())..=u32::from(range.end()) {
                bits[code as usize / 64] |= 1 << (code % 64);
            }
        }
        Self(bits)
    }

    fn has(&self, c: char) -> bool {
        let code = u32::from(c);
        self.0[code as usize / 64] >> (code % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_the_general_categories() {
        for (c, want) in [
            ('é', Class::Letter),
            ('ⅷ', Class::Number),
            ('½', Class::Number),
            ('²', Class::Number),
            ('٣', Class::Number),
            ('好', Class::Letter),
            ('\u{301}', Class::Other),
            ('\u{93F}', Class::Other),
            ('\u{200B}', Class::Other),
            ('\u{A0}', Class::Space),
            ('\u{85}', Class::Space),
            ('\u{3000}', Class::Space),
            ('\u{1C}', Class::Other),
            ('\u{B}', Class::Space),
            ('_', Class::Other),
            ('🙂', Class::Other),
            ('\u{10FFFF}', Class::Other),
        ] {
            assert_eq!(class(c), want, "{c:?}");
        }
    }
}
