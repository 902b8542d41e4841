//! Rules on code in documents: Rust that is shown is compiled, and no example is excused from running.

use std::collections::HashSet;

use super::{SourceFile, Violation, lex};

/// Marks on a fence that keep its code from being a test.
const EXCUSES: &[&str] = &["ignore", "should_panic"];

/// Checks the fences of all documents and doc comments.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    let included: HashSet<String> = files
        .iter()
        .filter(|file| file.is("rs"))
        .flat_map(included_by)
        .collect();
    let mut found = Vec::new();
    for file in files {
        let document = file.is("md") && !file.path.starts_with("suite/reference/");
        for (line, marks) in fences(file) {
            for excuse in EXCUSES
                .iter()
                .filter(|excuse| marks.iter().any(|mark| mark == *excuse))
            {
                found.push(file.violation(
                    line,
                    "fence",
                    format!("`{excuse}`: examples run, or are `text`"),
                ));
            }
            let rust = marks.first().is_some_and(|mark| mark == "rust");
            if document && rust && !included.contains(&file.path) {
                let text = "Rust in a document that no `#[doc = include_str!(..)]` compiles";
                found.push(file.violation(line, "fence", text));
            }
        }
    }
    found
}

/// The opening fences of a document, or of the doc comments of a Rust file: line and marks.
fn fences(file: &SourceFile) -> Vec<(usize, Vec<String>)> {
    let lines: Vec<String> = if file.is("rs") {
        let doc = |line: lex::Line| {
            let text = line
                .comment
                .strip_prefix("///")
                .or(line.comment.strip_prefix("//!"));
            text.unwrap_or_default().to_owned()
        };
        lex::lines(&file.text).into_iter().map(doc).collect()
    } else if file.is("md") {
        file.text.lines().map(str::to_owned).collect()
    } else {
        Vec::new()
    };
    let mut fences = Vec::new();
    let mut open = false;
    for (index, line) in lines.iter().enumerate() {
        let Some(marks) = line.trim_start().strip_prefix("```") else {
            continue;
        };
        if !open {
            let marks = marks
                .split([',', ' '])
                .filter(|mark| !mark.is_empty())
                .map(str::to_owned)
                .collect();
            fences.push((index + 1, marks));
        }
        open = !open;
    }
    fences
}

/// The paths that a Rust file includes as text, from the root of the repository.
fn included_by(file: &SourceFile) -> Vec<String> {
    let opening = "include_str!(\"";
    let ends = file
        .text
        .match_indices(opening)
        .map(|(at, _)| at + opening.len());
    ends.filter_map(|at| {
        let rest = &file.text[at..];
        let path = &rest[..rest.find('"')?];
        let mut parts: Vec<&str> = file.path.split('/').collect();
        parts.pop();
        for part in path.split('/') {
            match part {
                ".." => drop(parts.pop()),
                "." | "" => {}
                part => parts.push(part),
            }
        }
        Some(parts.join("/"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let file = |(path, text): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        check(&files)
            .into_iter()
            .map(|violation| (violation.file, violation.line))
            .collect()
    }

    #[test]
    fn rust_in_a_document_needs_someone_to_compile_it() {
        let readme = (
            "README.md",
            "# A\n```rust\nlet a = 1;\n```\n```text\nx\n```\n",
        );
        assert_eq!(found(&[readme]), [("README.md".to_owned(), 2)]);
        let lib = (
            "suite/src/docs.rs",
            "//! Docs.\n#[doc = include_str!(\"../../README.md\")]\nstruct Readme;\n",
        );
        assert_eq!(found(&[readme, lib]), []);
    }

    #[test]
    fn excused_examples_are_seen_in_comments_and_documents() {
        assert_eq!(
            found(&[("a.rs", "//! A.\n//! ```ignore\n//! x\n//! ```\n")]),
            [("a.rs".to_owned(), 2)]
        );
        assert_eq!(
            found(&[("a.md", "```should_panic\n```\n")]),
            [("a.md".to_owned(), 1)]
        );
        assert_eq!(
            found(&[("a.rs", "//! A.\n//! ```no_run\n//! x\n//! ```\n")]),
            []
        );
    }
}
