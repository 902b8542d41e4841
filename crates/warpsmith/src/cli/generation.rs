//! The loop of a generation: prefill, then token by token until something stops it.

use super::{
    interrupt::Watch,
    logprobs::Chosen,
    output::{Unit, bar},
};
use anyhow::Result;
use serde::Serialize;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};
use warpsmith::{
    device::{Device, Snapshot},
    models::{
        Error,
        llama::{Ended, Session},
        text::{StopMatcher, Streamed, Written},
        tokenizer::Tokenizer,
    },
};

/// Tokens prefilled between two looks for Ctrl-C.
const CHUNK: usize = 512;

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StopReason {
    /// A stop string came.
    Stop,
    /// As many tokens as were asked for.
    Length,
    /// The model ended its text.
    Eog,
    /// The context is full.
    Context,
    /// Ctrl-C.
    Interrupted,
}

impl From<Ended> for StopReason {
    fn from(ended: Ended) -> StopReason {
        match ended {
            Ended::Token => StopReason::Eog,
            Ended::Context => StopReason::Context,
            Ended::Length | Ended::Stopped => StopReason::Length,
        }
    }
}

/// What to generate from, and until when.
pub(crate) struct Task<'a> {
    pub(crate) device: &'a Device,
    pub(crate) tokenizer: &'a Tokenizer,
    /// All ids of the prompt; the session holds the first of them already.
    pub(crate) prompt: &'a [u32],
    pub(crate) max_tokens: usize,
    pub(crate) stops: StopMatcher,
    /// How many of the most probable tokens are told of each: tokens then come by single steps, and all logits with them.
    pub(crate) logprobs: Option<usize>,
}

/// What came out, and what it took.
#[derive(Debug)]
pub(crate) struct Generation {
    /// The tokens drawn, with the one that ended the text.
    pub(crate) ids: Vec<u32>,
    /// The text shown.
    pub(crate) text: String,
    pub(crate) stop: StopReason,
    /// Of each token, where that is asked for.
    pub(crate) logprobs: Vec<Chosen>,
    /// Prompt tokens that were not in the session before.
    pub(crate) prefilled: usize,
    /// From the beginning until the first token was drawn.
    pub(crate) prefill: Duration,
    /// From then to the end.
    pub(crate) decode: Duration,
    /// Decode steps: one less than tokens drawn.
    pub(crate) steps: u64,
    /// Counts of all of it.
    pub(crate) all: Snapshot,
    /// Counts of the decode steps.
    pub(crate) decoding: Snapshot,
}

/// Generates; `show` gets the text as it becomes certain, never half a character or a piece of a stop string.
pub(crate) fn generate(
    session: &mut Session,
    task: Task<'_>,
    show: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Generation> {
    let Task {
        device,
        tokenizer,
        prompt,
        max_tokens,
        stops,
        logprobs,
    } = task;
    let watch = Watch::begin();
    let (start, before) = (Instant::now(), device.stats());
    let new = &prompt[(session.len() as usize).min(prompt.len())..];
    let mut out = Generation {
        ids: Vec::new(),
        text: String::new(),
        stop: StopReason::Length,
        logprobs: Vec::new(),
        prefilled: new.len(),
        prefill: Duration::ZERO,
        decode: Duration::ZERO,
        steps: 0,
        all: Snapshot::default(),
        decoding: Snapshot::default(),
    };
    let finished = prefill(session, new, &watch)?;
    let mut first = None;
    if !finished {
        out.stop = StopReason::Interrupted;
    } else if max_tokens > 0 {
        let mut written = Written::after(prompt, tokenizer, stops);
        let mut emit = |text: &str, all: &mut String| {
            all.push_str(text);
            if text.is_empty() { Ok(()) } else { show(text) }
        };
        let mut ids = Vec::new();
        let mut take = |next: u32| -> Result<Option<StopReason>> {
            first.get_or_insert_with(|| (start.elapsed(), device.stats()));
            ids.push(next);
            if tokenizer.is_end_of_generation(next) {
                return Ok(None);
            }
            match written.push(next)? {
                Streamed::Text(text) => emit(&text, &mut out.text)?,
                Streamed::Stopped { text, stop: _ } => {
                    emit(&text, &mut out.text)?;
                    return Ok(Some(StopReason::Stop));
                }
            }
            let interrupted = ids.len() < max_tokens && watch.raised();
            Ok(interrupted.then_some(StopReason::Interrupted))
        };
        // Why it stopped, where this side decided.
        let mut why = Ok(None);
        let ends = tokenizer.end_of_generation();
        let mut each = |next| {
            why = take(next);
            match why {
                Ok(None) => ControlFlow::Continue(()),
                Ok(Some(_)) | Err(_) => ControlFlow::Break(()),
            }
        };
        let ended = match logprobs {
            None => session.generate(max_tokens, ends, &mut each)?,
            Some(most) => {
                let told = &mut out.logprobs;
                stepwise(session, max_tokens, ends, &mut |next, logits| {
                    told.push(Chosen::of(logits, next, most, tokenizer));
                    each(next)
                })?
            }
        };
        out.stop = match (why?, ended) {
            (Some(reason), _) => reason,
            (None, ended) => ended.into(),
        };
        out.ids = ids;
        out.steps = out.ids.len() as u64 - 1;
        if out.stop != StopReason::Stop {
            emit(&written.finish()?, &mut out.text)?;
        }
    }
    let (end, after) = (start.elapsed(), device.stats());
    let (first, counts) = first.unwrap_or((end, after));
    (out.prefill, out.decode) = (first, end.saturating_sub(first));
    (out.all, out.decoding) = (after - before, after - counts);
    Ok(out)
}

/// The same tokens as [`Session::generate`] by single steps, each with the logits that it was drawn from.
fn stepwise(
    session: &mut Session,
    most: usize,
    ends: &[u32],
    each: &mut dyn FnMut(u32, &[f32]) -> ControlFlow<()>,
) -> Result<Ended> {
    for made in 0..most {
        let token = if made == 0 {
            session.sample()?
        } else if session.len() == session.context() {
            return Ok(Ended::Context);
        } else {
            session.step()?
        };
        let stopped = each(token, &session.logits()?).is_break();
        if ends.contains(&token) {
            return Ok(Ended::Token);
        }
        if stopped {
            return Ok(Ended::Stopped);
        }
    }
    Ok(Ended::Length)
}

/// Prefills `ids`, with a bar on a terminal; `false` if Ctrl-C came.
fn prefill(session: &mut Session, ids: &[u32], watch: &Watch) -> Result<bool> {
    let (context, have, more) = (session.context(), session.len(), ids.len());
    if more as u64 > u64::from(context - have.min(context)) {
        return Err(Error::ContextFull {
            context,
            have,
            more,
        }
        .into());
    }
    let bar = bar("prompt", more as u64, Unit::Tokens);
    let mut finished = true;
    for chunk in ids.chunks(CHUNK) {
        if watch.raised() {
            finished = false;
            break;
        }
        session.prefill(chunk, &mut |_, _| {})?;
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    Ok(finished)
}
