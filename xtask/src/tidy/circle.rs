//! Rule `circle`: the modules of a crate that stand directly under `src/` use each other in one direction.
//!
//! Paths that begin with `crate` or leave their module by `super` are arrows, and so are names that the root of the crate
//! brings from a module. What only tests use is no arrow.

use super::lex::{self, Line};
use super::{SourceFile, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// Circles that there are: the folder of the crate, and the modules that all reach each other. They may only become
/// smaller and fewer.
const KNOWN: &[(&str, &[&str])] = &[
    ("crates/kernel", &["ahead", "scope", "shared"]),
    ("crates/library", &["gemm", "gemv"]),
    ("crates/vcuda", &["event", "graph", "stream"]),
    (
        "crates/vgpu",
        &["job", "machine", "module", "pool", "sched"],
    ),
    ("crates/warpsmith", &["report", "script"]),
];

/// Where a module uses another first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Arrow {
    file: String,
    line: usize,
}

/// Arrows by the modules from which and to which they go.
type Arrows = BTreeMap<(String, String), Arrow>;

/// Checks every crate.
pub(super) fn check(files: &[SourceFile]) -> Vec<Violation> {
    compare(files, KNOWN)
}

fn compare(files: &[SourceFile], known: &[(&str, &[&str])]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut seen: Vec<(&str, Vec<String>)> = Vec::new();
    for (folder, root) in roots(files) {
        let arrows = arrows(files, folder, root);
        for circle in circles(&arrows) {
            let listed = known
                .iter()
                .any(|(own, modules)| *own == folder && circle.iter().eq(modules.iter()));
            if !listed {
                found.push(violation(&circle, &arrows));
            }
            seen.push((folder, circle));
        }
    }
    for (folder, modules) in known {
        let still =
            |(own, circle): &(&str, Vec<String>)| own == folder && circle.iter().eq(modules.iter());
        if !seen.iter().any(still) {
            found.push(Violation {
                file: "xtask/src/tidy/circle.rs".to_owned(),
                line: 1,
                rule: "circle",
                text: format!(
                    "{folder}: {} are no longer such a circle; take it out of the list",
                    modules.join(", ")
                ),
            });
        }
    }
    found
}

/// The folders of crates, each with the file that is its root.
fn roots(files: &[SourceFile]) -> Vec<(&str, &SourceFile)> {
    let mut all: BTreeMap<&str, &SourceFile> = BTreeMap::new();
    for name in ["/src/main.rs", "/src/lib.rs"] {
        for file in files {
            if let Some(folder) = file.path.strip_suffix(name) {
                all.insert(folder, file);
            }
        }
    }
    all.into_iter().collect()
}

/// The module under `src/` that a file is of, and how many modules it is deep; `None` for the root.
fn module_of<'a>(folder: &str, path: &'a str) -> Option<(&'a str, usize)> {
    let inside = path
        .strip_prefix(folder)?
        .strip_prefix("/src/")?
        .strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let name = inside.split('/').next()?;
    if ["lib", "main"].contains(&name) || inside.starts_with("bin/") {
        return None;
    }
    // One module has a file for each kind of machine.
    let name = ["_x86", "_other"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(name);
    Some((name, inside.split('/').count()))
}

/// The arrows between the modules of a crate.
fn arrows(files: &[SourceFile], folder: &str, root: &SourceFile) -> Arrows {
    let own = |file: &&SourceFile| module_of(folder, &file.path).is_some();
    let modules: BTreeSet<&str> = files
        .iter()
        .filter(own)
        .filter_map(|file| module_of(folder, &file.path))
        .map(|(name, _)| name)
        .collect();
    // What the root brings from a module is that module's.
    let mut brought: BTreeMap<String, String> = BTreeMap::new();
    for (path, _) in paths(&root.text) {
        let path = match path.first().map(String::as_str) {
            Some("self" | "crate") => &path[1..],
            _ => &path[..],
        };
        if let [module, .., name] = path
            && modules.contains(module.as_str())
        {
            brought.insert(name.clone(), module.clone());
        }
    }
    let mut arrows = Arrows::new();
    for file in files.iter().filter(own) {
        let Some((from, depth)) = module_of(folder, &file.path) else {
            continue;
        };
        for (path, line) in paths(&file.text) {
            let supers = path.iter().take_while(|part| *part == "super").count();
            let behind = match path.first().map(String::as_str) {
                Some("crate") => &path[1..],
                Some("super") if supers == depth => &path[supers..],
                _ => continue,
            };
            let Some(first) = behind.first() else {
                continue;
            };
            let to = match brought.get(first) {
                _ if modules.contains(first.as_str()) => first,
                Some(module) => module,
                None => continue,
            };
            if to != from {
                let key = (from.to_owned(), to.clone());
                arrows.entry(key).or_insert_with(|| Arrow {
                    file: file.path.clone(),
                    line,
                });
            }
        }
    }
    arrows
}

/// Modules that all reach each other, in the order of their names.
fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let modules: BTreeSet<&String> = arrows.keys().flat_map(|(from, to)| [from, to]).collect();
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut work = vec![from];
        while let Some(at) = work.pop() {
            for (_, to) in arrows.keys().filter(|(own, _)| own == at) {
                if seen.insert(to) {
                    work.push(to);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<&String>> = modules
        .iter()
        .map(|module| (*module, reached(module)))
        .collect();
    let mut all = Vec::new();
    let mut done: BTreeSet<String> = BTreeSet::new();
    for module in &modules {
        if done.contains(*module) || !reach[module].contains(module) {
            continue;
        }
        let circle: Vec<String> = modules
            .iter()
            .filter(|other| reach[module].contains(*other) && reach[*other].contains(module))
            .map(|other| (*other).clone())
            .collect();
        done.extend(circle.iter().cloned());
        all.push(circle);
    }
    all
}

/// A circle, with the shortest way round from its first module.
fn violation(circle: &[String], arrows: &Arrows) -> Violation {
    let way = way_round(circle, arrows);
    let steps: Vec<String> = way
        .windows(2)
        .map(|pair| {
            let Arrow { file, line } = &arrows[&(pair[0].clone(), pair[1].clone())];
            format!("{} uses {} at {file}:{line}", pair[0], pair[1])
        })
        .collect();
    let first = &arrows[&(way[0].clone(), way[1].clone())];
    Violation {
        file: first.file.clone(),
        line: first.line,
        rule: "circle",
        text: format!(
            "{} use each other in a circle: {}",
            circle.join(", "),
            steps.join(", ")
        ),
    }
}

/// From the first module of a circle back to it.
fn way_round(circle: &[String], arrows: &Arrows) -> Vec<String> {
    let start = &circle[0];
    let mut ways = vec![vec![start.clone()]];
    loop {
        let mut longer = Vec::new();
        for way in &ways {
            let last = &way[way.len() - 1];
            for (_, to) in arrows.keys().filter(|(from, _)| from == last) {
                let mut next = way.clone();
                next.push(to.clone());
                if to == start {
                    return next;
                }
                if circle.contains(to) && !way.contains(to) {
                    longer.push(next);
                }
            }
        }
        ways = longer;
    }
}

/// The paths in a file outside of its tests, each with its line. Those of `use` are taken apart.
fn paths(text: &str) -> Vec<(Vec<String>, usize)> {
    let lines = lex::lines(text);
    let tokens = tokens(&lines);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((token, line)) = tokens.get(at) {
        match token.as_str() {
            "use" => {
                at += 1;
                tree(&tokens, &mut at, &mut Vec::new(), &mut found);
            }
            "crate" | "super" => {
                let mut path = vec![token.clone()];
                while let (Some((colons, _)), Some((name, _))) =
                    (tokens.get(at + 1), tokens.get(at + 2))
                    && colons == "::"
                    && is_name(name)
                {
                    path.push(name.clone());
                    at += 2;
                }
                found.push((path, *line));
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

type Token = (String, usize);

/// The paths of a tree of `use`, from `at` on, behind those parts.
fn tree(
    tokens: &[Token],
    at: &mut usize,
    before: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, usize)>,
) {
    let depth = before.len();
    while let Some((token, line)) = tokens.get(*at) {
        match token.as_str() {
            "::" => *at += 1,
            "{" => {
                *at += 1;
                while tokens.get(*at).is_some_and(|(token, _)| token != "}") {
                    let from = *at;
                    tree(tokens, at, before, found);
                    if tokens.get(*at).is_some_and(|(token, _)| token == ",") {
                        *at += 1;
                    }
                    // What is not understood is passed.
                    *at = (*at).max(from + 1);
                }
                *at += 1;
                break;
            }
            "as" => *at += 2,
            name if is_name(name) || name == "*" => {
                before.push(token.clone());
                *at += 1;
                if tokens.get(*at).is_none_or(|(token, _)| token != "::") {
                    found.push((before.clone(), *line));
                    if tokens.get(*at).is_some_and(|(token, _)| token == "as") {
                        *at += 2;
                    }
                    break;
                }
            }
            _ => break,
        }
    }
    before.truncate(depth);
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words and signs of the lines that are no tests.
fn tokens(lines: &[Line]) -> Vec<Token> {
    let mut all: Vec<Token> = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.test) {
        let mut rest = line.code.as_str();
        while let Some(c) = rest.chars().next() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let len = if word(c) {
                rest.find(|c| !word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                c.len_utf8()
            };
            if !c.is_whitespace() {
                all.push((rest[..len].to_owned(), number + 1));
            }
            rest = &rest[len..];
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// A crate with modules `a`, `b` and `c`, which have these texts.
    fn house(root: &str, a: &str, b: &str, c: &str) -> Vec<SourceFile> {
        vec![
            file("crates/x/src/lib.rs", root),
            file("crates/x/src/a.rs", a),
            file("crates/x/src/b/mod.rs", b),
            file("crates/x/src/b/c/inner.rs", c),
            file("crates/y/src/main.rs", "mod a;"),
        ]
    }

    fn found(files: &[SourceFile], known: &[(&str, &[&str])]) -> Vec<String> {
        compare(files, known)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    const ROOT: &str = "mod a;\nmod b;\npub use b::Thing;\n";

    #[test]
    fn arrows_in_one_direction_are_fine() {
        let files = house(
            ROOT,
            "use crate::b::{self, Thing};\n",
            "use std::fmt;\n",
            "use super::super::One;\n",
        );
        assert_eq!(found(&files, &[]), [""; 0]);
    }

    #[test]
    fn a_circle_is_named_with_its_way_round_however_paths_are_written() {
        let ways_to_b = [
            "use crate::b::Thing;",
            "use crate::{fmt, b};",
            "use super::{b::{self, Thing}};",
            "fn f() { super::b::g() }",
            "fn f() -> crate::b::Thing { todo() }",
            "use crate::Thing;",
            "use crate::Thing as Other;",
        ];
        for a in ways_to_b {
            for inner in [
                "use crate::a;",
                "use super::super::super::a::A;",
                "use crate::{x, a::{A, B}};",
            ] {
                let files = house(ROOT, a, "", inner);
                let text = "crates/x/src/a.rs:1: circle: a, b use each other in a circle: \
a uses b at crates/x/src/a.rs:1, b uses a at crates/x/src/b/c/inner.rs:1";
                assert_eq!(found(&files, &[]), [text], "{a} {inner}");
            }
        }
    }

    #[test]
    fn tests_comments_texts_and_other_names_are_no_arrows() {
        let a = "use crate::b::Thing;";
        for b in [
            "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            "// use crate::a;\nconst X: &str = \"crate::a::A\";\n",
            "use std::a::A;\nuse other::{crate_a, a};\n",
            "use super::aa;\nfn f() { x::crate_::a() }\n",
        ] {
            assert_eq!(found(&house(ROOT, a, b, ""), &[]), [""; 0], "{b}");
        }
    }

    #[test]
    fn a_super_that_stays_in_its_module_is_no_arrow() {
        let files = house(ROOT, "use crate::b;", "", "use super::super::a::A;");
        assert_eq!(found(&files, &[]), [""; 0]);
    }

    #[test]
    fn a_known_circle_is_quiet_and_one_that_is_gone_has_to_leave_the_list() {
        let known: &[(&str, &[&str])] = &[("crates/x", &["a", "b"])];
        let files = house(ROOT, "use crate::b;", "use crate::a;", "");
        assert_eq!(found(&files, known), [""; 0]);
        let gone = house(ROOT, "use crate::b;", "", "");
        let text = "xtask/src/tidy/circle.rs:1: circle: crates/x: a, b are no longer such a circle; take it out of the list";
        assert_eq!(found(&gone, known), [text]);
        // One that grew is another.
        let mut grown = house(ROOT, "use crate::b;", "use crate::{a, d};", "");
        grown.push(file("crates/x/src/d.rs", "use crate::a;"));
        assert_eq!(found(&grown, known).len(), 2);
    }

    #[test]
    fn files_of_one_module_for_several_machines_are_one() {
        let files = vec![
            file("crates/x/src/lib.rs", "mod a;\nmod b;"),
            file("crates/x/src/a.rs", "use crate::b;"),
            file("crates/x/src/a_x86.rs", ""),
            file("crates/x/src/b_other.rs", "use crate::a;"),
        ];
        assert_eq!(found(&files, &[]).len(), 1);
    }
}
