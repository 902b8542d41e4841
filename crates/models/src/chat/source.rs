//! What templates say in Jinja2 that the engine does not know, said in its words.
//!
//! `{% generation %}` and its end mark the assistant's text for training, and are `{% if true %}` here. `text % values` is
//! Python's formatting: an operand of `%` is known to be text only when the template runs, so each `a % b` becomes a call
//! of the filter [`PERCENT`], which formats or divides. Strings have Python's escapes. Lines stay where they are, comments
//! and raw parts as well.

use std::ops::Range;

/// The filter that `%` is.
pub(super) const PERCENT: &str = "python_percent";

/// Operators `%` of one tag that are rewritten; a tag with more is left to the engine.
const MOST: usize = 200;

/// The source as the engine takes it.
pub(super) fn translated(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        let (text, tag) = rest.split_at(at);
        out.push_str(text);
        let taken = match tag.as_bytes().get(1) {
            Some(b'#') => copy_until(tag, "#}", &mut out),
            Some(b'{') => expression(tag, "}}", &mut out),
            Some(b'%') => statement(tag, &mut out),
            _ => {
                out.push('{');
                1
            }
        };
        rest = &tag[taken..];
    }
    out.push_str(rest);
    out
}

/// Copies up to and with `end`, or all.
fn copy_until(text: &str, end: &str, out: &mut String) -> usize {
    let len = text.find(end).map_or(text.len(), |at| at + end.len());
    out.push_str(&text[..len]);
    len
}

/// A tag that begins with two characters and ends with `end`; all of an unfinished one.
fn expression(tag: &str, end: &str, out: &mut String) -> usize {
    let Some(inside) = inside(tag, end) else {
        out.push_str(tag);
        return tag.len();
    };
    out.push_str(&tag[..2]);
    out.push_str(&formatted(&unescaped(&tag[inside.clone()])));
    out.push_str(end);
    inside.end + end.len()
}

fn statement(tag: &str, out: &mut String) -> usize {
    let Some(Range { start, end }) = inside(tag, "%}") else {
        out.push_str(tag);
        return tag.len();
    };
    let sign = |c: char| matches!(c, '-' | '+');
    let words = tag[start..end].trim_matches(sign).trim();
    let replaced = match words {
        "raw" => {
            // Up to the tag that ends it, which is copied as one.
            let len = find_end_of_raw(&tag[end..]).map_or(tag.len(), |at| end + at);
            out.push_str(&tag[..len]);
            return len;
        }
        "generation" => "if true",
        "endgeneration" => "endif",
        _ => return expression(tag, "%}", out),
    };
    out.push_str(&tag[..end].replacen(words, replaced, 1));
    out.push_str("%}");
    end + 2
}

fn find_end_of_raw(text: &str) -> Option<usize> {
    let tags = text.match_indices("{%").map(|(at, _)| at);
    let sign = |c: char| matches!(c, '-' | '+');
    let ends = |at: &usize| {
        let after = text[at + 2..].trim_start_matches(sign).trim_start();
        after.starts_with("endraw")
    };
    tags.into_iter().find(ends)
}

/// What is between the first two characters of a tag and `end`, which counts outside of strings and brackets only.
fn inside(tag: &str, end: &str) -> Option<Range<usize>> {
    let bytes = tag.as_bytes();
    let (mut at, mut braces) = (2, 0usize);
    while at < bytes.len() {
        if braces == 0 && tag.is_char_boundary(at) && tag[at..].starts_with(end) {
            return Some(2..at);
        }
        match bytes[at] {
            quote @ (b'\'' | b'"') => at = string_end(bytes, at, quote)?,
            b'{' => braces += 1,
            b'}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// An expression whose strings have only escapes that the engine knows: a backslash at the end of a line joins it with the
/// next, `\x41` is a character. Lines that go from a string follow it.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quote, mut joined) = (None, 0);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => {
                out.push(c);
                out.extend(std::iter::repeat_n('\n', joined));
                (quote, joined) = (None, 0);
                continue;
            }
            ('\\', Some(_)) => {
                let after = rest.as_str();
                let hex = after.strip_prefix('x').and_then(|hex| hex.get(..2));
                let hex = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
                if let Some(code) = hex {
                    if matches!(code, b'\'' | b'"' | b'\\') {
                        out.push('\\');
                    }
                    out.push(char::from(code));
                    rest = after[3..].chars();
                } else if let Some(next) = after.strip_prefix('\n') {
                    joined += 1;
                    rest = next.chars();
                } else {
                    out.push(c);
                    out.extend(rest.next());
                }
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// Where the string that begins at `at` has its last quote.
fn string_end(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    at += 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            byte if byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Name,
    Open,
    Close,
    Operator,
}

/// A part of an expression.
#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    at: Range<usize>,
}

/// Longest first.
const LONG: [&str; 6] = ["**", "//", "==", "!=", "<=", ">="];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let (kind, len) = match bytes[at] {
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            quote @ (b'\'' | b'"') => (Kind::Text, string_end(bytes, at, quote)? + 1 - at),
            byte if name(&byte) => {
                let len = bytes[at..].iter().take_while(|byte| name(byte)).count();
                (Kind::Name, len)
            }
            b'(' | b'[' | b'{' => (Kind::Open, 1),
            b')' | b']' | b'}' => (Kind::Close, 1),
            _ => {
                let long = LONG.iter().any(|long| text[at..].starts_with(long));
                (Kind::Operator, if long { 2 } else { 1 })
            }
        };
        let range = at..at + len;
        tokens.push(Token { kind, at: range });
        at += len;
    }
    Some(tokens)
}

/// Words that are no operands, before or after one.
const WORDS: [&str; 20] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "elif",
    "set",
    "for",
    "do",
    "with",
    "call",
    "filter",
    "macro",
    "print",
    "return",
    "recursive",
    "import",
    "as",
];

/// An expression with each `a % b` as a call of the filter.
fn formatted(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..MOST {
        match once(&text) {
            Some(next) => text = next,
            None => break,
        }
    }
    text
}

/// The text with its first `%` rewritten, if there is one with two operands.
fn once(text: &str) -> Option<String> {
    let tokens = tokens(text)?;
    let word = |token: &Token| &text[token.at.clone()];
    let place = tokens
        .iter()
        .position(|token| token.kind == Kind::Operator && word(token) == "%")?;
    let ends_operand = |at: usize| {
        let token = &tokens[at];
        match token.kind {
            Kind::Text | Kind::Close => true,
            Kind::Name => !WORDS.contains(&word(token)),
            Kind::Open | Kind::Operator => false,
        }
    };
    let mut first = place;
    let mut depth = 0usize;
    while first > 0 {
        let token = &tokens[first - 1];
        match token.kind {
            Kind::Close => depth += 1,
            Kind::Open if depth == 0 => break,
            Kind::Open => depth -= 1,
            Kind::Name if depth == 0 && WORDS.contains(&word(token)) => break,
            Kind::Operator if depth == 0 => match word(token) {
                // Signs belong to what follows, unless they join two operands.
                "-" | "+" if first >= 2 && ends_operand(first - 2) => break,
                "-" | "+" | "." | "|" | "*" | "/" | "//" | "**" => {}
                _ => break,
            },
            Kind::Text | Kind::Name | Kind::Operator => {}
        }
        first -= 1;
    }
    let last = operand(text, &tokens, place + 1)?;
    if first == place || last == place + 1 {
        return None;
    }
    let (begin, end) = (tokens[first].at.start, tokens[last - 1].at.end);
    let operator = &tokens[place].at;
    Some(format!(
        "{}(({})|{PERCENT}({})){}",
        &text[..begin],
        &text[begin..operator.start],
        &text[operator.end..end],
        &text[end..],
    ))
}

/// The token behind the operand that begins at `at`: a sign, a value, what is called, taken or filtered of it, its powers.
fn operand(text: &str, tokens: &[Token], mut at: usize) -> Option<usize> {
    let is = |at: usize, what: &str| tokens.get(at).is_some_and(|t| &text[t.at.clone()] == what);
    while is(at, "-") || is(at, "+") {
        at += 1;
    }
    match tokens.get(at)?.kind {
        Kind::Open => at = closed(tokens, at)?,
        Kind::Text => {
            while tokens.get(at).is_some_and(|token| token.kind == Kind::Text) {
                at += 1;
            }
        }
        Kind::Name => at += 1,
        Kind::Close | Kind::Operator => return None,
    }
    loop {
        if is(at, "(") || is(at, "[") {
            at = closed(tokens, at)?;
        } else if is(at, ".") || is(at, "|") {
            at += 2;
        } else if is(at, "**") {
            return operand(text, tokens, at + 1);
        } else {
            return Some(at.min(tokens.len()));
        }
    }
}

/// The token behind the bracket that closes the one at `at`.
fn closed(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(place + 1);
                }
            }
            Kind::Text | Kind::Name | Kind::Operator => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn marks_of_training_are_transparent_and_what_is_no_tag_stays() {
        for (source, want) in [
            (
                "{% generation %}a{% endgeneration %}",
                "{% if true %}a{% endif %}",
            ),
            (
                "{%- generation -%} a {%+ endgeneration -%}\n",
                "{%- if true -%} a {%+ endif -%}\n",
            ),
            ("{%generation%}{%endgeneration%}", "{%if true%}{%endif%}"),
            (
                "{# {% generation %} 5 % 2 #}",
                "{# {% generation %} 5 % 2 #}",
            ),
            (
                "{% raw %}{% generation %}{{ a % b }}{% endraw %}",
                "{% raw %}{% generation %}{{ a % b }}{% endraw %}",
            ),
            (
                "{{ '{% generation %} % ' }} 5 % { %",
                "{{ '{% generation %} % ' }} 5 % { %",
            ),
            (
                "{% set generation = 1 %}{{ generation }}",
                "{% set generation = 1 %}{{ generation }}",
            ),
            (
                "{{ {'a': {'b': '}}'}} }}{% if",
                "{{ {'a': {'b': '}}'}} }}{% if",
            ),
            ("{{ 'unfinished % ", "{{ 'unfinished % "),
            ("é{", "é{"),
        ] {
            assert_eq!(translated(source), want);
        }
    }
}
