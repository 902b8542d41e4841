//! Runs the program on the synthetic reference models.

use serde_json::Value;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What a run of the program left.
pub(crate) struct Run {
    /// Exit status.
    pub(crate) status: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

/// Runs `warpsmith` on the virtual GPU's machine with nothing on standard input.
pub(crate) fn warpsmith(args: &[&str]) -> Run {
    warpsmith_with(args, "")
}

/// Runs `warpsmith` with `input` on standard input.
pub(crate) fn warpsmith_with(args: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    // a program that failed early reads nothing
    let _ = stdin.write_all(input.as_ref());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    Run {
        status: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

impl Run {
    /// Standard output of a run that went well.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.status, 0, "{}", self.err);
        self.out
    }

    /// The one JSON value on standard output.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).expect("one JSON value")
    }
}

/// A file of the reference data.
pub(crate) fn reference(file: &str) -> PathBuf {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference"
    ))
    .join(file)
}

/// The path of a synthetic model.
pub(crate) fn model(name: &str) -> String {
    reference(&format!("synth/{name}.gguf"))
        .display()
        .to_string()
}
