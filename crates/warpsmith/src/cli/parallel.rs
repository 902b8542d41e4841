//! Several continuations of one prompt at once: `generate --parallel N`.

use super::{
    generation::StopReason,
    interrupt::{self, Watch},
    open::Opened,
    options::ModelArgs,
    output,
    report::{Crossed, rate},
};
use anyhow::Result;
use serde::Serialize;
use std::{process::ExitCode, time::Instant};
use warpsmith::models::{
    llama::{Ended, Engine, Event, Request, SequenceId},
    sampling::SamplerConfig,
    text::{StopMatcher, Streamed},
    tokenizer::{Decoder, Tokenizer},
};

/// What to continue, how often, and until when.
pub(crate) struct Task<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) args: &'a ModelArgs,
    pub(crate) prompt: &'a [u32],
    pub(crate) count: u32,
    /// Of the first continuation; the next one has the next seed.
    pub(crate) sampler: SamplerConfig,
    pub(crate) max_tokens: u32,
    pub(crate) stops: StopMatcher,
}

/// One continuation.
struct Line<'a> {
    id: SequenceId,
    tokenizer: &'a Tokenizer,
    /// What turns tokens into text, until it ends.
    open: Option<(Decoder<'a>, StopMatcher)>,
    made: Made,
}

/// What came out of one continuation.
#[derive(Debug, Serialize)]
struct Made {
    ids: Vec<u32>,
    text: String,
    stop_reason: StopReason,
    seed: u64,
}

/// The object that `generate --parallel N --json` prints.
#[derive(Debug, Serialize)]
struct Report<'a> {
    prompt_ids: &'a [u32],
    continuations: Vec<&'a Made>,
    device: &'a str,
    load_s: f64,
    /// From the loaded model to the last token of all.
    generate_s: f64,
    /// Tokens drawn a second, of all continuations together.
    tok_s: f64,
    steps: u64,
    prompt_passes: u64,
    /// Prompt tokens that one continuation took over from another one.
    shared_tokens: u64,
    plans: u64,
    launches: u64,
    transfers: Crossed,
}

impl Line<'_> {
    /// Takes a token; whether a stop string is complete.
    fn take(&mut self, token: u32) -> Result<bool> {
        self.made.ids.push(token);
        let known = (token as usize) < self.tokenizer.vocab_len();
        let Some((decoder, stops)) = &mut self.open else {
            return Ok(false);
        };
        if self.tokenizer.is_end_of_generation(token) || !known {
            return Ok(false);
        }
        match stops.push(&decoder.push(token)?) {
            Streamed::Text(text) => {
                self.made.text += &text;
                Ok(false)
            }
            Streamed::Stopped { text, stop: _ } => {
                self.made.text += &text;
                Ok(true)
            }
        }
    }

    /// The end, with the text that was held back; `false` if it had ended before.
    fn end(&mut self, reason: StopReason) -> Result<bool> {
        let Some((decoder, mut stops)) = self.open.take() else {
            return Ok(false);
        };
        self.made.stop_reason = reason;
        if reason != StopReason::Stop {
            self.made.text += &match stops.push(&decoder.finish()?) {
                Streamed::Text(text) => text + &stops.finish(),
                Streamed::Stopped { text, stop: _ } => text,
            };
        }
        Ok(true)
    }
}

/// Generates all continuations and prints each as it is complete, or one JSON object.
pub(crate) fn run(task: Task<'_>, json: bool) -> Result<ExitCode> {
    let Task {
        opened,
        args,
        prompt,
        count,
        sampler,
        max_tokens,
        stops,
    } = task;
    let tokenizer = &opened.bundle.tokenizer;
    let need = prompt.len() as u64 + u64::from(max_tokens);
    let mut engine = opened.engine(args, count, need)?;
    let watch = Watch::begin();
    let (start, before) = (Instant::now(), opened.device.stats());
    let mut lines = Vec::new();
    for at in 0..count {
        let sampler = SamplerConfig {
            seed: sampler.seed.wrapping_add(at.into()),
            ..sampler
        };
        let id = engine.submit(Request {
            prompt: prompt.to_vec(),
            sampler,
            max_tokens,
            ends: tokenizer.end_of_generation().to_vec(),
        })?;
        lines.push(Line {
            id,
            tokenizer,
            open: Some((tokenizer.decoder_after(prompt), stops.clone())),
            made: Made {
                ids: Vec::new(),
                text: String::new(),
                stop_reason: StopReason::Interrupted,
                seed: sampler.seed,
            },
        });
    }
    while !engine.is_idle() && !watch.raised() {
        for event in engine.step()? {
            take(&mut engine, &mut lines, event, json)?;
        }
    }
    let (time, counts) = (start.elapsed(), opened.device.stats() - before);
    let interrupted = !engine.is_idle();
    for (at, line) in lines.iter_mut().enumerate() {
        if line.end(StopReason::Interrupted)? {
            print(at, line, json)?;
        }
    }
    let tokens: usize = lines.iter().map(|line| line.made.ids.len()).sum();
    let engine = engine.report();
    let report = Report {
        prompt_ids: prompt,
        continuations: lines.iter().map(|line| &line.made).collect(),
        device: &opened.device.info().name,
        load_s: opened.load_s,
        generate_s: time.as_secs_f64(),
        tok_s: rate(tokens, time),
        steps: engine.steps,
        prompt_passes: engine.prompt_passes,
        shared_tokens: engine.shared_tokens,
        plans: engine.plans,
        launches: counts.launches,
        transfers: counts.into(),
    };
    if json {
        output::print_json(&report)?;
    } else {
        let device = report.device;
        output::note(&format!(
            "[{device}] prompt: {} tokens, {} of them shared; {count} continuations: {tokens} tokens, {:.1} tok/s \
             together, in {} steps\n[{device}] {} plans; {} to the device, {} back; seeds from {}",
            prompt.len(),
            report.shared_tokens,
            report.tok_s,
            report.steps,
            report.plans,
            output::bytes(counts.h2d_bytes),
            output::bytes(counts.d2h_bytes),
            sampler.seed,
        ));
    }
    Ok(if interrupted {
        interrupt::exit_code()
    } else {
        ExitCode::SUCCESS
    })
}

/// What an event means for its continuation.
fn take(engine: &mut Engine, lines: &mut [Line<'_>], event: Event, json: bool) -> Result<()> {
    let (id, done) = match event {
        Event::Token { id, token } => {
            let line = lines.iter_mut().find(|line| line.id == id);
            let stopped = match line {
                Some(line) => line.take(token)?,
                None => false,
            };
            if !stopped {
                return Ok(());
            }
            engine.cancel(id)?;
            (id, StopReason::Stop)
        }
        Event::Finished { id, ended } => {
            let reason = match ended {
                Ended::Token => StopReason::Eog,
                Ended::Context => StopReason::Context,
                Ended::Length | Ended::Stopped => StopReason::Length,
            };
            (id, reason)
        }
        Event::Failed { id: _, error } => return Err(error.into()),
    };
    let line = lines.iter_mut().enumerate().find(|(_, line)| line.id == id);
    if let Some((at, line)) = line
        && line.end(done)?
    {
        print(at, line, json)?;
    }
    Ok(())
}

/// Prints a complete continuation under its number and seed.
fn print(at: usize, line: &Line<'_>, json: bool) -> Result<()> {
    if json {
        return Ok(());
    }
    let Made { text, seed, .. } = &line.made;
    let end = if text.ends_with('\n') { "" } else { "\n" };
    output::print(&format!("--- {} (seed {seed})\n{text}{end}", at + 1))
}
