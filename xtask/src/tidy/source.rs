//! Rules on Rust files: module docs, length, names, banners, unfinished code, `unsafe`, the outside world.

use super::lex::{self, Line, has_word};
use super::{SourceFile, Violation};

/// The most lines of a file that is not a table.
const LONGEST: usize = 600;

/// Files that are one long table, and what of.
const TABLES: &[(&str, &str)] = &[
    (
        "crates/vgpu/tests/alu.rs",
        "one reference for each instruction",
    ),
    ("crates/ptx/tests/verify.rs", "one case for each refusal"),
];

/// The only files, and folders (ending in `/`), where `unsafe` may stand, and why.
const UNSAFE: &[(&str, &str)] = &[
    (
        "suite/cases/exec-faults/rust/main.rs",
        "a program over a crate whose launches are unsafe",
    ),
    (
        "crates/vgpu/src/memory/raw.rs",
        "touches guest memory, races included",
    ),
    (
        "crates/vgpu/src/op/code_x86.rs",
        "calls handlers compiled for a processor feature",
    ),
    (
        "crates/vgpu/src/op/code_other.rs",
        "the same where there is none to choose",
    ),
    (
        "crates/vgpu/src/memory/",
        "maps the arena, copies and exchanges guest words",
    ),
    (
        "crates/vgpu/src/op/ctx.rs",
        "reads and writes register cells by byte offset",
    ),
    (
        "crates/vgpu/src/op/micro.rs",
        "arguments of handlers as words of an op",
    ),
    (
        "crates/vgpu/src/exec/matrix/transpose_x86.rs",
        "vector intrinsics of 8x8 transposes",
    ),
    (
        "crates/vgpu/src/exec/mma/native_x86.rs",
        "vector intrinsics of matrix fragments",
    ),
    (
        "crates/vgpu/src/exec/mma/wide_x86.rs",
        "the same with AVX-512",
    ),
    (
        "crates/vgpu/src/exec/columns_x86.rs",
        "vector intrinsics of 4x4 transposes",
    ),
    (
        "crates/vgpu/src/op/lane_bits_x86.rs",
        "vector intrinsics that make bits of flags",
    ),
    (
        "crates/vgpu/src/exec/dot_x86.rs",
        "vector intrinsics of byte products",
    ),
    (
        "crates/vgpu/src/exec/halves_x86.rs",
        "vector intrinsics of f16 conversions",
    ),
    (
        "crates/vgpu/src/native/entry.rs",
        "makes compiled code callable",
    ),
    ("crates/x86/tests/decoded.rs", "calls what it has assembled"),
    (
        "crates/vgpu/src/sched/mod.rs",
        "calls the first handler of a block",
    ),
    ("crates/device/src/cuda/", "calls the CUDA driver"),
    ("crates/vcuda/src/abi/", "is a CUDA driver: functions of C"),
    (
        "crates/vcuda/src/host/",
        "holds pointers and functions of the program's",
    ),
    (
        "crates/warpsmith/tests/exec.rs",
        "is a program for the driver, which it loads and calls",
    ),
    (
        "fuzz/src/calls/driver.rs",
        "loads the driver library and calls its functions with what it should refuse",
    ),
    (
        "suite/tests/vcuda/library.rs",
        "loads that driver into its process",
    ),
    (
        "suite/src/gpu/cublas.rs",
        "loads and calls cuBLAS, a peer of the timings",
    ),
];

/// Packages that may print, look at the clock and read the environment.
///
/// The virtual GPU has timers of its own: `%globaltimer`, and the times of events. The server measures, and dates its answers.
/// One warning of a build that is of no use must be seen by those who listen to nothing.
const OUTSIDE: &[&str] = &[
    "crates/server/src/clock.rs",
    "crates/device/src/back/slow.rs",
    "crates/warpsmith/",
    "xtask/",
    "bench/",
    "suite/",
    "fuzz/",
    "crates/vgpu/src/build/moves.rs",
    "crates/vgpu/src/engine.rs",
    "crates/vcuda/src/driver.rs",
    "crates/vcuda/src/report.rs",
];

/// What counts as the outside world.
const OUTSIDE_CODE: &[&str] = &[
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "std::env",
    "env::var",
    "env::var_os",
    "env::args",
    "Instant::now",
    "SystemTime",
];

/// Code that says it is not finished, or a test that does not count.
const UNFINISHED: &[&str] = &[
    "todo!",
    "unimplemented!",
    "dbg!",
    "#[ignore",
    "#[should_panic",
];

/// Beginnings and ends of function names that say nothing.
const FN_PREFIXES: &[&str] = &["get_"];
const FN_SUFFIXES: &[&str] = &["_impl", "_v2", "_optimized", "_async", "_with_stream"];
/// Ends of type names that say nothing.
const TYPE_SUFFIXES: &[&str] = &["Manager", "Helper"];

/// Checks one Rust file.
pub(super) fn check(file: &SourceFile) -> Vec<Violation> {
    let lines = lex::lines(&file.text);
    let mut found = Vec::new();
    if !file.text.starts_with("//!") {
        found.push(file.violation(
            1,
            "module-doc",
            "the first line says the module's job, as `//!`",
        ));
    }
    if lines.len() > LONGEST && !TABLES.iter().any(|(path, _)| *path == file.path) {
        let text = format!(
            "{} lines, at most {LONGEST}; split it, or list it as a table in tidy",
            lines.len()
        );
        found.push(file.violation(LONGEST + 1, "long-file", text));
    }
    let may_be_unsafe = UNSAFE.iter().any(|(path, _)| is_in(&file.path, path));
    let may_look_outside =
        OUTSIDE.iter().any(|path| file.path.starts_with(path)) || is_test_file(&file.path);
    for (index, line) in lines.iter().enumerate() {
        let mut report = |rule, text: String| found.push(file.violation(index + 1, rule, text));
        if let Some(text) = bad_name(&line.code) {
            report("name", text);
        }
        if is_banner(&line.comment) {
            report("banner", format!("no banners: `{}`", line.comment.trim()));
        }
        for word in UNFINISHED.iter().filter(|word| has_word(&line.code, word)) {
            report("unfinished", format!("`{word}` in code"));
        }
        if has_word(&line.code, "unsafe") {
            if !may_be_unsafe {
                report(
                    "unsafe",
                    "`unsafe` outside the files that tidy lists for it".to_owned(),
                );
            } else if needs_reason(&line.code) && !has_reason(&lines, index) {
                report(
                    "safety",
                    "no `// SAFETY:` naming the invariant above it".to_owned(),
                );
            }
        }
        if !may_look_outside && !line.test {
            for word in OUTSIDE_CODE
                .iter()
                .filter(|word| has_word(&line.code, word))
            {
                report(
                    "outside",
                    format!("`{word}`: printing, environment and clock are for the command line"),
                );
            }
        }
    }
    found
}

fn is_in(path: &str, listed: &str) -> bool {
    path == listed || (listed.ends_with('/') && path.starts_with(listed))
}

pub(super) fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| {
        matches!(
            part,
            "tests" | "tests.rs" | "benches" | "examples" | "build.rs"
        )
    })
}

fn bad_name(code: &str) -> Option<String> {
    let name_after = |keyword: &str| {
        let at = code
            .match_indices(keyword)
            .map(|(at, _)| at)
            .find(|&at| !code[..at].ends_with(is_word))?;
        let rest = code[at + keyword.len()..].trim_start();
        Some(&rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())])
    };
    if let Some(name) = name_after("fn ") {
        let prefix = FN_PREFIXES.iter().find(|prefix| name.starts_with(*prefix));
        if let Some(part) = prefix.or(FN_SUFFIXES.iter().find(|suffix| name.ends_with(*suffix))) {
            return Some(format!("`{name}`: no function has `{part}` in its name"));
        }
    }
    for keyword in ["struct ", "enum ", "trait "] {
        if let Some(name) = name_after(keyword)
            && let Some(part) = TYPE_SUFFIXES.iter().find(|suffix| name.ends_with(*suffix))
        {
            return Some(format!("`{name}`: no type is a `{part}`"));
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A comment drawn as a line or a box: a run of rule characters at both ends, or nothing else in it.
fn is_banner(comment: &str) -> bool {
    const RULES: &str = "-=*#~_+─━═▬/";
    let Some(text) = comment.strip_prefix("//") else {
        return false;
    };
    let doc = text.starts_with('!') || (text.starts_with('/') && !text.starts_with("//"));
    let text = if doc { &text[1..] } else { text }.trim();
    let Some(rule) = text.chars().next().filter(|&c| RULES.contains(c)) else {
        return false;
    };
    let head = text.chars().take_while(|&c| c == rule).count();
    let tail = text.chars().rev().take_while(|&c| c == rule).count();
    let only = head == text.chars().count();
    if doc {
        only && head >= 10
    } else {
        (only && head >= 4) || (!only && head >= 2 && tail >= 2)
    }
}

fn needs_reason(code: &str) -> bool {
    ["unsafe {", "unsafe{", "unsafe impl"]
        .iter()
        .any(|form| code.contains(form))
        || code.trim_end().ends_with("unsafe")
}

/// Whether one of the six lines above, or the line itself, gives the reason.
fn has_reason(lines: &[Line], index: usize) -> bool {
    lines[index.saturating_sub(6)..=index]
        .iter()
        .any(|line| line.comment.contains("SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found_in;

    fn found(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        found_in(path, text, check)
    }

    #[test]
    fn a_good_file_has_nothing_wrong() {
        let text = "//! Adds.\n\n/// A sum. See `get_x`.\npub fn add(a: u32) -> u32 {\n    a // todo! is a word here\n}\n";
        assert_eq!(found("crates/ptx/src/add.rs", text), []);
    }

    #[test]
    fn a_module_without_its_sentence_is_seen() {
        assert_eq!(
            found("crates/ptx/src/a.rs", "use x;\n"),
            [(1, "module-doc")]
        );
    }

    #[test]
    fn a_long_file_is_seen_at_the_first_line_too_many() {
        let text = format!("//! Long.\n{}", "\n".repeat(600));
        assert_eq!(found("crates/ptx/src/a.rs", &text), [(601, "long-file")]);
        let text = format!("//! Long.\n{}", "\n".repeat(599));
        assert_eq!(found("crates/ptx/src/a.rs", &text), []);
    }

    #[test]
    fn names_that_say_nothing_are_seen() {
        for code in [
            "fn get_x() {}",
            "pub(crate) fn run_impl<T>() {}",
            "fn copy_async() {}",
            "pub struct CacheManager;",
            "trait KernelHelper {}",
        ] {
            assert_eq!(
                found("a.rs", &format!("//! A.\n{code}\n")),
                [(2, "name")],
                "{code}"
            );
        }
        assert_eq!(
            found(
                "a.rs",
                "//! A.\nfn widget_of() { x.get_mut(); \"fn get_x\"; }\n"
            ),
            []
        );
    }

    #[test]
    fn banners_are_seen_and_tables_and_flags_are_not() {
        for comment in [
            "// ----",
            "// ==== Section ====",
            "// -- Section --",
            "//////////////////",
            "// ── x ──",
        ] {
            assert_eq!(
                found("a.rs", &format!("//! A.\n{comment}\n")),
                [(2, "banner")],
                "{comment}"
            );
        }
        for comment in [
            "// --sm 90 names the target",
            "/// |---|---|",
            "// a -- b",
            "/// # Errors",
            "// **must** hold",
        ] {
            assert_eq!(
                found("a.rs", &format!("//! A.\n{comment}\n")),
                [],
                "{comment}"
            );
        }
    }

    #[test]
    fn unfinished_code_and_tests_that_do_not_count_are_seen() {
        for code in [
            "todo!()",
            "unimplemented!(\"x\")",
            "dbg!(x)",
            "#[ignore = \"slow\"]",
            "#[should_panic]",
        ] {
            assert_eq!(
                found("a.rs", &format!("//! A.\n{code}\n")),
                [(2, "unfinished")],
                "{code}"
            );
        }
    }

    #[test]
    fn unsafe_is_seen_where_it_is_not_listed_and_without_its_reason_where_it_is() {
        assert_eq!(
            found("crates/ptx/src/a.rs", "//! A.\nunsafe { x() }\n"),
            [(2, "unsafe")]
        );
        assert_eq!(
            found("crates/vgpu/src/memory/raw.rs", "//! A.\nunsafe { x() }\n"),
            [(2, "safety")]
        );
        assert_eq!(
            found(
                "crates/device/src/cuda/a.rs",
                "//! A.\n// SAFETY: held by y.\nunsafe { x() }\n"
            ),
            []
        );
        assert_eq!(
            found("crates/ptx/src/a.rs", "//! A.\n#![forbid(unsafe_code)]\n"),
            []
        );
    }

    #[test]
    fn printing_environment_and_clock_are_seen_outside_their_packages_and_tests() {
        for code in [
            "println!(\"x\")",
            "let t = Instant::now();",
            "std::env::var(\"X\")",
            "SystemTime::now()",
        ] {
            let text = format!("//! A.\n{code}\n");
            assert!(
                found("crates/ptx/src/a.rs", &text).contains(&(2, "outside")),
                "{code}"
            );
            assert_eq!(found("crates/warpsmith/src/a.rs", &text), [], "{code}");
            assert_eq!(found("crates/ptx/tests/a.rs", &text), [], "{code}");
        }
        let text = "//! A.\n#[cfg(test)]\nmod tests {\n    fn a() { println!(); }\n}\n";
        assert_eq!(found("crates/ptx/src/a.rs", text), []);
    }
}
