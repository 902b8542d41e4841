//! Where the lines of a conversation come from: a terminal, with editing and a history, or a pipe.

use super::command::{beginning_with, is_complete};
use anyhow::{Context as _, Result};
use rustyline::{
    Behavior, Config, Context, Editor, Helper,
    completion::Completer,
    error::ReadlineError,
    highlight::Highlighter,
    hint::Hinter,
    history::DefaultHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};
use std::{
    fs::{self, OpenOptions},
    io::{self, BufRead, IsTerminal},
    path::{Path, PathBuf},
};

/// Messages that the history keeps.
const KEPT: usize = 1000;
/// The longest message, in bytes.
const LONGEST: usize = 64 << 20;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A message or a command, maybe of several lines.
    Text(String),
    /// Nothing more.
    End,
    /// Ctrl-C at the prompt.
    Interrupted,
}

/// Whether messages are kept for later conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum History {
    Kept,
    Forgotten,
}

/// A source of lines.
pub(super) enum Input {
    Terminal {
        editor: Box<Editor<Rules, DefaultHistory>>,
        /// Where the history is kept.
        file: Option<PathBuf>,
    },
    Pipe,
}

/// What the editor knows of conversations.
pub(super) struct Rules;

impl Helper for Rules {}
impl Highlighter for Rules {}
impl Hinter for Rules {
    type Hint = String;
}

impl Completer for Rules {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let start = line.get(..at).unwrap_or(line);
        Ok((
            0,
            match start.starts_with('/') {
                true => beginning_with(start),
                false => Vec::new(),
            },
        ))
    }
}

impl Validator for Rules {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Input {
    /// Standard input, as what it is.
    pub(super) fn open(history: History) -> Result<Input> {
        if !io::stdin().is_terminal() {
            return Ok(Input::Pipe);
        }
        // Answers may go elsewhere: lines are edited on the terminal itself.
        let config = Config::builder()
            .behavior(Behavior::PreferTerm)
            .max_history_size(KEPT)
            .and_then(|config| config.history_ignore_dups(true))
            .context("cannot edit lines")?
            .build();
        let mut editor = Editor::with_config(config).context("cannot edit lines")?;
        editor.set_helper(Some(Rules));
        let file = match history {
            History::Kept => history_file().filter(|file| private(file).is_ok()),
            History::Forgotten => None,
        };
        if let Some(file) = &file {
            // One that cannot be read is no reason not to talk.
            let _ = editor.load_history(file);
        }
        let editor = Box::new(editor);
        Ok(Input::Terminal { editor, file })
    }

    /// Whether somebody sits at the other end.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Input::Terminal { .. })
    }

    /// Waits for the next message.
    pub(super) fn next(&mut self) -> Result<Next> {
        match self {
            Input::Terminal { editor, file } => match editor.readline("> ") {
                Ok(text) => {
                    let known =
                        text.trim().is_empty() || !editor.add_history_entry(text.as_str())?;
                    if let (false, Some(file)) = (known, file) {
                        // That it cannot be kept is no reason not to answer.
                        let _ = editor.append_history(file);
                    }
                    Ok(Next::Text(text))
                }
                Err(ReadlineError::Interrupted) => Ok(Next::Interrupted),
                Err(ReadlineError::Eof) => Ok(Next::End),
                Err(error) => Err(error).context("cannot read from the terminal"),
            },
            Input::Pipe => piped(&mut io::stdin().lock()),
        }
    }
}

/// The next message of a pipe: a line, or several that belong together.
fn piped(input: &mut impl BufRead) -> Result<Next> {
    let mut text = String::new();
    loop {
        let before = text.len();
        let more = io::Read::take(&mut *input, (LONGEST - before) as u64)
            .read_line(&mut text)
            .context("cannot read standard input")?;
        if more == 0 && before == LONGEST {
            anyhow::bail!("a message of more than {LONGEST} bytes");
        }
        match (more, text.is_empty()) {
            (0, true) => return Ok(Next::End),
            (0, false) => return Ok(Next::Text(text)),
            _ if text.ends_with('\n') && is_complete(&text) => return Ok(Next::Text(text)),
            _ => {}
        }
    }
}

/// The file of the history: in the user's folder for states of programs.
fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = folder("XDG_STATE_HOME")
        .filter(absolute)
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| Some(folder("HOME")?.join(".local").join("state")))?;
    Some(base.join("warpsmith").join("chat_history"))
}

/// Has a file that only its owner reads.
fn private(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let opened = options.open(file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        opened.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    drop(opened);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Next, piped};

    #[test]
    fn a_pipe_gives_a_message_a_line_and_lines_that_belong_together() {
        let mut input = &b"one\n\ntwo\\\nthree\r\n\"\"\"\n/quit\nfour\n\"\"\"\nfive"[..];
        let mut found = Vec::new();
        while let Next::Text(text) = piped(&mut input).expect("lines") {
            found.push(text);
        }
        assert_eq!(
            found,
            [
                "one\n",
                "\n",
                "two\\\nthree\r\n",
                "\"\"\"\n/quit\nfour\n\"\"\"\n",
                "five"
            ]
        );
        assert!(piped(&mut &b"\xff\n"[..]).is_err());
    }
}
