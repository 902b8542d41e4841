//! A rule on manifests: each dependency from outside has its reason in a comment beside it.

use super::{SourceFile, Violation};

/// Checks one `Cargo.toml`. Inherited dependencies and those given by path need no reason.
pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut table = Table::Other;
    let mut depth = 0;
    let lines: Vec<&str> = file.text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let (code, comment) = split_comment(line);
        let (code, started_inside) = (code.trim(), depth > 0);
        depth += balance(code);
        if started_inside {
            continue;
        }
        if code.starts_with('[') {
            table = Table::of(code);
            depth = 0;
            // `[dependencies.name]` is an entry by itself.
            if let Table::Entry(name) = &table {
                let body = lines[index + 1..]
                    .iter()
                    .take_while(|line| !line.starts_with('['));
                let own = body.clone().any(|line| {
                    let key = line.split('=').next().unwrap_or_default().trim();
                    key == "path" || key == "workspace"
                });
                let reason = comment.is_some()
                    || above(&lines, index)
                    || body.clone().any(|line| line.contains('#'));
                if !own && !reason {
                    found.push(file.violation(index + 1, "dependency", missing(name)));
                }
            }
            continue;
        }
        let Table::Entries = table else { continue };
        let Some((key, value)) = code.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let inherited = key.ends_with(".workspace") || value.contains("workspace = true");
        let by_path = key.ends_with(".path") || value.contains("path =");
        if !inherited && !by_path && comment.is_none() && !above(&lines, index) {
            found.push(file.violation(index + 1, "dependency", missing(key)));
        }
    }
    found
}

fn missing(name: &str) -> String {
    format!("`{name}` has no reason in a comment beside it")
}

/// What a table header opens.
enum Table {
    /// Lines of `name = ...`.
    Entries,
    /// One dependency.
    Entry(String),
    /// Something else.
    Other,
}

impl Table {
    fn of(header: &str) -> Self {
        let inner = header.trim_matches(['[', ']']);
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        if kinds
            .iter()
            .any(|kind| inner == *kind || inner.ends_with(&format!(".{kind}")))
        {
            return Table::Entries;
        }
        match inner.rsplit_once('.') {
            Some((before, name)) if kinds.iter().any(|kind| before.ends_with(kind)) => {
                Table::Entry(name.to_owned())
            }
            _ => Table::Other,
        }
    }
}

/// Splits a line at a `#` outside quotes.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return (&line[..at], Some(&line[at..])),
            _ => {}
        }
    }
    (line, None)
}

/// How many brackets the line leaves open.
fn balance(code: &str) -> i32 {
    let count = |open: char, close: char| {
        code.matches(open).count() as i32 - code.matches(close).count() as i32
    };
    count('[', ']') + count('{', '}')
}

/// Whether the line above is a comment.
fn above(lines: &[&str], index: usize) -> bool {
    index > 0 && lines[index - 1].trim_start().starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found_in;

    #[test]
    fn a_dependency_without_a_reason_is_seen_in_every_kind_of_table() {
        for table in [
            "dependencies",
            "dev-dependencies",
            "build-dependencies",
            "workspace.dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let text = format!("[{table}]\nhalf = \"2\"\n");
            assert_eq!(
                found_in("Cargo.toml", &text, check),
                [(2, "dependency")],
                "{table}"
            );
        }
        assert_eq!(
            found_in(
                "Cargo.toml",
                "[dependencies.half]\nversion = \"2\"\n",
                check
            ),
            [(1, "dependency")]
        );
    }

    #[test]
    fn reasons_inheritance_and_paths_are_accepted() {
        let text = "[package]\nname = \"x\"\n[dependencies]\nhalf = \"2\" # f16\n# maps files\nmemmap2 = \"0.9\"\n\
                    serde.workspace = true\nrayon = { workspace = true }\nptx = { path = \"../ptx\" }\n\
                    # many features\nlong = { version = \"1\", features = [\n  \"a\",\n  \"b = c\",\n] }\n";
        assert_eq!(found_in("Cargo.toml", text, check), []);
    }
}
