//! The lexer: PTX text as tokens with their places.

use crate::{
    diag::{Code, Diagnostic},
    ir::Span,
};

/// What a token is; its text is the slice of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, `%` and `$` included.
    Ident,
    /// `.word`, the dot included.
    Dot,
    /// A number, a character constant included.
    Number,
    /// A string, the quotes included.
    Text,
    /// One or two characters of punctuation.
    Punct,
    /// The end.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    pub(super) text: &'t str,
    pub(super) start: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Token<'_> {
    pub(super) fn span(&self) -> Span {
        Span::Ptx {
            line: self.line,
            column: self.column,
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// All tokens, an end token last, and what could not be read.
pub(super) fn lex(source: &str) -> (Vec<Token<'_>>, Vec<Diagnostic>) {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 4);
    let mut faults = Vec::new();
    let ascii = source.is_ascii();
    let (mut at, mut line, mut line_start) = (0usize, 1u32, 0usize);
    while at < bytes.len() {
        let span = Span::Ptx {
            line,
            column: (at - line_start) as u32 + 1,
        };
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        match (byte, next) {
            (b'\n', _) => {
                at += 1;
                line += 1;
                line_start = at;
                continue;
            }
            (b' ' | b'\t' | b'\r' | 0x0c, _) => {
                at += 1;
                continue;
            }
            // `# 12 "k.cu"`: where a preprocessor took the next line from.
            (b'#', b' ')
                if at == line_start && bytes.get(at + 2).is_some_and(u8::is_ascii_digit) =>
            {
                let rest = &bytes[at..];
                at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                continue;
            }
            (b'/', b'/') => {
                let rest = &bytes[at..];
                at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                continue;
            }
            (b'/', b'*') => {
                let Some(length) = source[at + 2..].find("*/") else {
                    faults.push(Diagnostic::new(Code::UnterminatedComment, span));
                    break;
                };
                let end = at + 2 + length + 2;
                for (offset, byte) in bytes[at..end].iter().enumerate() {
                    if *byte == b'\n' {
                        line += 1;
                        line_start = at + offset + 1;
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        let start = at;
        let kind = match (byte, next) {
            (b'"', _) => {
                let rest = &bytes[at + 1..];
                match rest.iter().position(|b| matches!(b, b'"' | b'\n')) {
                    Some(length) if rest[length] == b'"' => at += length + 2,
                    other => {
                        faults.push(Diagnostic::new(Code::UnterminatedString, span));
                        at += 1 + other.unwrap_or(rest.len());
                        continue;
                    }
                }
                Kind::Text
            }
            (b'\'', _) => {
                let length = match bytes.get(at + 1..) {
                    Some([b'\\', _, b'\'', ..]) => 4,
                    Some([inner, b'\'', ..]) if inner.is_ascii() => 3,
                    _ => {
                        faults.push(Diagnostic::new(Code::UnterminatedString, span));
                        at += 1;
                        continue;
                    }
                };
                at += length;
                Kind::Number
            }
            (b'.', next) if is_name(next) => {
                at += 1;
                loop {
                    while at < bytes.len() && is_name(bytes[at]) {
                        at += 1;
                    }
                    let more = bytes.get(at..at + 3);
                    match more {
                        Some([b':', b':', third]) if is_name(*third) => at += 2,
                        _ => break,
                    }
                }
                Kind::Dot
            }
            (b'0'..=b'9', _) => {
                at = number_end(bytes, at);
                Kind::Number
            }
            (b'%', next) if !is_name(next) || next.is_ascii_digit() => {
                at += 1;
                Kind::Punct
            }
            (b'%', _) => {
                at += 1;
                while at < bytes.len() && is_name(bytes[at]) {
                    at += 1;
                }
                Kind::Ident
            }
            (byte, _) if is_name(byte) => {
                while at < bytes.len() && is_name(bytes[at]) {
                    at += 1;
                }
                Kind::Ident
            }
            (b'<', b'<' | b'=') | (b'>', b'>' | b'=') | (b'=' | b'!', b'=') | (b'&', b'&') => {
                at += 2;
                Kind::Punct
            }
            (b'|', b'|') => {
                at += 2;
                Kind::Punct
            }
            _ => {
                at += 1;
                Kind::Punct
            }
        };
        // Names take in all that is not ASCII, and a character is never cut.
        let text = source.get(start..at).unwrap_or("?");
        if !ascii && let Some(found) = text.chars().find(|c| !c.is_ascii()) {
            faults.push(Diagnostic::new(Code::NotAscii { found }, span));
        }
        out.push(Token {
            kind,
            text,
            start: start as u32,
            line,
            column: (start - line_start) as u32 + 1,
        });
    }
    out.push(Token {
        kind: Kind::End,
        text: "end of text",
        start: source.len() as u32,
        line,
        column: (source.len().saturating_sub(line_start)) as u32 + 1,
    });
    (out, faults)
}

/// Where a number that starts here ends: letters and digits, a fraction, an exponent's sign.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let plain = !(bytes[start] == b'0'
        && matches!(
            bytes.get(start + 1),
            Some(b'x' | b'X' | b'f' | b'F' | b'd' | b'D' | b'b' | b'B')
        ));
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        let fraction = plain && *byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let sign = plain
            && matches!(byte, b'+' | b'-')
            && matches!(bytes[at - 1], b'e' | b'E')
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        if byte.is_ascii_alphanumeric() || fraction || (sign && at > start) {
            at += 1;
        } else {
            break;
        }
    }
    at
}
