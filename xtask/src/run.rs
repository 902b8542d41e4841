//! Runs other programs: shown, checked, and their output kept where it is needed.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// A command that is printed before it runs and whose failure is an error.
pub(crate) struct Run {
    command: Command,
}

impl Run {
    /// Runs `program`, found on the path.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Run {
            command: Command::new(program),
        }
    }

    /// Runs the cargo that runs us.
    pub(crate) fn cargo() -> Self {
        Run::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Runs in another folder.
    pub(crate) fn current_dir(mut self, path: &std::path::Path) -> Self {
        self.command.current_dir(path);
        self
    }

    /// The command as a person would type it.
    pub(crate) fn line(&self) -> String {
        let program = std::path::Path::new(self.command.get_program());
        let mut words = vec![
            program
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        ];
        words.extend(self.command.get_args().map(|arg| {
            let arg = arg.to_string_lossy();
            if arg.contains(' ') {
                format!("\"{arg}\"")
            } else {
                arg.into_owned()
            }
        }));
        words.join(" ")
    }

    /// Runs to the end with our terminal.
    pub(crate) fn show(mut self) -> Result<()> {
        let status = self
            .command
            .status()
            .map_err(|source| self.not_started(source))?;
        if status.success() {
            Ok(())
        } else {
            Err(self.failed(status, String::new()))
        }
    }

    /// Runs to the end and returns what it printed; its stderr goes into the error.
    pub(crate) fn read(mut self) -> Result<String> {
        let output = self
            .command
            .stdin(Stdio::null())
            .output()
            .map_err(|source| self.not_started(source))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(self.failed(output.status, format!("\n{}", text.trim_end())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs to the end, returns what it printed, and lets its stderr through.
    pub(crate) fn read_stdout(mut self) -> Result<String> {
        let output = self
            .command
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| self.not_started(source))?;
        if !output.status.success() {
            return Err(self.failed(output.status, String::new()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs to the end, showing its output and handing each line of stdout to `each`.
    pub(crate) fn tee(mut self, mut each: impl FnMut(&str)) -> Result<()> {
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| self.not_started(source))?;
        let stdout = child.stdout.take().expect("stdout was piped");
        for line in BufReader::new(stdout)
            .split(b'\n')
            .map_while(std::io::Result::ok)
        {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            each(&line);
        }
        let status = child.wait().map_err(|source| self.not_started(source))?;
        if status.success() {
            Ok(())
        } else {
            Err(self.failed(status, String::new()))
        }
    }

    fn not_started(&self, source: std::io::Error) -> Error {
        Error::Start {
            program: self.command.get_program().to_string_lossy().into_owned(),
            source,
        }
    }

    fn failed(&self, status: std::process::ExitStatus, output: String) -> Error {
        Error::Failed {
            command: self.line(),
            status,
            output,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_returned_and_failure_carries_the_command_and_what_it_said() {
        assert_eq!(
            Run::new("sh")
                .args(["-c", "echo hello"])
                .read()
                .expect("it runs"),
            "hello\n"
        );
        let error = Run::new("sh")
            .args(["-c", "echo why >&2; exit 3"])
            .read()
            .expect_err("it fails");
        let text = error.to_string();
        assert!(
            text.contains("sh -c \"echo why >&2; exit 3\"") && text.ends_with("why"),
            "{text}"
        );
        let error = Run::new("no-such-program-anywhere")
            .read()
            .expect_err("it is not there");
        assert!(
            matches!(error, Error::Start { program, .. } if program == "no-such-program-anywhere")
        );
    }

    #[test]
    fn tee_hands_over_every_line() {
        let mut lines = Vec::new();
        Run::new("sh")
            .args(["-c", "echo a; echo b"])
            .tee(|line| lines.push(line.to_owned()))
            .expect("it runs");
        assert_eq!(lines, ["a", "b"]);
    }
}
