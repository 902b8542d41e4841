//! Programs of others under `warpsmith exec`, unmodified, from pip: tinygrad and Numba; programs of CUDA C++ that are linked
//! with the runtime; and what is found in programs with a fault, one in Rust among them.
//!
//! `cargo xtask test` installs what they need into `.tools/cuda-clients` and `.tools/cuda-compiler`; WARPSMITH_CUDA_CLIENTS names
//! another environment of Python. Of the suite's programs and faults a few run; WARPSMITH_CUDA_PROGRAMS and
//! WARPSMITH_CUDA_FAULTS let all run.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The Python with the packages; `None`, with a word to whoever reads it, where they were not installed.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/cuda-clients");
    let folder = std::env::var_os("WARPSMITH_CUDA_CLIENTS").map_or(own, PathBuf::from);
    let python = folder.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    assert!(
        std::env::var_os("WARPSMITH_CUDA_CLIENTS").is_none(),
        "no Python at {}",
        python.display()
    );
    eprintln!(
        "skipped: no {}; `cargo xtask test` makes it",
        python.display()
    );
    None
}

/// What a run left.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

fn exec(python: &Path, options: &[&str], script: &str, args: &[&str], device: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cuda_clients")
        .join(script);
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["exec", "--sm", "80"])
        .args(options)
        .arg("--")
        .arg(python)
        .args(["-W", "ignore"])
        .arg(script)
        .args(args)
        .env("DEV", device)
        .output()
        .expect("it starts");
    Ran {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn tinygrad_computes_what_numpy_does_by_either_of_its_compilers() {
    let Some(python) = python() else {
        return;
    };
    for device in ["CUDA", "CUDA:PTX"] {
        let ran = exec(&python, &[], "tinygrad_ops.py", &[], device);
        assert_eq!(ran.status, Some(0), "{device}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("tinygrad 13 right"), "{}", ran.out);
    }
}

#[test]
fn tinygrad_has_no_findings() {
    let Some(python) = python() else {
        return;
    };
    // What is not freed when the interpreter ends is not looked at.
    let kinds = "--check=oob_global,oob_shared,race_shared,race_global,uninit_shared,barrier_divergence,use_after_free";
    let ran = exec(&python, &[kinds], "tinygrad_ops.py", &[], "CUDA");
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn numba_computes_what_numpy_does() {
    let Some(python) = python() else {
        return;
    };
    let ran = exec(&python, &[], "numba_kernels.py", &[], "");
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("numba right"), "{}", ran.out);
}

#[test]
fn a_fault_of_a_numba_kernel_is_found_with_who_allocated_and_launched() {
    let Some(python) = python() else {
        return;
    };
    let ran = exec(
        &python,
        &["--check=oob_global"],
        "numba_kernels.py",
        &["beyond"],
        "",
    );
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
    for part in [
        "error[oob_global]",
        "thread (31, 0, 0)",
        "numba_kernels.py:",
        "it was allocated at",
        "launch 1, made at",
    ] {
        assert!(ran.err.contains(part), "{part} in\n{}", ran.err);
    }
}

/// The compiler of CUDA C++ in `.tools/cuda-compiler`; `None` where it was not installed. WARPSMITH_CUDA_COMPILER names another
/// environment with it.
fn compiler() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/cuda-compiler");
    let named = std::env::var_os("WARPSMITH_CUDA_COMPILER");
    let folder = named.as_ref().map_or(own, PathBuf::from).join("lib");
    let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut found = inside.map(|entry| entry.path().join("site-packages/nvidia/cu13"));
    let found = found.find(|path| path.join("bin/nvcc").exists());
    assert!(
        found.is_some() || named.is_none(),
        "no nvcc in {}",
        folder.display()
    );
    if found.is_none() {
        eprintln!("skipped: no nvcc; `cargo xtask test` installs it");
    }
    found
}

/// Compiles a program of the suite, linked with the runtime as a library.
fn compile(cu13: &Path, source: &Path, out: &Path) {
    let text = fs::read_to_string(source).expect("a program");
    let options = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// nvcc: "));
    let output = Command::new(cu13.join("bin/nvcc"))
        .current_dir(source.parent().expect("a folder"))
        .args([
            "-cudart",
            "shared",
            "-lineinfo",
            "-g",
            "-arch=compute_80",
            "-L",
        ])
        .arg(out.parent().expect("a folder"))
        .args(options.into_iter().flat_map(str::split_whitespace))
        .arg("-o")
        .arg(out)
        .arg(source)
        .output()
        .expect("the compiler starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", source.display());
}

/// A folder for programs, where the linker finds the runtime.
fn folder_for_programs(cu13: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = cu13.join("lib/libcudart.so.13");
    std::os::unix::fs::symlink(runtime, folder.path().join("libcudart.so")).expect("a link");
    folder
}

/// Files of a folder of the suite's cases: those that are named, or all of them, where a variable asks for all.
fn cases(folder: &str, some: &[&str], variable: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../suite/cases")
        .join(folder);
    if std::env::var_os(variable).is_none() {
        return some.iter().map(|name| folder.join(name)).collect();
    }
    let all = fs::read_dir(&folder).expect("the suite's cases").flatten();
    let mut all: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
    let is_program = |path: &PathBuf| {
        let named = |ending: &str| path.extension().is_some_and(|found| found == ending);
        // The other file of a program is compiled with it.
        !path.ends_with("linked_part.cu") && (named("cu") || named("py"))
    };
    all.retain(is_program);
    all.sort();
    all
}

/// Runs `one` for each, two at a time.
fn by_two(all: &[PathBuf], one: impl Fn(&Path) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let at = || next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                while let Some(path) = all.get(at()) {
                    one(path);
                }
            });
        }
    });
}

#[test]
fn programs_linked_with_the_runtime_are_right_and_have_no_findings() {
    let Some(cu13) = compiler() else {
        return;
    };
    let folder = folder_for_programs(&cu13);
    let some = ["graphs.cu", "managed.cu", "linked.cu"];
    by_two(
        &cases("runtime", &some, "WARPSMITH_CUDA_PROGRAMS"),
        |source| {
            let name = source.file_stem().expect("a name");
            let program = folder.path().join(name);
            compile(&cu13, source, &program);
            for options in [&[][..], &["--check"]] {
                let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
                    .args(["exec", "--memory", "256M"])
                    .args(options)
                    .arg("--")
                    .arg(&program)
                    .output()
                    .expect("it starts");
                let out = String::from_utf8_lossy(&output.stdout);
                let err = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{name:?} {options:?}: {out}{err}");
                assert!(out.ends_with("right\n"), "{name:?} {options:?}: {out}{err}");
            }
        },
    );
}

/// The kinds and lines that a program names behind `finds:`.
fn wanted(source: &Path) -> Vec<(String, usize)> {
    let text = fs::read_to_string(source).expect("a program");
    let lines = text.lines().zip(1..);
    let named = lines.filter_map(|(line, number)| Some((line.split_once("finds: ")?.1, number)));
    let kinds = named.flat_map(|(kinds, number)| {
        let kinds = kinds.split_whitespace();
        kinds.map(move |kind| (kind.to_owned(), number))
    });
    kinds.collect()
}

/// What is found in a program: kinds, and all that names a line.
fn found(
    program: &Path,
    runner: Option<&Path>,
    args: &[&str],
    report: &Path,
) -> Vec<(String, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command.args([
        "exec", "--check", "--sm", "80", "--memory", "256M", "--format", "json",
    ]);
    command.arg("--report").arg(report).arg("--");
    if let Some(python) = runner {
        command.arg(python).args(["-B", "-W", "ignore"]);
    }
    let output = command.arg(program).args(args).output();
    let output = output.expect("it starts");
    let err = String::from_utf8_lossy(&output.stderr);
    let text = fs::read_to_string(report).unwrap_or_else(|error| panic!("{error}: {err}"));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let mut all = Vec::new();
    gather(&json, &mut all);
    assert!(
        !args.contains(&"clean") || output.status.success(),
        "{}: {all:?}{err}",
        program.display()
    );
    all
}

fn gather(json: &Value, all: &mut Vec<(String, String)>) {
    match json {
        Value::Object(fields) => {
            if let (Some(kind), true) = (json["kind"].as_str(), json["message"].is_string()) {
                let places = ["source", "other_source", "message"];
                let places = places.map(|name| json[name].as_str().unwrap_or_default());
                // What stands in a header is at a line of the program all the same.
                let inlined = json["inlined"].as_array().into_iter().flatten();
                let all_places = places.into_iter().chain(inlined.filter_map(Value::as_str));
                let text: String = all_places.map(|place| format!("{place}\n")).collect();
                all.push((kind.to_owned(), text));
            }
            fields.values().for_each(|value| gather(value, all));
        }
        Value::Array(values) => values.iter().for_each(|value| gather(value, all)),
        _ => {}
    }
}

/// Whether a line of a file is among places.
fn is_named(places: &str, file: &str, line: usize) -> bool {
    // Not the first digits of a longer number.
    let at = format!("{file}:{line}");
    let mut after = places.split(&at).skip(1);
    after.any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn planted_faults_are_found_at_their_lines_and_their_twins_are_silent() {
    let (Some(python), Some(cu13)) = (python(), compiler()) else {
        return;
    };
    let folder = folder_for_programs(&cu13);
    let some = ["missing_barrier.cu", "leaked.cu", "numba_past_the_end.py"];
    let mut all = cases("exec-faults", &some, "WARPSMITH_CUDA_FAULTS");
    // What several of them share has no fault of its own.
    all.retain(|source| !wanted(source).is_empty());
    assert!(all.len() >= some.len(), "{all:?}");
    by_two(&all, |source| {
        let name = source
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let is_python = name.ends_with(".py");
        let program = if is_python {
            source.to_path_buf()
        } else {
            let program = folder.path().join(source.file_stem().expect("a name"));
            compile(&cu13, source, &program);
            program
        };
        let runner = is_python.then_some(&*python);
        let report = |mode: &str| folder.path().join(format!("{name}.{mode}.json"));
        let wanted = wanted(source);
        let all = found(&program, runner, &["fault"], &report("fault"));
        for (kind, line) in &wanted {
            let hit = all
                .iter()
                .any(|(found, places)| found == kind && is_named(places, &name, *line));
            assert!(hit, "{name}: {kind} at line {line}, not {all:?}");
        }
        let known = |kind: &str| kind == "benign_race" || wanted.iter().any(|(one, _)| one == kind);
        let other = all.iter().find(|(kind, _)| !known(kind));
        assert!(other.is_none(), "{name}: {other:?}");
        let twin = found(&program, runner, &["clean"], &report("clean"));
        let other = twin.iter().find(|(kind, _)| kind != "benign_race");
        assert!(other.is_none(), "{name}, mended: {other:?}");
    });
}

/// A line of the program in Rust that reports of a fault name.
struct Mark {
    fault: String,
    /// `finds`, `allocates` or `launches`.
    what: String,
    kind: String,
    file: &'static str,
    line: usize,
}

fn marks(folder: &Path) -> Vec<Mark> {
    let mut all = Vec::new();
    for file in ["main.rs", "kernels.cu"] {
        let text = fs::read_to_string(folder.join(file)).expect("the program in Rust");
        for (text, line) in text.lines().zip(1..) {
            for comment in text.split("// ").skip(1) {
                let words: Vec<&str> = comment.split_whitespace().collect();
                let (fault, what, kind) = match words[..] {
                    [fault, what @ ("allocates" | "launches")] => (fault, what, ""),
                    [fault, "finds", kind] => (fault, "finds", kind),
                    _ => continue,
                };
                let owned = |text: &str| text.trim_end_matches(':').to_owned();
                all.push(Mark {
                    fault: owned(fault),
                    what: owned(what),
                    kind: owned(kind),
                    file,
                    line,
                });
            }
        }
    }
    all
}

#[test]
fn faults_of_a_program_in_rust_are_found_with_the_lines_that_allocated_and_launched() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/cases/exec-faults/rust");
    let beside = Path::new(env!("CARGO_BIN_EXE_warpsmith")).parent();
    let program = beside.expect("a folder").join("examples/rust-faults");
    assert!(
        program.exists(),
        "no {}: `cargo test --workspace` builds it",
        program.display()
    );
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("found.json");
    let marks = marks(&source);
    let finds: Vec<&Mark> = marks.iter().filter(|mark| mark.what == "finds").collect();
    assert!(finds.len() >= 8, "{}", finds.len());
    for Mark { fault, kind, .. } in finds {
        let all = found(&program, None, &[fault], &report);
        let of_kind = all.iter().filter(|(found, _)| found == kind);
        let places: String = of_kind.map(|(_, places)| places.as_str()).collect();
        for mark in marks.iter().filter(|mark| mark.fault == *fault) {
            let is_there = is_named(&places, mark.file, mark.line);
            assert!(
                is_there,
                "{fault} {} at {}:{}: {all:?}",
                mark.what, mark.file, mark.line
            );
        }
        assert!(all.iter().all(|(found, _)| found == kind), "{all:?}");
        let twin = found(&program, None, &[fault, "clean"], &report);
        assert!(twin.is_empty(), "{fault}, mended: {twin:?}");
    }
}
