//! The three ways to run one plan: a launch for each step, a replay for each token, one launch for all.

use super::model::{context, ids, load, session_of};
use crate::{Failed, args::Args};
use serde::{Deserialize, Serialize};
use std::{ops::ControlFlow, time::Instant};
use warpsmith::{
    graph::{PersistentShape, Schedule},
    models::llama::Run,
};

/// What a way takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Way {
    pub(crate) name: String,
    /// Of each counted run.
    pub(crate) tok_s: Vec<f64>,
    /// Kernels that the host launched for all tokens.
    pub(crate) launches: u64,
    /// Microseconds in which the host enqueued a token's work; one launch for all tokens has none of its own.
    pub(crate) enqueue_us: Option<f64>,
    /// Bytes between host and device for all tokens.
    pub(crate) moved: u64,
}

/// All ways.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ways {
    pub(crate) tokens: usize,
    pub(crate) ways: Vec<Way>,
}

/// Tokens whose work is enqueued at once, to see what that takes.
const TOKENS: u32 = 20;

pub(crate) fn measure(args: &Args) -> Result<Ways, Failed> {
    let bundle = load(args)?;
    let first = ids(1, bundle.model.config().vocab);
    let device = bundle.model.device().clone();
    let mut ways = Vec::new();
    for (name, run, schedule) in [
        ("eager", Run::Eager, None),
        ("replay", Run::Replay, None),
        ("persistent", Run::Persistent, None),
        (
            "persistent, tiles by number",
            Run::Persistent,
            Some(Schedule::Static),
        ),
    ] {
        let shape = PersistentShape {
            schedule,
            ..PersistentShape::default()
        };
        let mut session = session_of(&bundle, context(args), run, shape)?;
        let mut way = Way {
            name: name.into(),
            tok_s: Vec::new(),
            launches: 0,
            enqueue_us: None,
            moved: 0,
        };
        for round in 0..=args.runs {
            session.reset();
            session.prefill(&first, &mut |_, _| {})?;
            session.sample()?;
            // The plan and its kernels are ready before the clock runs.
            if round == 0 {
                session.generate(3, &[], &mut |_| ControlFlow::Continue(()))?;
                continue;
            }
            let (before, start) = (device.stats(), Instant::now());
            session.generate(args.decode + 1, &[], &mut |_| ControlFlow::Continue(()))?;
            let speed = args.decode as f64 / start.elapsed().as_secs_f64();
            way.tok_s.push(speed);
            let counts = device.stats() - before;
            way.launches = match run {
                Run::Replay => counts.enqueues,
                Run::Eager | Run::Persistent => counts.launches,
            };
            way.moved = counts.h2d_bytes + counts.d2h_bytes;
        }
        if run != Run::Persistent {
            session.reset();
            session.prefill(&first, &mut |_, _| {})?;
            session.sample()?;
            let start = Instant::now();
            session.enqueue(TOKENS)?;
            way.enqueue_us = Some(start.elapsed().as_secs_f64() * 1e6 / f64::from(TOKENS));
            session.stream().synchronize()?;
        }
        ways.push(way);
    }
    Ok(Ways {
        tokens: args.decode,
        ways,
    })
}
