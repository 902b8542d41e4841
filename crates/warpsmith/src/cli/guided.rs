//! The loop of a generation that follows a grammar: an engine with one sequence, masked token by token.

use super::{
    generation::{Generation, StopReason, Task},
    interrupt::Watch,
    logprobs::Chosen,
};
use anyhow::Result;
use std::time::{Duration, Instant};
use warpsmith::{
    device::Snapshot,
    models::{
        grammar::{Constraint, Guide, Then},
        llama::{Engine, Event, Request},
        sampling::SamplerConfig,
        text::{Streamed, Written},
        tokenizer::Tokenizer,
    },
};

/// The text so far.
struct Text<'a> {
    tokenizer: &'a Tokenizer,
    written: Written<'a>,
    out: Generation,
    show: &'a mut dyn FnMut(&str) -> Result<()>,
}

impl Text<'_> {
    fn emit(&mut self, text: &str) -> Result<()> {
        self.out.text.push_str(text);
        match text.is_empty() {
            true => Ok(()),
            false => (self.show)(text),
        }
    }

    /// Takes a token; whether a stop string is complete.
    fn take(&mut self, token: u32) -> Result<bool> {
        self.out.ids.push(token);
        if self.tokenizer.is_end_of_generation(token) {
            return Ok(false);
        }
        match self.written.push(token)? {
            Streamed::Text(text) => self.emit(&text).map(|()| false),
            Streamed::Stopped { text, stop: _ } => self.emit(&text).map(|()| true),
        }
    }

    /// The same for several, up to the stop string.
    fn take_all(&mut self, tokens: &[u32]) -> Result<bool> {
        for token in tokens {
            if self.take(*token)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Generates what `constraint` describes; `show` gets the text as it becomes certain. Tokens that the grammar forces are
/// evaluated together.
pub(crate) fn generate(
    engine: &mut Engine,
    constraint: Constraint,
    sampler: &SamplerConfig,
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
    let mut text = Text {
        tokenizer,
        written: Written::after(prompt, tokenizer, stops),
        show,
        out: Generation {
            ids: Vec::new(),
            text: String::new(),
            stop: StopReason::Length,
            logprobs: Vec::new(),
            prefilled: prompt.len(),
            prefill: Duration::ZERO,
            decode: Duration::ZERO,
            steps: 0,
            all: Snapshot::default(),
            decoding: Snapshot::default(),
        },
    };
    let mut first = None;
    if max_tokens > 0 {
        let counts = || (start.elapsed(), device.stats());
        text.out.stop = follow(
            engine,
            constraint,
            Asked {
                prompt,
                sampler,
                max_tokens,
                logprobs,
            },
            &mut text,
            &mut || {
                first.get_or_insert_with(counts);
                watch.raised()
            },
        )?;
    }
    let Text {
        written,
        mut out,
        show,
        ..
    } = text;
    if out.stop != StopReason::Stop {
        let rest = written.finish()?;
        out.text.push_str(&rest);
        if !rest.is_empty() {
            show(&rest)?;
        }
    }
    let (end, after) = (start.elapsed(), device.stats());
    let (first, counts) = first.unwrap_or((end, after));
    (out.prefill, out.decode) = (first, end.saturating_sub(first));
    (out.all, out.decoding) = (after - before, after - counts);
    Ok(out)
}

/// What an engine is asked.
struct Asked<'a> {
    prompt: &'a [u32],
    sampler: &'a SamplerConfig,
    max_tokens: usize,
    logprobs: Option<usize>,
}

/// Steps until something ends the text: what. `interrupted` is asked behind each token.
fn follow(
    engine: &mut Engine,
    constraint: Constraint,
    asked: Asked<'_>,
    text: &mut Text<'_>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<StopReason> {
    let Asked {
        prompt,
        sampler,
        max_tokens,
        logprobs,
    } = asked;
    let left = (engine.context() as usize).saturating_sub(prompt.len());
    // The last token drawn needs no position.
    let most = max_tokens.min(left.saturating_add(1)) as u32;
    let mut guide = Guide::begin(constraint, most, logprobs)?;
    let mut known = std::mem::take(&mut guide.known);
    let Then::Draw(mask) = std::mem::replace(&mut guide.then, Then::Done) else {
        let stopped = text.take_all(&known)?;
        return Ok(if stopped {
            StopReason::Stop
        } else {
            StopReason::Eog
        });
    };
    let id = engine.submit(Request {
        prompt: [prompt, &known].concat(),
        sampler: *sampler,
        max_tokens: (max_tokens - known.len()) as u32,
        ends: text.tokenizer.end_of_generation().to_vec(),
        mask: Some(mask),
        logits: logprobs.is_some(),
        ..Request::default()
    })?;
    loop {
        let (mut drawn, mut ended) = (None, None);
        for event in engine.step()? {
            match event {
                Event::Token { token, .. } => drawn = Some(token),
                Event::Finished { ended: why, .. } => ended = Some(why.into()),
                Event::Failed { error, .. } => return Err(error.into()),
            }
        }
        let Some(token) = drawn else {
            // Tokens of a long prompt.
            if interrupted() {
                return Ok(StopReason::Interrupted);
            }
            continue;
        };
        let interrupted = interrupted();
        text.out.steps += u64::from(!text.out.ids.is_empty());
        if let (Some(most), Some(logits)) = (logprobs, engine.logits(id)) {
            let chosen = Chosen::of(logits, token, most, text.tokenizer);
            text.out.logprobs.push(chosen);
        }
        if text.take_all(&std::mem::take(&mut known))? || text.take(token)? {
            return Ok(StopReason::Stop);
        }
        if ended == Some(StopReason::Eog) {
            return Ok(StopReason::Eog);
        }
        let advance = guide.advance(token, engine.room(id))?;
        match (advance.then, ended) {
            (Then::Done, _) => {
                let stopped = text.take_all(&advance.forced)?;
                return Ok(if stopped {
                    StopReason::Stop
                } else {
                    StopReason::Eog
                });
            }
            (Then::Draw(_), Some(ended)) => return Ok(ended),
            (Then::Draw(_), None) if interrupted => return Ok(StopReason::Interrupted),
            (Then::Draw(mask), None) => {
                if text.take_all(&advance.forced)? {
                    return Ok(StopReason::Stop);
                }
                engine.extend(id, &advance.forced)?;
                engine.mask(id, Some(mask))?;
            }
        }
    }
}
