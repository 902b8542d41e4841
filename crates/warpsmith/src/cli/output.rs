//! Standard output and standard error: a reader that goes away is no error, and an error is one line.

use super::interrupt;
use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::{
    fmt, fs,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Nobody reads standard output any more.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output is closed")
    }
}

impl std::error::Error for Closed {}

/// Whether `error` says no more than that the reader of standard output went away.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    error.is::<Closed>()
}

/// Writes to standard output at once.
pub(crate) fn print(text: &str) -> Result<()> {
    let _whole = interrupt::hold();
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        Err(error) => Err(anyhow!(error).context("cannot write to standard output")),
    }
}

/// Writes a value as indented JSON to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Whether only errors and warnings go to standard error.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on notes and bars are left out.
pub(crate) fn be_quiet() {
    QUIET.store(true, Relaxed);
}

/// Writes a line to standard error, unless nobody wants to know; that it cannot be written has nowhere to be said.
pub(crate) fn note(line: &str) {
    if !QUIET.load(Relaxed) {
        warn(line);
    }
}

/// Writes a line to standard error that is wanted in any case: what is wrong.
pub(crate) fn warn(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Makes a folder if there is none, and sees that files can be made in it.
pub(crate) fn writable(folder: &Path) -> Result<()> {
    let named = || {
        format!(
            "cannot write to {}",
            printable(&folder.display().to_string())
        )
    };
    fs::create_dir_all(folder).with_context(named)?;
    tempfile::tempfile_in(folder).map(drop).with_context(named)
}

/// An error and its causes in one line; a cause that the text before it already contains is not repeated.
pub(crate) fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = printable(&cause.to_string());
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// Text from a file, with what would move a terminal's cursor escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// What a bar counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Bytes.
    Bytes,
    /// Tokens.
    Tokens,
    /// Seconds of sound.
    Seconds,
}

/// A bar on standard error, hidden where that is no terminal.
pub(crate) fn bar(what: &'static str, total: u64, unit: Unit) -> ProgressBar {
    let target = if io::stderr().is_terminal() && !QUIET.load(Relaxed) {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let template = match unit {
        Unit::Bytes => "{msg} {wide_bar} {bytes}/{total_bytes}",
        Unit::Tokens => "{msg} {wide_bar} {pos}/{len} tokens",
        Unit::Seconds => "{msg} {wide_bar} {pos}/{len} s of sound",
    };
    let bar = ProgressBar::with_draw_target(Some(total), target).with_message(what);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Bytes in the unit that fits: `1.5 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_and_says_nothing_twice() {
        let cause = io::Error::other("no such\nthing");
        let error = anyhow!(cause)
            .context("reading x: no such\nthing")
            .context("loading");
        assert_eq!(one_line(&error), "loading: reading x: no such\\nthing");
    }

    #[test]
    fn bytes_are_shown_in_the_unit_that_fits() {
        for (n, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (u64::MAX, "16384.0 PiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }
}
