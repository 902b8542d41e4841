//! What can go wrong in automation.

use std::path::{Path, PathBuf};

/// The result of any task.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The file system refused.
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A program is not there.
    #[error("cannot start `{program}`: {source}")]
    Start {
        program: String,
        source: std::io::Error,
    },
    /// A program ran and failed.
    #[error("`{command}` failed: {status}{output}")]
    Failed {
        command: String,
        status: std::process::ExitStatus,
        output: String,
    },
    /// A program printed something else than expected.
    #[error("`{command}` printed {found}, expected {expected}")]
    Output {
        command: String,
        expected: &'static str,
        found: String,
    },
    /// Neither pip nor a way to have it.
    #[error("no pip: tried {}; install Python 3 with pip or venv, or name one in PYTHON", tried.join(", "))]
    NoPip { tried: Vec<String> },
    /// A download is not what was pinned.
    #[error("{what}: expected sha256 {expected}, found {found}")]
    Sha256 {
        what: String,
        expected: String,
        found: String,
    },
    /// A path given in an environment variable is not usable.
    #[error("{variable}: no file at {path}")]
    Override {
        variable: &'static str,
        path: PathBuf,
    },
    /// Neither XDG_CACHE_HOME nor HOME says where caches go.
    #[error("no cache folder: set XDG_CACHE_HOME or HOME to an absolute path")]
    NoCache,
    /// This machine cannot do it.
    #[error("unsupported: {what}")]
    Unsupported { what: String },
    /// A program of this workspace that is not written.
    #[error("the workspace has no program `{name}` to build{note}")]
    NoProgram { name: &'static str, note: String },
    /// A program does not fit where it must go.
    #[error("{path} has {bytes} bytes, at most {most}")]
    TooLarge {
        path: PathBuf,
        bytes: u64,
        most: u64,
    },
    /// The rules of the house are broken.
    #[error("tidy: {count} violation{}", if *count == 1 { "" } else { "s" })]
    Untidy { count: usize },
    /// A step of `cargo xtask test` failed.
    #[error("step `{step}` failed: {source}")]
    Step {
        step: &'static str,
        source: Box<Error>,
    },
}

impl Error {
    /// Says which path an I/O error is about.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    }
}
