//! Rules on every text file: no machine's paths, no registries' hosts, nothing left to do.

use super::lex::{self, has_word};
use super::{SourceFile, Violation};

/// Folders of one person's or one machine's.
const MACHINE_PATHS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Where packages come from is for the tools that fetch them to know.
const HOSTS: &[&str] = &[
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("static.crates", ".io"),
    concat!("index.crates", ".io"),
    concat!("registry.npm", "js.org"),
    concat!("conda.ana", "conda.org"),
];

/// Words that promise later work.
const LATER: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// Checks one text file. Lock files are cargo's own.
pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    if file.path.ends_with("Cargo.lock") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for path in MACHINE_PATHS.iter().filter(|path| has_path(line, path)) {
            found.push(file.violation(
                index + 1,
                "machine-path",
                format!("`{path}` is a path of one machine"),
            ));
        }
        for host in HOSTS.iter().filter(|host| line.contains(*host)) {
            found.push(file.violation(
                index + 1,
                "host",
                format!("`{host}` is the host of a registry"),
            ));
        }
    }
    let mut later = |index: usize, text: &str| {
        for word in LATER.iter().filter(|word| has_word(text, word)) {
            found.push(file.violation(
                index + 1,
                "later",
                format!("`{word}`: what is not done is not announced"),
            ));
        }
    };
    if file.is("rs") {
        lex::lines(&file.text)
            .iter()
            .enumerate()
            .for_each(|(index, line)| later(index, &line.comment));
    } else if file.is("md") || file.is("toml") || file.is("py") || file.is("sh") {
        file.text
            .lines()
            .enumerate()
            .for_each(|(index, line)| later(index, line));
    }
    found
}

/// Whether `path` begins in `line`, and is not the middle of a longer path or an address.
fn has_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-)}~".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found_in;

    #[test]
    fn machine_paths_are_seen_and_the_middle_of_other_paths_is_not() {
        for path in MACHINE_PATHS {
            assert_eq!(
                found_in("a.md", &format!("x\nsee {path}y\n"), check),
                [(2, "machine-path")]
            );
            assert_eq!(
                found_in("a.md", &format!("see target{path}y and $X{path}\n"), check),
                []
            );
        }
    }

    #[test]
    fn hosts_are_seen_but_not_in_lock_files() {
        for host in HOSTS {
            let text = format!("url = \"https://{host}/x\"\n");
            assert_eq!(found_in("a.toml", &text, check), [(1, "host")]);
            assert_eq!(found_in("fuzz/Cargo.lock", &text, check), []);
        }
    }

    #[test]
    fn promises_are_seen_in_comments_and_documents_and_not_in_strings() {
        for word in LATER {
            assert_eq!(
                found_in("a.rs", &format!("//! A.\n// {word}: x\n"), check),
                [(2, "later")]
            );
            assert_eq!(
                found_in("a.md", &format!("{word}\n"), check),
                [(1, "later")]
            );
            assert_eq!(
                found_in("a.rs", &format!("//! A.\nlet a = \"{word}\";\n"), check),
                []
            );
        }
    }
}
