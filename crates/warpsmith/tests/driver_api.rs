//! Programs in C that use the driver API alone, `suite/cases/driver`, under `warpsmith exec`: each computes what it says it
//! does, and nothing is found in it but what it names.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// What the first lines of a sample say behind a word.
fn said<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let heads = text.lines().take_while(|line| line.starts_with("// "));
    let named = heads.filter_map(|line| line.strip_prefix("// ")?.strip_prefix(word));
    named.flat_map(str::split_whitespace).collect()
}

fn exec<'a>(options: impl IntoIterator<Item = &'a str>, command: &mut Command) -> Output {
    let mut whole = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    whole.args(["exec", "--memory", "256M"]).args(options);
    whole.arg("--").arg(command.get_program());
    let output = whole.args(command.get_args()).output();
    output.expect("it starts")
}

/// Compiles a sample, linked with the driver as `exec` lays it out.
fn compile(source: &Path, text: &str, program: &Path) {
    let line = r#"exec cc -std=gnu11 -Wall -Wextra -Werror -o "$1" "$2" -L"$TRITON_LIBCUDA_PATH" -Wl,--as-needed -l:libcuda.so.1 $3"#;
    let mut command = Command::new("sh");
    command
        .args(["-c", line, "sh"])
        .arg(program)
        .arg(source)
        .arg(said(text, "cc: ").join(" "));
    let output = exec([], &mut command);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {err}", source.display());
}

fn run(source: &Path, folder: &Path) {
    let text = fs::read_to_string(source).expect("a sample");
    let name = source.file_stem().expect("a name").to_string_lossy();
    let program = folder.join(&*name);
    compile(source, &text, &program);
    let finds = said(&text, "finds: ");
    // A kernel that is checked goes on behind a fault: what a card would say comes without a check.
    let checks = if finds.is_empty() {
        &[None, Some("--check")][..]
    } else {
        &[None]
    };
    for check in checks.iter().copied() {
        let options = said(&text, "exec: ").into_iter().chain(check);
        let output = exec(options, &mut Command::new(&program));
        let out = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        let shown = format!("{name} {check:?}: {out}{err}");
        let wanted = i32::from(!finds.is_empty());
        assert_eq!(output.status.code(), Some(wanted), "{shown}");
        assert!(out.ends_with("right\n"), "{shown}");
        for kind in &finds {
            assert!(err.contains(&format!("error[{kind}]")), "{shown}");
        }
        assert_eq!(err.matches("error[").count(), finds.len(), "{shown}");
    }
}

#[test]
fn samples_of_the_driver_api_are_right_and_nothing_else_is_found_in_them() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suite/cases/driver");
    let all = fs::read_dir(&cases).expect("the samples").flatten();
    let mut all: Vec<PathBuf> = all.map(|entry| entry.path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    assert!(all.len() >= 30, "{}", all.len());
    let folder = tempfile::tempdir().expect("a folder");
    let halves = all.chunks(all.len().div_ceil(2));
    std::thread::scope(|scope| {
        for half in halves {
            scope.spawn(|| half.iter().for_each(|source| run(source, folder.path())));
        }
    });
}
