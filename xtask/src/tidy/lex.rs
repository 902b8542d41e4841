//! Splits Rust text into code and comments, line by line, so that rules see no words inside strings.

/// One line: its code with strings emptied, and its comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) code: String,
    pub(super) comment: String,
    /// Whether the line stands in test code.
    pub(super) test: bool,
}

enum State {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    String,
    RawString { hashes: usize },
}

/// The lines of `text`. Literals keep their quotes and lose their content.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut i = 0;
    while i < chars.len() {
        let c = chars[i];
        if c == '\n' {
            if let State::LineComment = state {
                state = State::Code;
            }
            lines.push(Line::default());
            i += 1;
            continue;
        }
        let line = lines.last_mut().expect("there is always a line");
        match state {
            State::Code => match c {
                '/' if at(i + 1) == '/' => {
                    state = State::LineComment;
                    line.comment.push(c);
                }
                '/' if at(i + 1) == '*' => {
                    state = State::BlockComment { depth: 1 };
                    line.comment.push_str("/*");
                    i += 1;
                }
                '"' => {
                    state = State::String;
                    line.code.push(c);
                }
                'r' if !ends_in_word(&line.code)
                    || line.code.ends_with('b')
                    || line.code.ends_with('c') =>
                {
                    let hashes = chars[i + 1..].iter().take_while(|&&c| c == '#').count();
                    line.code.push(c);
                    if at(i + 1 + hashes) == '"' {
                        state = State::RawString { hashes };
                        line.code.push('"');
                        i += 1 + hashes;
                    }
                }
                '\'' => {
                    line.code.push(c);
                    // A character literal closes after one character or an escape; a lifetime does not close.
                    let close = if at(i + 1) == '\\' {
                        (i + 3..chars.len().min(i + 14)).find(|&j| chars[j] == '\'')
                    } else {
                        Some(i + 2).filter(|&j| at(j) == '\'' && at(i + 1) != '\n')
                    };
                    if let Some(close) = close {
                        line.code.push('\'');
                        i = close;
                    }
                }
                _ => line.code.push(c),
            },
            State::LineComment => line.comment.push(c),
            State::BlockComment { depth } => {
                line.comment.push(c);
                if c == '*' && at(i + 1) == '/' {
                    line.comment.push('/');
                    i += 1;
                    state = if depth == 1 {
                        State::Code
                    } else {
                        State::BlockComment { depth: depth - 1 }
                    };
                } else if c == '/' && at(i + 1) == '*' {
                    i += 1;
                    state = State::BlockComment { depth: depth + 1 };
                }
            }
            State::String => match c {
                // An escaped line end is still the end of a line.
                '\\' if at(i + 1) != '\n' => i += 1,
                '"' => {
                    line.code.push(c);
                    state = State::Code;
                }
                _ => {}
            },
            State::RawString { hashes } => {
                if c == '"' && (1..=hashes).all(|k| at(i + k) == '#') {
                    line.code.push(c);
                    i += hashes;
                    state = State::Code;
                }
            }
        }
        i += 1;
    }
    if text.ends_with('\n') {
        lines.pop();
    }
    mark_tests(&mut lines);
    lines
}

fn ends_in_word(code: &str) -> bool {
    code.chars()
        .next_back()
        .is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// Marks what follows `#[cfg(test)]` up to the end of its braces, or to its semicolon.
fn mark_tests(lines: &mut [Line]) {
    let mut i = 0;
    while i < lines.len() {
        let Some(start) = lines[i].code.find("#[cfg(test)]") else {
            i += 1;
            continue;
        };
        let mut from = start + "#[cfg(test)]".len();
        let mut depth = 0i32;
        'item: while i < lines.len() {
            lines[i].test = true;
            let rest = lines[i].code[from..].to_owned();
            from = 0;
            for c in rest.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ';' if depth == 0 => break 'item,
                    _ => {}
                }
                if c == '}' && depth == 0 {
                    break 'item;
                }
            }
            i += 1;
        }
        i += 1;
    }
}

/// Whether `word` stands in `text` with no letter, digit or underscore on either side.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(|c| inside(c) && word.starts_with(inside))
            && !after.is_some_and(|c| inside(c) && word.ends_with(inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_characters_and_comments_leave_the_code() {
        assert_eq!(code("let a = \"x // y\"; // z"), ["let a = \"\"; "]);
        assert_eq!(code("let a = r#\"x \" y\"#; b"), ["let a = r\"\"; b"]);
        assert_eq!(code("br\"x\" for b"), ["br\"\" for b"]);
        assert_eq!(
            code("f('\"', '\\'', '\\u{1f}', 'a: &'a str)"),
            ["f('', '', '', 'a: &'a str)"]
        );
        assert_eq!(code("a /* b /* c */ d */ e"), ["a  e"]);
        assert_eq!(code("\"a\nb\\\nc\" d"), ["\"", "", "\" d"]);
        assert_eq!(lines("a // b")[0].comment, "// b");
    }

    #[test]
    fn test_code_ends_with_its_braces() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { \"}\"; }\n}\nfn c() {}\n#[cfg(test)]\nmod t;\nfn d() {}";
        let test: Vec<bool> = lines(text).iter().map(|line| line.test).collect();
        assert_eq!(
            test,
            [false, true, true, true, true, false, true, true, false]
        );
    }

    #[test]
    fn words_end_at_underscores_and_letters() {
        assert!(has_word("unsafe {", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
        assert!(has_word("x.todo!()", "todo!"));
        assert!(!has_word("not_todo!()", "todo!"));
    }
}
