//! `cargo xtask tidy`: the rules of the house that a program can check, all violations at once.

mod arrows;
mod circle;
mod docs;
mod graph;
mod length;
mod lex;
mod manifest;
mod native;
mod source;
mod text;

use std::fmt;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::house::House;
use crate::run::Run;

/// One broken rule at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    file: String,
    line: usize,
    rule: &'static str,
    text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation {
            file,
            line,
            rule,
            text,
        } = self;
        write!(f, "{file}:{line}: {rule}: {text}")
    }
}

/// A text file of the repository; `path` is relative to its root, with `/` between.
struct SourceFile {
    path: String,
    text: String,
}

impl SourceFile {
    fn violation(&self, line: usize, rule: &'static str, text: impl Into<String>) -> Violation {
        Violation {
            file: self.path.clone(),
            line,
            rule,
            text: text.into(),
        }
    }

    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }
}

/// Checks everything and prints what is wrong.
pub(crate) fn tidy(house: &House) -> Result<()> {
    let files = text_files(house)?;
    let metadata = house.metadata()?;
    let graph = graph::Graph::read(&metadata, house.root());

    let mut found = Vec::new();
    for file in &files {
        found.extend(text::check(file));
        if file.is("rs") {
            found.extend(source::check(file));
        }
        if file.path.ends_with("Cargo.toml") {
            found.extend(manifest::check(file));
        }
    }
    found.extend(docs::check(&files));
    found.extend(arrows::check(&graph, &files));
    found.extend(circle::check(&files));
    found.extend(length::check(&files));
    found.extend(native::check(&graph));
    found.sort();
    found.dedup();

    for violation in &found {
        println!("{violation}");
    }
    if found.is_empty() {
        println!(
            "tidy: {} files and {} packages are in order",
            files.len(),
            graph.packages.len()
        );
        Ok(())
    } else {
        Err(Error::Untidy { count: found.len() })
    }
}

/// The text files that git tracks or would track; without git, all but build folders.
fn text_files(house: &House) -> Result<Vec<SourceFile>> {
    let list = Run::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(house.root())
        .read();
    let mut paths: Vec<String> = match list {
        Ok(list) => list
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect(),
        Err(_) => {
            let mut paths = Vec::new();
            walk(house.root(), "", &mut paths)?;
            paths
        }
    };
    paths.sort();
    paths.dedup();
    let mut files = Vec::new();
    for path in paths {
        let full = house.root().join(&path);
        // A file that is deleted but still in the index, or a link to a folder, is not there to be read.
        if !full.is_file() {
            continue;
        }
        let bytes = fs::read(&full).map_err(Error::io(&full))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path, text });
        }
    }
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(Error::io(folder))?;
        if kind.is_dir() {
            if !["target", ".tools", ".git"].contains(&name.as_str()) {
                walk(&entry.path(), &format!("{prefix}{name}/"), paths)?;
            }
        } else if kind.is_file() {
            paths.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

/// The lines of `rule: text` that a check finds in one small file, for the tests of the rules.
#[cfg(test)]
fn found_in(
    path: &str,
    text: &str,
    check: impl Fn(&SourceFile) -> Vec<Violation>,
) -> Vec<(usize, &'static str)> {
    let file = SourceFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    check(&file)
        .into_iter()
        .map(|violation| (violation.line, violation.rule))
        .collect()
}
