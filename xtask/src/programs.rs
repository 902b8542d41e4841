//! Runs the test programs of the workspace as `cargo test` does, but two at a time: while one has a single slow test left,
//! the other has the cores.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::house::each;
use crate::run::Run;

/// How many run at once.
const LANES: usize = 2;

/// One test program.
struct Program {
    /// As cargo names it: the file with its tests.
    source: String,
    path: PathBuf,
    /// The folder of its package, where it runs.
    folder: PathBuf,
}

/// Builds the tests that `build` names (a `cargo test` command) and runs them with `places` in their environment. Stops to
/// start new ones at the first that fails. `each_line` gets every line of what they print.
pub(crate) fn test(
    build: Run,
    places: &[(&'static str, PathBuf)],
    mut each_line: impl FnMut(&str) + Send,
) -> Result<()> {
    let build = build.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    let programs = programs(&build.read_stdout()?);
    println!("{} test programs, {LANES} at a time", programs.len());
    let waiting = Mutex::new(VecDeque::from(programs));
    let shown = Mutex::new((&mut each_line, Ok(())));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(program) = next(&waiting) {
                    let ended = program.run(places);
                    let mut shown = lock(&shown);
                    let ended = ended.and_then(|(status, text)| {
                        println!(
                            "     Running {} ({})",
                            program.source,
                            program.path.display()
                        );
                        for line in text.lines() {
                            println!("{line}");
                            (shown.0)(line);
                        }
                        program.judged(status)
                    });
                    if ended.is_err() {
                        lock(&waiting).clear();
                        shown.1 = ended;
                    }
                }
            });
        }
    });
    shown.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

fn next(waiting: &Mutex<VecDeque<Program>>) -> Option<Program> {
    lock(waiting).pop_front()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The test programs that cargo's messages tell of, in its order.
fn programs(messages: &str) -> Vec<Program> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| program(&message)).collect()
}

fn program(message: &Value) -> Option<Program> {
    if message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let source = Path::new(message["target"]["src_path"].as_str()?);
    let shown = source.strip_prefix(folder.parent()?).unwrap_or(source);
    let of_tests = each(&message["target"]["kind"]).any(|kind| kind == "test");
    let unit = if of_tests { "" } else { "unittests " };
    Some(Program {
        source: format!("{unit}{}", shown.display()),
        path,
        folder: folder.to_owned(),
    })
}

impl Program {
    /// Its status, and what it printed.
    fn run(&self, places: &[(&'static str, PathBuf)]) -> Result<(ExitStatus, String)> {
        let start = |source| Error::Start {
            program: self.path.display().to_string(),
            source,
        };
        let (mut reader, writer) = std::io::pipe().map_err(start)?;
        let mut child = {
            let mut command = Command::new(&self.path);
            command
                .current_dir(&self.folder)
                .env("CARGO_MANIFEST_DIR", &self.folder)
                .envs(places.iter().map(|(key, path)| (key, path)))
                .stdin(std::process::Stdio::null())
                .stdout(writer.try_clone().map_err(start)?)
                .stderr(writer);
            command.spawn().map_err(start)?
        };
        let mut text = Vec::new();
        reader.read_to_end(&mut text).map_err(start)?;
        let status = child.wait().map_err(start)?;
        Ok((status, String::from_utf8_lossy(&text).into_owned()))
    }

    fn judged(&self, status: ExitStatus) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed {
            command: format!("{} ({})", self.source, self.path.display()),
            status,
            output: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargos_messages() {
        let text = r#"{"reason":"compiler-artifact","manifest_path":"/h/crates/ptx/Cargo.toml","target":{"kind":["lib"],"src_path":"/h/crates/ptx/src/lib.rs"},"profile":{"test":true},"executable":"/t/ptx-1"}
{"reason":"compiler-artifact","manifest_path":"/h/suite/Cargo.toml","target":{"kind":["test"],"src_path":"/h/suite/tests/cuda/main.rs"},"profile":{"test":true},"executable":"/t/cuda-1"}
{"reason":"compiler-artifact","manifest_path":"/h/crates/ptx/Cargo.toml","target":{"kind":["lib"],"src_path":"/h/crates/ptx/src/lib.rs"},"profile":{"test":false},"executable":null}
{"reason":"build-finished","success":true}"#;
        let found: Vec<(String, PathBuf)> = programs(text)
            .into_iter()
            .map(|program| (program.source, program.folder))
            .collect();
        assert_eq!(
            found,
            [
                (
                    "unittests ptx/src/lib.rs".to_owned(),
                    PathBuf::from("/h/crates/ptx")
                ),
                (
                    "suite/tests/cuda/main.rs".to_owned(),
                    PathBuf::from("/h/suite")
                ),
            ]
        );
    }

    fn shell(script: &str) -> Program {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("xtask-programs-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, executable).expect("executable");
        }
        Program {
            source: "shell".to_owned(),
            path,
            folder,
        }
    }

    #[test]
    fn a_program_runs_in_its_folder_with_the_places_and_its_failure_names_it() {
        let places = [("PLACE", PathBuf::from("/there"))];
        let program =
            shell("echo $PLACE; echo said >&2; test \"$PWD\" = \"$CARGO_MANIFEST_DIR\" && exit 3");
        let (status, text) = program.run(&places).expect("it runs");
        assert_eq!(text, "/there\nsaid\n");
        let error = program.judged(status).expect_err("it fails");
        assert!(error.to_string().contains("`shell ("), "{error}");
    }
}
