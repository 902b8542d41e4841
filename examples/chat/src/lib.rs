//! A chat with a language model, in a terminal.
//!
//! What was said stays in the cache of the session: a turn evaluates only what is new.

use std::{
    error::Error,
    io::{BufRead, Write},
    ops::ControlFlow,
    path::Path,
};
use warpsmith::{
    device::{Device, Selector},
    models::{
        chat::{GenerationPrompt, Message},
        llama::{Bundle, Session, SessionOptions},
        sampling::SamplerConfig,
        text::{StopMatcher, Streamed, Written},
        tokenizer::Special,
    },
};

/// Talks until `input` ends: a line of it is a message, and the answer is written to `output` as it comes.
///
/// # Errors
/// What is wrong with the model, by name; a conversation that fills the context of 4096 tokens.
pub fn talk(
    model: &Path,
    sampler: &SamplerConfig,
    input: impl BufRead,
    mut output: impl Write,
) -> Result<Vec<Message>, Box<dyn Error>> {
    let device = Device::open(&Selector::Auto)?; // a card, or else the CPU
    let bundle = Bundle::load(&device, model, &mut |_, _| {})?;
    let mut session = Session::new(&bundle.model, &SessionOptions::default())?;
    session.sampler(sampler)?;
    let mut messages: Vec<Message> = Vec::new();
    for line in input.lines() {
        messages.push(Message::new("user", line?));
        let text = bundle.template.render(&messages, GenerationPrompt::Add)?;
        let prompt = bundle.tokenizer.encode(&text, Special::Parse)?;
        // What the cache has already is not evaluated again; the last token always is, for its logits.
        let known = session
            .tokens()
            .iter()
            .zip(&prompt)
            .take_while(|(own, new)| own == new);
        let known = known.count().min(prompt.len() - 1);
        session.truncate(known as u32);
        session.prefill(&prompt[known..], &mut |_, _| {})?;

        let mut written = Written::after(&prompt, &bundle.tokenizer, StopMatcher::new::<&str>([])?);
        let mut answer = String::new();
        let mut failed = None;
        let ends = bundle.tokenizer.end_of_generation();
        session.generate(512, ends, &mut |token| {
            if ends.contains(&token) {
                return ControlFlow::Break(());
            }
            match written.push(token) {
                Ok(Streamed::Text(text) | Streamed::Stopped { text, .. }) => {
                    let shown = output
                        .write_all(text.as_bytes())
                        .and_then(|()| output.flush());
                    answer.push_str(&text);
                    match shown {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(error) => {
                            failed = Some(error.into());
                            ControlFlow::Break(())
                        }
                    }
                }
                Err(error) => {
                    failed = Some(Box::<dyn Error>::from(error));
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let rest = written.finish()?;
        writeln!(output, "{rest}")?;
        messages.push(Message::new("assistant", answer + &rest));
    }
    Ok(messages)
}
