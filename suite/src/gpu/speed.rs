//! How fast a model answers on the card: prompt, first token, decode steps, what crosses.

use super::Failed;
use std::{sync::Arc, time::Instant};
use warpsmith::{
    graph::Precision,
    models::llama::{Model, Run, Session, SessionOptions},
};

/// What was measured of one model in one way of running.
pub(super) struct Speed {
    /// Tokens of the prompt.
    pub(super) prompt: usize,
    /// Seconds of the prompt, when everything is loaded: medians.
    pub(super) prefill: f64,
    /// Seconds from the prompt to the first token.
    pub(super) first: f64,
    /// Seconds of a decode step.
    pub(super) step: f64,
    /// Launches of a step.
    pub(super) launches: u64,
    /// Bytes to the card and back, of a step.
    pub(super) bytes: [f64; 2],
}

/// Measures with a prompt of arbitrary tokens, `steps` steps after it.
pub(super) fn measure(
    model: &Arc<Model>,
    (precision, run): (Precision, Run),
    prompt: usize,
    steps: usize,
) -> Result<Speed, Failed> {
    let options = SessionOptions {
        context: (prompt + steps + 8) as u32,
        precision,
        run,
        ..SessionOptions::default()
    };
    let vocab = model.config().vocab as usize;
    let ids: Vec<u32> = (0..prompt).map(|i| (i * 7919 % vocab) as u32).collect();
    let mut session = Session::new(model, &options)?;
    let (mut prefills, mut firsts) = (Vec::new(), Vec::new());
    for round in 0..4 {
        session.reset();
        let start = Instant::now();
        session.prefill(&ids, &mut |_, _| {})?;
        let prefilled = start.elapsed().as_secs_f64();
        session.sample()?;
        if round > 0 {
            prefills.push(prefilled);
            firsts.push(start.elapsed().as_secs_f64());
        }
    }
    // The first step plans, compiles and captures.
    session.step()?;
    let device = model.device();
    let before = device.stats();
    let mut each = Vec::new();
    for _ in 1..steps {
        let start = Instant::now();
        session.step()?;
        each.push(start.elapsed().as_secs_f64());
    }
    let moved = device.stats() - before;
    let counted = each.len().max(1) as f64;
    Ok(Speed {
        prompt,
        prefill: median(&mut prefills),
        first: median(&mut firsts),
        step: median(&mut each),
        launches: session.launches_per_step()?,
        bytes: [
            moved.h2d_bytes as f64 / counted,
            moved.d2h_bytes as f64 / counted,
        ],
    })
}

/// The middle of some figures.
pub(super) fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(f64::NAN)
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "prefill of {} {:.0} tok/s, first token after {:.2} ms, decode {:.1} tok/s ({:.1} us a step), {} launches a token, {} bytes up, {} down",
            self.prompt,
            self.prompt as f64 / self.prefill,
            self.first * 1e3,
            1.0 / self.step,
            self.step * 1e6,
            self.launches,
            self.bytes[0],
            self.bytes[1],
        )
    }
}
