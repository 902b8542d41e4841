//! Several sequences at once: tokens a second of all together.

use super::model::{ids, load};
use crate::{Failed, args::Args, host};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use warpsmith::{
    graph::Precision,
    models::{
        llama::{Engine, EngineOptions, Request},
        sampling::SamplerConfig,
    },
};

/// Sequences at once.
const BATCHES: [u32; 4] = [1, 4, 16, 32];

/// What so many sequences gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) sequences: u32,
    /// Steps that were timed.
    pub(crate) steps: usize,
    /// Of all sequences together, of each counted run.
    pub(crate) tok_s: Vec<f64>,
    pub(crate) peak_mib: Option<f64>,
}

pub(crate) fn measure(args: &Args) -> Result<Vec<Batch>, Failed> {
    let bundle = load(args)?;
    let vocab = bundle.model.config().vocab;
    // A step of many takes long; the speed of a step does not depend on how many there are.
    let steps = args.decode.div_ceil(4).max(1);
    let mut found = Vec::new();
    for sequences in BATCHES {
        let options = EngineOptions {
            sequences,
            context: (steps + 8) as u32,
            precision: Precision::Fast,
            ..EngineOptions::default()
        };
        let mut engine = Engine::new(&bundle.model, &options)?;
        let mut tok_s = Vec::new();
        for run in 0..=args.runs {
            let first = ids(sequences as usize, vocab);
            for id in first {
                engine.submit(Request {
                    prompt: vec![id],
                    sampler: SamplerConfig::default(),
                    max_tokens: steps as u32 + 2,
                    ends: Vec::new(),
                    ..Request::default()
                })?;
            }
            while engine.running() < sequences as usize {
                engine.step()?;
            }
            // Those that joined first have made tokens already: what is left is timed.
            let (start, mut timed) = (Instant::now(), 0);
            while engine.running() == sequences as usize {
                engine.step()?;
                timed += 1;
            }
            let tokens = f64::from(sequences) * f64::from(timed);
            let speed = tokens / start.elapsed().as_secs_f64();
            while !engine.is_idle() {
                engine.step()?;
            }
            if run > 0 {
                tok_s.push(speed);
            }
        }
        found.push(Batch {
            sequences,
            steps,
            tok_s,
            peak_mib: host::peak_mib(),
        });
    }
    Ok(found)
}
