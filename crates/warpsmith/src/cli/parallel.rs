//! Several continuations at once, of one prompt or of several: `generate --parallel N`, `generate --prompts F`.

use super::{
    generation::StopReason,
    interrupt::{self, Watch},
    open::Opened,
    options::ModelArgs,
    output,
    report::{Crossed, rate},
};
use anyhow::{Context, Result};
use serde::Serialize;
use std::{process::ExitCode, time::Instant};
use warpsmith::models::{
    llama::{Engine, Event, Request, SequenceId},
    sampling::SamplerConfig,
    text::{StopMatcher, Streamed, Written},
};

/// Sequences of an engine; more wait for a place.
const MOST_TOGETHER: u64 = 64;
/// Characters of a prompt that its continuation is printed under.
const SHOWN: usize = 60;

/// What to continue, how often, and until when.
pub(crate) struct Task<'a> {
    pub(crate) opened: &'a Opened,
    pub(crate) args: &'a ModelArgs,
    pub(crate) prompts: &'a [Vec<u32>],
    /// What the prompts are, where they were given as a list.
    pub(crate) texts: &'a [String],
    /// Continuations of each prompt.
    pub(crate) count: u32,
    /// Of the first continuation of each prompt; the next one has the next seed.
    pub(crate) sampler: SamplerConfig,
    pub(crate) max_tokens: u32,
    pub(crate) stops: StopMatcher,
}

/// One continuation.
struct Line<'a> {
    id: SequenceId,
    /// Which prompt it goes on with.
    prompt: usize,
    /// What it is printed under.
    label: String,
    /// What turns tokens into text, until it ends.
    open: Option<Written<'a>>,
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

/// A prompt and its continuations.
#[derive(Debug, Serialize)]
struct Continued<'a> {
    prompt_ids: &'a [u32],
    continuations: Vec<&'a Made>,
}

/// What continuations are of.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Of<'a> {
    One(Continued<'a>),
    Several { prompts: Vec<Continued<'a>> },
}

/// The object that is printed with `--json`; several prompts are a list in it, each with what one has at the top.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    of: Of<'a>,
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
        let Some(written) = &mut self.open else {
            return Ok(false);
        };
        match written.push(token)? {
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
        let Some(written) = self.open.take() else {
            return Ok(false);
        };
        self.made.stop_reason = reason;
        if reason != StopReason::Stop {
            self.made.text += &written.finish()?;
        }
        Ok(true)
    }
}

/// Generates all continuations and prints each as it is complete, or one JSON object.
pub(crate) fn run(task: Task<'_>, json: bool) -> Result<ExitCode> {
    let Task {
        opened,
        args,
        prompts,
        texts,
        count,
        sampler,
        max_tokens,
        stops,
    } = task;
    let tokenizer = &opened.bundle.tokenizer;
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let need = longest as u64 + u64::from(max_tokens);
    let all = prompts.len() as u64 * u64::from(count);
    let together = all.clamp(1, MOST_TOGETHER) as u32;
    let mut engine = opened.engine(args, together, need)?;
    let watch = Watch::begin();
    let (start, before) = (Instant::now(), opened.device.stats());
    let mut lines = Vec::new();
    let each = prompts.iter().enumerate();
    for ((of, prompt), at) in each.flat_map(|prompt| (0..count).map(move |at| (prompt, at))) {
        let sampler = SamplerConfig {
            seed: sampler.seed.wrapping_add(at.into()),
            ..sampler
        };
        let id = engine.submit(Request {
            prompt: prompt.clone(),
            sampler,
            max_tokens,
            ends: tokenizer.end_of_generation().to_vec(),
            ..Request::default()
        });
        let number = lines.len() + 1;
        let text = texts.get(of).map_or(String::new(), |text| beginning(text));
        lines.push(Line {
            id: id
                .map_err(|error| opened.named(error.into()))
                .with_context(|| format!("prompt {}", of + 1))?,
            prompt: of,
            label: format!("--- {number} (seed {}){text}", sampler.seed),
            open: Some(Written::after(prompt, tokenizer, stops.clone())),
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
    for line in &mut lines {
        if line.end(StopReason::Interrupted)? {
            print(line, json)?;
        }
    }
    let tokens: usize = lines.iter().map(|line| line.made.ids.len()).sum();
    let engine = engine.report();
    let continued = |of: usize| Continued {
        prompt_ids: &prompts[of],
        continuations: lines
            .iter()
            .filter(|line| line.prompt == of)
            .map(|line| &line.made)
            .collect(),
    };
    let report = Report {
        of: match prompts.len() {
            1 => Of::One(continued(0)),
            several => Of::Several {
                prompts: (0..several).map(continued).collect(),
            },
        },
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
        let asked: usize = prompts.iter().map(Vec::len).sum();
        let what = match prompts.len() {
            1 => "prompt".to_owned(),
            several => format!("{several} prompts"),
        };
        output::note(&format!(
            "[{device}] {what}: {asked} tokens, {} of them shared; {all} continuations: {tokens} tokens, {:.1} tok/s \
             together, in {} steps\n[{device}] {} plans; {} to the device, {} back; seeds from {}",
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
        Event::Finished { id, ended } => (id, ended.into()),
        Event::Failed { id: _, error } => return Err(error.into()),
    };
    let line = lines.iter_mut().find(|line| line.id == id);
    if let Some(line) = line
        && line.end(done)?
    {
        print(line, json)?;
    }
    Ok(())
}

/// The beginning of a prompt, in one line.
fn beginning(text: &str) -> String {
    let line: String = output::printable(text).chars().take(SHOWN).collect();
    format!(": {line}")
}

/// Prints a complete continuation under its label.
fn print(line: &Line<'_>, json: bool) -> Result<()> {
    if json {
        return Ok(());
    }
    let (label, text) = (&line.label, &line.made.text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    output::print(&format!("{label}\n{text}{end}"))
}
