//! `chat`: a conversation, line by line.

use super::{
    generation::{StopReason, Task, generate},
    open::{Opened, open},
    options::{ModelArgs, SamplerArgs},
    output::{note, one_line, print},
    report::rate,
};
use anyhow::{Context, Result};
use clap::Args;
use std::{
    io::{self, BufRead, IsTerminal, Write},
    process::ExitCode,
};
use warpsmith::models::{
    chat::{GenerationPrompt, Message},
    llama::Session,
    text::StopMatcher,
    tokenizer::Special,
};

/// Talks with a model; only what is new in the conversation is evaluated at each turn.
///
/// Each line of standard input is a message. `/reset` forgets the conversation, `/exit` or the end of the input ends
/// it. Ctrl-C stops an answer; between answers it ends the program.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith chat --model smollm2.gguf
  warpsmith chat --model qwen2.5-1.5b-q4_k_m.gguf --system \"You are a pirate\" --temperature 0.5")]
pub(crate) struct Chat {
    #[command(flatten)]
    model: ModelArgs,
    /// What the system message says.
    #[arg(long, value_name = "S")]
    system: Option<String>,
    /// Most tokens of an answer.
    #[arg(long, short = 'n', visible_alias = "n-predict", value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: u32,
    #[command(flatten)]
    sampler: SamplerArgs,
}

/// A conversation and what of it the session holds.
struct Conversation<'a> {
    opened: &'a Opened,
    session: Session,
    messages: Vec<Message>,
    /// The ids in the session.
    held: Vec<u32>,
    max_tokens: usize,
}

impl Chat {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let sampler = self.sampler.config()?;
        let opened = open(&self.model)?;
        let mut session = opened.session(&self.model, 0, self.model.run.into())?;
        session.sampler(&sampler)?;
        let system = self.system.map(|content| Message {
            role: "system".to_owned(),
            content,
        });
        let begin: Vec<Message> = system.into_iter().collect();
        let max_tokens = self.max_tokens as usize;
        let mut talk = Conversation {
            opened: &opened,
            session,
            messages: begin.clone(),
            held: Vec::new(),
            max_tokens,
        };
        let input = io::stdin();
        loop {
            if input.is_terminal() {
                let _ = write!(io::stderr(), "> ");
            }
            let mut line = String::new();
            if input
                .lock()
                .read_line(&mut line)
                .context("cannot read standard input")?
                == 0
            {
                return Ok(ExitCode::SUCCESS);
            }
            match line.trim() {
                "" => {}
                "/exit" => return Ok(ExitCode::SUCCESS),
                "/reset" => {
                    talk.messages.clone_from(&begin);
                    talk.session.reset();
                    talk.held.clear();
                }
                text => talk.turn(text.to_owned())?,
            }
        }
    }
}

impl Conversation<'_> {
    /// Answers a message. What is wrong with the conversation (too long, refused by the template) is said, and the
    /// message dropped.
    fn turn(&mut self, text: String) -> Result<()> {
        self.messages.push(Message {
            role: "user".to_owned(),
            content: text,
        });
        match self.answer() {
            Ok(answer) => {
                self.messages.push(Message {
                    role: "assistant".to_owned(),
                    content: answer,
                });
                Ok(())
            }
            Err(error) if error.is::<warpsmith::models::Error>() => {
                note(&format!("error: {}; /reset begins anew", one_line(&error)));
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
            StopReason::Eog | StopReason::Stop => "",
            StopReason::Length => "; stopped at --max-tokens",
            StopReason::Context => "; the context is full, /reset begins anew",
            StopReason::Interrupted => "; interrupted",
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
