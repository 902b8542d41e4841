//! `chat`: a conversation, message by message.

mod command;
mod input;

use super::{
    context::remedy,
    generation::{StopReason, Task, generate},
    interrupt,
    open::{Opened, open},
    options::{ModelArgs, SamplerArgs},
    output::{note, one_line, print, printable, warn},
    report::rate,
};
use anyhow::Result;
use clap::Args;
use command::{Command, Line};
use input::{History, Input, Next};
use std::{fs::OpenOptions, io::Write, path::Path, process::ExitCode};
use warpsmith::models::{
    chat::{GenerationPrompt, Message},
    llama::Session,
    sampling::SamplerConfig,
    text::StopMatcher,
    tokenizer::Special,
};

/// Talks with a model; only what is new in the conversation is evaluated at each turn.
///
/// On a terminal lines are edited, earlier messages come back with the arrow keys, and a message of several lines can be
/// pasted. From a pipe each line is a message. A line that ends with a backslash goes on with the next one, and all between
/// two lines of """ is one message. /help lists the commands; /quit or the end of the input ends the conversation. Ctrl-C
/// stops an answer; twice between answers it ends the program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith chat --model smollm2.gguf
  warpsmith chat --model qwen2.5-1.5b-q4_k_m.gguf --system \"You are a pirate\" --temperature 0.5
  printf 'Hello\\nAnd you?\\n' | warpsmith chat --model smollm2.gguf --quiet

Messages typed on a terminal are kept in $XDG_STATE_HOME/warpsmith/chat_history (~/.local/state without it), which only
its owner may read.")]
pub(crate) struct Chat {
    #[command(flatten)]
    model: ModelArgs,
    /// What the system message says.
    #[arg(long, value_name = "S")]
    system: Option<String>,
    /// Most tokens of an answer.
    #[arg(long, short = 'n', visible_alias = "n-predict", value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: u32,
    /// Keeps no messages for later conversations, and shows none of earlier ones.
    #[arg(long)]
    no_history: bool,
    #[command(flatten)]
    sampler: SamplerArgs,
}

/// A conversation and what of it the session holds.
struct Conversation<'a> {
    opened: &'a Opened,
    session: Session,
    sampler: SamplerConfig,
    messages: Vec<Message>,
    /// The ids in the session.
    held: Vec<u32>,
    max_tokens: usize,
}

fn message(role: &str, content: String) -> Message {
    Message::new(role, content)
}

impl Chat {
    pub(crate) fn run(mut self) -> Result<ExitCode> {
        self.model.localise()?;
        let sampler = self.sampler.config()?;
        let history = match self.no_history {
            true => History::Forgotten,
            false => History::Kept,
        };
        let opened = open(&self.model)?;
        let mut session = opened.session(&self.model, 0, self.model.run.into())?;
        session.sampler(&sampler)?;
        let system = self.system.map(|content| message("system", content));
        let mut talk = Conversation {
            opened: &opened,
            session,
            sampler,
            messages: system.into_iter().collect(),
            held: Vec::new(),
            max_tokens: self.max_tokens as usize,
        };
        let mut input = Input::open(history)?;
        if input.is_terminal() {
            note("/help lists what can be done besides talking");
        }
        let mut interrupted = false;
        loop {
            let text = match input.next()? {
                Next::Text(text) => text,
                Next::End => return Ok(ExitCode::SUCCESS),
                Next::Interrupted if interrupted => return Ok(interrupt::exit_code()),
                Next::Interrupted => {
                    interrupted = true;
                    warn("Ctrl-C once more, Ctrl-D or /quit ends the conversation");
                    continue;
                }
            };
            interrupted = false;
            match Line::of(&text) {
                Line::Empty => {}
                Line::Message(text) => talk.turn(text)?,
                Line::Command(Command::Quit) => return Ok(ExitCode::SUCCESS),
                Line::Command(command) => talk.obey(command)?,
                Line::Unknown(text) => warn(&format!(
                    "{} is no command: /help lists them, and // begins a message with a slash",
                    printable(&text)
                )),
            }
        }
    }
}

impl Conversation<'_> {
    /// Does what a command asks for.
    fn obey(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Help => warn(&command::help()),
            Command::Reset => self.begin(),
            Command::System(Some(text)) => {
                self.messages.retain(|message| message.role != "system");
                self.messages.insert(0, message("system", text));
                self.begin();
            }
            Command::System(None) => {
                let known = self
                    .messages
                    .iter()
                    .find(|message| message.role == "system");
                let text = known.map_or("there is no system message", |known| &known.content);
                warn(&text.lines().map(printable).collect::<Vec<_>>().join("\n"));
            }
            Command::Regenerate => match self.take_back() {
                Some(text) => {
                    // The same draws would give the same answer.
                    self.sampler.seed = self.sampler.seed.wrapping_add(1);
                    self.session.sampler(&self.sampler)?;
                    self.turn(text)?;
                }
                None => warn("there is no answer yet"),
            },
            Command::Undo => match self.take_back() {
                Some(text) => note(&format!("taken back: {}", printable(&text))),
                None => warn("there is no message yet"),
            },
            Command::Save(path) => match self.save(&path) {
                Ok(()) => note(&format!("{} messages written", self.messages.len())),
                Err(error) => warn(&format!("error: {}", one_line(&error))),
            },
            Command::Quit => {}
        }
        Ok(())
    }

    /// Only the system message is left.
    fn begin(&mut self) {
        self.messages.retain(|message| message.role == "system");
        self.session.reset();
        self.held.clear();
    }

    /// Takes the last message of the user, and what followed it, out of the conversation.
    fn take_back(&mut self) -> Option<String> {
        let asked = |message: &Message| message.role == "user";
        let at = self.messages.iter().rposition(asked)?;
        self.messages.drain(at..).next().map(|first| first.content)
    }

    /// Writes the messages to a file that is not there yet.
    fn save(&self, path: &Path) -> Result<()> {
        let named = || format!("cannot write {}", printable(&path.display().to_string()));
        let text = serde_json::to_string_pretty(&self.messages)? + "\n";
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = file.map_err(|error| anyhow::Error::from(error).context(named()))?;
        file.write_all(text.as_bytes())
            .map_err(|error| anyhow::Error::from(error).context(named()))
    }

    /// Answers a message. What is wrong with the conversation (too long, refused by the template) is said, and the
    /// message dropped.
    fn turn(&mut self, text: String) -> Result<()> {
        self.messages.push(message("user", text));
        match self.answer() {
            Ok(answer) => {
                self.messages.push(message("assistant", answer));
                Ok(())
            }
            Err(error) if error.is::<warpsmith::models::Error>() => {
                let error = self.opened.named(error);
                warn(&format!("error: {}; /reset begins anew", one_line(&error)));
                self.messages.pop();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn answer(&mut self) -> Result<String> {
        let tokenizer = &self.opened.bundle.tokenizer;
        let text = self
            .opened
            .template()
            .render(&self.messages, GenerationPrompt::Add)?;
        let ids = tokenizer.encode(&text, Special::Parse)?;
        // at least one token is evaluated, to have its logits
        let most = ids.len().saturating_sub(1);
        let common = ids
            .iter()
            .zip(&self.held)
            .take(most)
            .take_while(|(a, b)| a == b)
            .count();
        self.session.truncate(common as u32);
        self.held.truncate(common);
        let task = Task {
            device: &self.opened.device,
            tokenizer,
            prompt: &ids,
            max_tokens: self.max_tokens,
            stops: StopMatcher::new(Vec::<String>::new())?,
            logprobs: None,
        };
        let made = generate(&mut self.session, task, &mut print);
        // the last token drawn was not evaluated
        let drawn = made.as_ref().map_or(&[][..], |made| &made.ids);
        self.held = ids
            .iter()
            .chain(drawn)
            .copied()
            .take(self.session.len() as usize)
            .collect();
        let made = made?;
        if !made.text.ends_with('\n') {
            print("\n")?;
        }
        let why = match made.stop {
            StopReason::Eog | StopReason::Stop => String::new(),
            StopReason::Length => "; stopped at --max-tokens".to_owned(),
            StopReason::Context => {
                let context = self.session.context();
                let trained = self.opened.bundle.model.config().context;
                let remedy = remedy(context, trained);
                format!("; the context of {context} tokens is full, /reset begins anew; {remedy}")
            }
            StopReason::Interrupted => "; interrupted".to_owned(),
        };
        note(&format!(
            "[{} of {} prompt tokens were new, {:.1} tok/s; {} tokens, {:.1} tok/s{why}]",
            made.prefilled,
            ids.len(),
            rate(made.prefilled, made.prefill),
            made.ids.len(),
            rate(made.steps as usize, made.decode),
        ));
        Ok(made.text)
    }
}
