//! Rule `long-fn`: a function has at most 100 lines, but for those that are listed, which only shrink.
//!
//! Most of the list are tables: a match with an arm for each instruction, format or setting. Text is formatted, so that a
//! function ends where a brace stands below its first word.

use super::lex::{self, Line};
use super::{SourceFile, Violation, source};

/// Lines of a function at most.
const MOST: usize = 100;

/// The longer ones there are: file, name, lines.
const KNOWN: &[(&str, &str, usize)] = &[
    ("crates/graph/src/lower/product.rs", "product", 108),
    ("crates/graph/src/passes/heads.rs", "found", 106),
    ("crates/graph/src/persistent.rs", "new", 101),
    ("crates/library/src/projection/head_cases.rs", "heads", 112),
    ("crates/library/src/projection/head_cases.rs", "case", 162),
    ("crates/library/src/registry.rs", "registry", 104),
    ("crates/library/src/weights/pack.rs", "read", 108),
    ("crates/ptx/src/parse/lex.rs", "lex", 151),
    ("crates/server/src/metrics.rs", "write", 130),
    ("crates/server/src/routes/audio/form.rs", "asked", 101),
    ("crates/vcuda/src/link/merge.rs", "link", 218),
    ("crates/vgpu/src/check/look.rs", "lane", 119),
    ("crates/vgpu/src/exec/mod.rs", "common", 124),
    ("crates/vgpu/src/lower/instrument.rs", "before", 113),
    ("crates/vgpu/src/native/bits.rs", "bits", 170),
    ("crates/vgpu/src/native/emit.rs", "emit", 112),
    ("crates/vgpu/src/native/encode/mod.rs", "node", 188),
    ("crates/vgpu/src/native/exits.rs", "way_out", 124),
    ("crates/vgpu/src/native/kinds.rs", "common", 208),
    ("crates/vgpu/src/native/mod.rs", "follow", 108),
    ("crates/vgpu/src/native/narrow/mod.rs", "node", 109),
    ("crates/vgpu/src/native/numbers.rs", "number", 103),
    ("crates/vgpu/src/stream.rs", "job", 122),
    ("crates/warpsmith/src/cli/generate.rs", "run", 125),
    ("crates/warpsmith/src/cli/parallel.rs", "run", 117),
    ("python/src/speech.rs", "transcribe", 131),
    ("suite/src/gpu/report.rs", "markdown", 121),
];

/// A function with its lines.
#[derive(Debug, PartialEq, Eq)]
struct Length<'a> {
    name: &'a str,
    /// Where it begins.
    line: usize,
    lines: usize,
}

/// Checks every file.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    compare(files, KNOWN)
}

fn compare(files: &[SourceFile], known: &[(&str, &str, usize)]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let own = |file: &&SourceFile| file.is("rs") && !source::is_test_file(&file.path);
    for file in files.iter().filter(own) {
        let lines = lex::lines(&file.text);
        for Length { name, line, lines } in lengths(&lines) {
            if lines <= MOST {
                continue;
            }
            let listed = known
                .iter()
                .find(|(path, own, _)| *path == file.path && *own == name);
            match listed {
                Some((path, own, most)) => {
                    seen.push((path, own));
                    if lines > *most {
                        let text = format!("`{name}` has {lines} lines, listed with {most}");
                        found.push(file.violation(line, "long-fn", text));
                    }
                }
                None => {
                    let text = format!("`{name}` has {lines} lines, at most {MOST}: split it");
                    found.push(file.violation(line, "long-fn", text));
                }
            }
        }
    }
    for (path, name, _) in known {
        if !seen.contains(&(path, name)) {
            found.push(Violation {
                file: "xtask/src/tidy/length.rs".to_owned(),
                line: 1,
                rule: "long-fn",
                text: format!("`{name}` of {path} is no longer so long; take it out of the list"),
            });
        }
    }
    found
}

/// The functions of a file outside of its tests.
fn lengths(lines: &[Line]) -> Vec<Length<'_>> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = begins(&line.code).filter(|_| !line.test) else {
            continue;
        };
        let indent = line.code.len() - line.code.trim_start().len();
        let is_end = |line: &Line| {
            let code = line.code.trim_end();
            code.len() == indent + 1 && code.ends_with('}')
        };
        let end = lines[at..].iter().position(is_end);
        if let Some(end) = end.filter(|_| opens(&lines[at..])) {
            found.push(Length {
                name,
                line: at + 1,
                lines: end + 1,
            });
        }
    }
    found
}

/// Whether a function whose first line this is has a body.
fn opens(lines: &[Line]) -> bool {
    let ends = |line: &&Line| {
        let code = line.code.trim_end();
        code.ends_with('{') || code.ends_with(';')
    };
    lines
        .iter()
        .find(ends)
        .is_some_and(|line| line.code.trim_end().ends_with('{'))
}

/// The name of the function that a line begins.
fn begins(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "fn" => {
                let name = words.next()?;
                let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &name[..end.unwrap_or(name.len())];
                // A macro names it.
                return (!name.is_empty()).then_some(name);
            }
            "pub" | "const" | "unsafe" | "extern" | "async" | "\"\"" => {}
            word if word.starts_with("pub(") => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> SourceFile {
        SourceFile {
            path: "crates/a/src/lib.rs".to_owned(),
            text: text.to_owned(),
        }
    }

    fn long(name: &str, lines: usize) -> String {
        let body = "    work();\n".repeat(lines - 2);
        format!("pub(crate) fn {name}(\n    a: u32,\n) {{\n{body}}}\n")
    }

    #[test]
    fn functions_are_as_long_as_from_their_name_to_their_brace() {
        let text = "trait A {\n    fn none(&self);\n    fn some(&self) {\n        1;\n    }\n}\n";
        let lines = lex::lines(text);
        let found = lengths(&lines);
        let some = Length {
            name: "some",
            line: 3,
            lines: 3,
        };
        assert_eq!(found, [some]);
    }

    #[test]
    fn long_functions_are_found_unless_they_are_listed_as_long() {
        let [short, over] = [file(&long("short", 98)), file(&long("over", 120))];
        assert!(compare(&[short], &[]).is_empty());
        let files = [over];
        let found = compare(&files, &[]);
        assert_eq!((found[0].line, found[0].rule), (1, "long-fn"));
        let place = "crates/a/src/lib.rs";
        assert!(compare(&files, &[(place, "over", 122)]).is_empty());
        assert!(
            compare(&files, &[(place, "over", 110)])[0]
                .text
                .contains("listed with 110")
        );
        let gone = compare(&files, &[(place, "over", 122), (place, "gone", 200)]);
        assert!(gone[0].text.contains("no longer"), "{gone:?}");
    }

    #[test]
    fn tests_may_be_long() {
        let text = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", long("over", 120));
        assert!(compare(&[file(&text)], &[]).is_empty());
    }
}
