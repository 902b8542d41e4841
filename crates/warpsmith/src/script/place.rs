//! Where the values of a JSON text stand: the line of a path, and keys that an object has twice.

use std::collections::HashSet;

/// The path of a member: `$.buffers.a`, or `$.buffers["a b"]` where the name is no word.
pub(super) fn member(at: &str, name: &str) -> String {
    let word = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if word {
        format!("{at}.{name}")
    } else {
        format!("{at}[{}]", serde_json::Value::from(name))
    }
}

/// The path of an item: `$.launches[0]`.
pub(super) fn item(at: &str, index: usize) -> String {
    format!("{at}[{index}]")
}

/// The line that a path's value begins in, from 1; of a missing value the one of what should have it.
///
/// The text is JSON.
pub(super) fn line(text: &str, path: &str) -> Option<u32> {
    let mut walk = Walk::new(text);
    walk.wanted = Some(path);
    walk.value("$");
    walk.line
}

/// The path of the first key that its object has before.
pub(super) fn duplicate(text: &str) -> Option<String> {
    let mut walk = Walk::new(text);
    walk.value("$");
    walk.duplicate
}

/// A walk through a text that is known to be JSON, nested no deeper than its parser allows.
struct Walk<'t> {
    bytes: &'t [u8],
    text: &'t str,
    at: usize,
    counted: (usize, u32),
    wanted: Option<&'t str>,
    line: Option<u32>,
    duplicate: Option<String>,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Walk<'t> {
        Walk {
            bytes: text.as_bytes(),
            text,
            at: 0,
            counted: (0, 1),
            wanted: None,
            line: None,
            duplicate: None,
        }
    }

    fn peek(&mut self) -> u8 {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn here(&mut self) -> u32 {
        let (from, line) = self.counted;
        let breaks = self.bytes[from..self.at]
            .iter()
            .filter(|byte| **byte == b'\n');
        self.counted = (self.at, line + breaks.count() as u32);
        self.counted.1
    }

    /// Whether a path leads to what is wanted, or through it.
    fn leads(&self, path: &str) -> bool {
        self.wanted.is_none_or(|wanted| {
            let rest = wanted.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    fn value(&mut self, path: &str) {
        let first = self.peek();
        let looked = self.leads(path);
        if self.wanted.is_some() && looked {
            self.line = Some(self.here());
        }
        match first {
            b'{' => self.object(path, looked),
            b'[' => self.list(path, looked),
            b'"' => {
                self.string();
            }
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
                while self.bytes.get(self.at).is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
            }
        }
    }

    fn object(&mut self, path: &str, looked: bool) {
        self.at += 1;
        let mut seen = HashSet::new();
        while self.peek() == b'"' {
            let name: String = serde_json::from_str(self.string()).unwrap_or_default();
            let below = if looked {
                member(path, &name)
            } else {
                String::new()
            };
            self.peek();
            self.at += 1;
            if self.wanted.is_none() && self.duplicate.is_none() && seen.contains(&name) {
                self.duplicate = Some(below.clone());
            }
            seen.insert(name);
            self.value(&below);
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn list(&mut self, path: &str, looked: bool) {
        self.at += 1;
        let mut index = 0;
        while !matches!(self.peek(), b']' | 0) {
            let below = if looked {
                item(path, index)
            } else {
                String::new()
            };
            self.value(&below);
            index += 1;
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    /// A string with its quotes.
    fn string(&mut self) -> &'t str {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at = (self.at + 1).min(self.bytes.len());
        self.text.get(start..self.at).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "{\n \"a\": [1,\n  {\"b c\": \"x\\\"]\", \"d\":\n    -2.5e3}],\n \"aa\": null\n}\n";

    #[test]
    fn each_path_has_its_line() {
        for (path, at) in [
            ("$", 1),
            ("$.a", 2),
            ("$.a[0]", 2),
            ("$.a[1]", 3),
            ("$.a[1][\"b c\"]", 3),
            ("$.a[1].d", 4),
            ("$.aa", 5),
            ("$.a[1].missing", 3),
            ("$.b", 1),
        ] {
            assert_eq!(line(TEXT, path), Some(at), "{path}");
        }
    }

    #[test]
    fn keys_that_stand_twice_are_found() {
        for (text, path) in [
            (TEXT, None),
            ("{\"a\": 1, \"a\": 1}", Some("$.a")),
            (
                "{\"a\": [{\"b\": 1, \"c\": {}, \"b\": 2}]}",
                Some("$.a[0].b"),
            ),
            ("{\"a\": 1, \"\\u0061\": 1}", Some("$.a")),
            ("[{\"a\": 1}, {\"a\": 1}]", None),
        ] {
            assert_eq!(duplicate(text).as_deref(), path, "{text}");
        }
    }
}
