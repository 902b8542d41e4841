//! What text takes in an SVG, by an estimate that common sans-serif fonts stay below.

/// The width of `text` in pixels at a font size of `size` pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']'
        | ' ' | 'f' | 't' | 'r' | '-' | '/' => 0.45,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'A'..='Z' | '_' | '&' | '+' | '=' | '<' | '>' | '×' | '→' | '≥' => 0.85,
        _ if c.is_ascii() => 0.66,
        _ => 1.1,
    };
    text.chars().map(of).sum::<f64>() * size
}

/// `text` in lines of at most `most` pixels, broken behind dots, underscores and spaces, else anywhere.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for piece in text.split_inclusive(['.', '_', ' ', '/', '-']) {
        if !line.is_empty() && width(&line, size) + width(piece, size) > most {
            lines.push(std::mem::take(&mut line));
        }
        for c in piece.chars() {
            if !line.is_empty() && width(&line, size) + width(&c.to_string(), size) > most {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// `text` as XML has it, without what XML cannot have.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{escaped, width, wrapped};

    #[test]
    fn lines_are_as_long_as_they_may_be_and_lose_nothing() {
        for text in [
            "",
            "blk.*.attn_q.weight",
            "a name of words and one_that_is_longer_than_a_line_may_be",
            "nobreaksanywhereinthisverylongname",
            "é×→",
        ] {
            let lines = wrapped(text, 12.0, 90.0);
            assert_eq!(lines.concat(), text);
            assert!(
                lines.iter().all(|line| width(line, 12.0) <= 90.0),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn what_xml_cannot_have_is_replaced() {
        assert_eq!(
            escaped("a<b> & \"c\"\u{1}\n"),
            "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}\u{fffd}"
        );
    }
}
