//! Misuses of the language do not compile: each file of `misuse/` fails on its marked lines with the marked codes, and on
//! no other; with `--cfg fixed`, which takes the misuse out, it compiles.

use serde_json::Value;
use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A line and the code of its error.
type Marks = BTreeSet<(u64, String)>;

/// How many misuses the language must refuse.
const MISUSES: usize = 23;

fn json_lines(bytes: &[u8]) -> impl Iterator<Item = Value> {
    String::from_utf8_lossy(bytes)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect::<Vec<Value>>()
        .into_iter()
}

/// This crate as a compiled interface: the newest library of it beside this test, which cannot be older than the sources
/// that the test itself was built with.
fn interface() -> PathBuf {
    let own = env::current_exe().expect("the path of this test");
    let folder = own.parent().expect("the folder of a test");
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libwarpsmith_kernel-") && name.ends_with(".rlib")
    };
    let all = fs::read_dir(folder).expect("the folder of a test");
    all.map(|entry| entry.expect("an entry").path())
        .filter(named)
        .max_by_key(|path| {
            let data = fs::metadata(path).expect("a library");
            data.modified().expect("a time")
        })
        .expect("this crate as a library, which the test is linked to")
}

fn compile(file: &Path, interface: &Path, flags: &[&str]) -> Output {
    let mut this_crate = OsString::from("warpsmith_kernel=");
    this_crate.push(interface);
    let mut below = OsString::from("dependency=");
    below.push(interface.parent().expect("the folder of an interface"));
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata"])
        .args(["--error-format=json", "--check-cfg=cfg(fixed)"])
        .args(flags)
        .arg("--extern")
        .arg(this_crate)
        .arg("-L")
        .arg(below)
        .arg("--out-dir")
        .arg(env!("CARGO_TARGET_TMPDIR"))
        .arg(file)
        .output()
        .expect("rustc")
}

/// The line of a span in the misuse itself: what a macro of this crate wrote is where the macro is called.
fn line(mut span: &Value) -> u64 {
    while span["expansion"].is_object()
        && !span["file_name"]
            .as_str()
            .is_some_and(|name| name.contains("misuse"))
    {
        span = &span["expansion"]["span"];
    }
    span["line_start"].as_u64().unwrap_or(0)
}

/// Where the compiler found errors, and which.
fn errors(output: &Output) -> Marks {
    let mut found = Marks::new();
    for message in json_lines(&output.stderr).filter(|message| message["level"] == "error") {
        let code = message["code"]["code"].as_str().unwrap_or("none");
        for span in message["spans"].as_array().into_iter().flatten() {
            if span["is_primary"] == true {
                found.insert((line(span), code.to_owned()));
            }
        }
    }
    found
}

/// The first line of each error.
fn said(output: &Output) -> BTreeSet<String> {
    json_lines(&output.stderr)
        .filter(|message| {
            message["level"] == "error" && !message["spans"].as_array().is_none_or(Vec::is_empty)
        })
        .filter_map(|message| {
            message["message"]
                .as_str()?
                .lines()
                .next()
                .map(str::to_owned)
        })
        .collect()
}

/// What a file's lines `// says:` hold.
fn says(text: &str) -> BTreeSet<String> {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("// says: "));
    lines.map(str::to_owned).collect()
}

/// The lines of `text` that end in `//~ CODE`, or in several codes.
fn marks(text: &str) -> Marks {
    let marked = text.lines().zip(1..).filter_map(|(line, at)| {
        let (_, codes) = line.split_once("//~ ")?;
        Some(
            codes
                .split_whitespace()
                .map(move |code| (at, code.to_owned())),
        )
    });
    marked.flatten().collect()
}

#[test]
fn each_misuse_fails_where_it_stands_and_compiles_once_it_is_gone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misuse");
    let interface = interface();
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of misuses")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name != "prelude.rs"))
        .collect();
    files.sort();
    assert_eq!(files.len(), MISUSES);
    let mut problems = Vec::new();
    for file in &files {
        let name = file.display();
        let text = fs::read_to_string(file).expect("a misuse");
        let want = marks(&text);
        assert!(!want.is_empty(), "{name} has no mark");
        let misused = compile(file, &interface, &[]);
        let found = errors(&misused);
        if found != want || misused.status.success() {
            problems.push(format!("{name}: errors {found:?}, expected {want:?}"));
        }
        let (heard, told) = (said(&misused), says(&text));
        if heard != told {
            problems.push(format!("{name} says {heard:#?}, expected {told:#?}"));
        }
        let fixed = compile(file, &interface, &["--cfg=fixed"]);
        if !fixed.status.success() {
            let said = errors(&fixed);
            problems.push(format!("{name} without the misuse: errors {said:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
