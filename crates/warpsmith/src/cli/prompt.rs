//! Prompts: from the command line, a file, messages or standard input, to token ids.

use super::{Cli, files::Files, open::Opened, output::printable};
use anyhow::{Context, Result, bail};
use clap::{Args, CommandFactory, error::ErrorKind};
use std::{
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};
use warpsmith::{
    formats::input,
    models::{
        chat::{GenerationPrompt, Message},
        tokenizer::Special,
    },
};

/// The longest prompt that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// Where the prompt comes from and how it is meant.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prompt")]
pub(crate) struct PromptArgs {
    /// The prompt; without any source it is read from standard input, less one line break at its end.
    #[arg(value_name = "PROMPT", group = "source")]
    prompt: Option<String>,
    /// The prompt is this file, as it is to the last byte.
    #[arg(long, short = 'f', value_name = "F", group = "source")]
    prompt_file: Option<PathBuf>,
    /// The prompt is a conversation: a JSON list of {"role": ..., "content": ...}.
    #[arg(long, value_name = "FILE.json", group = "source")]
    messages: Option<PathBuf>,
    /// The prompt is text to go on with; control tokens in it count. Default for models without a chat template.
    #[arg(long, conflicts_with_all = ["chat", "messages", "system"])]
    raw: bool,
    /// The prompt is what a user says to the model. Default for models with a chat template.
    #[arg(long)]
    chat: bool,
    /// What the system message says.
    #[arg(long, value_name = "S", conflicts_with = "messages")]
    system: Option<String>,
}

/// A prompt as given.
#[derive(Debug)]
pub(crate) enum Prompt {
    /// Text, as the options or the model decide.
    Text(String),
    /// A conversation.
    Messages(Vec<Message>),
}

impl PromptArgs {
    /// The files that are read.
    ///
    /// # Errors
    /// A file that is written.
    pub(crate) fn files(&self, files: &mut Files) -> Result<()> {
        let given = [
            ("--prompt-file", &self.prompt_file),
            ("--messages", &self.messages),
        ];
        given.iter().try_for_each(|(what, path)| match path {
            Some(path) => files.reads(what, path),
            None => Ok(()),
        })
    }

    /// Reads the prompt; nothing of the model is needed for that.
    pub(crate) fn read(&self) -> Result<Prompt> {
        if let Some(path) = &self.messages {
            let messages: Vec<Message> = serde_json::from_str(&read_file(path)?)
                .with_context(|| format!("{}: expected a list of {{role, content}}", name(path)))?;
            if messages.is_empty() {
                bail!("{}: there are no messages", name(path));
            }
            return Ok(Prompt::Messages(messages));
        }
        let text = match (&self.prompt, &self.prompt_file) {
            (Some(prompt), _) => prompt.clone(),
            (None, Some(path)) => read_file(path)?,
            (None, None) => read_standard_input()?,
        };
        if text.is_empty() {
            bail!("the prompt is empty");
        }
        Ok(Prompt::Text(text))
    }

    /// Prompts of several sequences, text that options or the model decide on like any other.
    pub(crate) fn several(texts: &[String], file: Option<&Path>) -> Result<Vec<String>> {
        let mut all = texts.to_vec();
        if let Some(path) = file {
            let text = read_file(path)?;
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let before = all.len();
            all.extend(lines.map(str::to_owned));
            if all.len() == before {
                bail!("{}: there are no prompts", name(path));
            }
        }
        if let Some(at) = all.iter().position(String::is_empty) {
            bail!("prompt {} is empty", at + 1);
        }
        Ok(all)
    }

    /// The token ids of a prompt.
    pub(crate) fn ids(&self, prompt: Prompt, opened: &Opened) -> Result<Vec<u32>> {
        let messages = match prompt {
            Prompt::Messages(messages) => messages,
            Prompt::Text(text) => {
                let own = opened.bundle.template.is_own();
                let as_chat = self.chat || self.system.is_some() || (!self.raw && own);
                if !as_chat {
                    return filled(opened.bundle.tokenizer.encode(&text, Special::Parse)?);
                }
                conversation(self.system.as_deref(), text)
            }
        };
        let text = opened.template().render(&messages, GenerationPrompt::Add);
        let text = text.with_context(|| {
            let instead = match self.messages {
                Some(_) => "",
                None => "; --raw goes on with the text as it is",
            };
            format!("the conversation cannot be written as the model wants it{instead}")
        })?;
        filled(opened.bundle.tokenizer.encode(&text, Special::Parse)?)
    }
}

/// The first turn of a conversation.
fn conversation(system: Option<&str>, user: String) -> Vec<Message> {
    let system = system.map(|text| Message::new("system", text));
    let mut messages: Vec<Message> = system.into_iter().collect();
    messages.push(Message::new("user", user));
    messages
}

fn filled(ids: Vec<u32>) -> Result<Vec<u32>> {
    if ids.is_empty() {
        bail!("the prompt has no tokens");
    }
    Ok(ids)
}

fn name(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// All of a text file, unless it is too long to be a prompt.
pub(crate) fn read_file(path: &Path) -> Result<String> {
    input::text(path, LONGEST).with_context(|| format!("cannot read {}", name(path)))
}

fn read_standard_input() -> Result<String> {
    if io::stdin().is_terminal() {
        let what =
            "a prompt is needed: PROMPT, --prompt-file, --messages, or standard input from a pipe";
        Cli::command()
            .error(ErrorKind::MissingRequiredArgument, what)
            .exit();
    }
    let mut text = read_text(io::stdin().lock()).context("cannot read standard input")?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// All of a text, unless it is too long to be a prompt.
pub(crate) fn read_text(from: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        bail!("more than {LONGEST} bytes");
    }
    let text = String::from_utf8(bytes).map_err(|error| error.utf8_error());
    text.context("expected UTF-8 text")
}
