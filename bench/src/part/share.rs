//! Where the time goes: device time by kernel of one prompt and of one token, launched eagerly between events.

use super::model::{ids, load, session};
use crate::{Failed, args::Args};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Instant};
use warpsmith::{
    device::{LaunchTime, Stream},
    models::llama::Run,
};

/// Device time by kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Share {
    /// Wall time of the work while it was timed.
    pub(crate) wall_ms: f64,
    /// The longest first.
    pub(crate) kernels: Vec<Kernel>,
}

/// The launches of one kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) launches: usize,
    pub(crate) ms: f64,
}

/// Times `work`, which the caller did once before.
pub(super) fn timed(
    stream: &Stream,
    work: impl FnOnce() -> Result<(), Failed>,
) -> Result<Share, Failed> {
    let start = Instant::now();
    let ((), times) = stream.time_launches(work)?;
    let wall_ms = 1e3 * start.elapsed().as_secs_f64();
    let mut by_name: BTreeMap<String, Kernel> = BTreeMap::new();
    for LaunchTime { kernel, time } in times {
        let name = kernel.to_string();
        let own = by_name.entry(name.clone()).or_insert(Kernel {
            name,
            launches: 0,
            ms: 0.0,
        });
        own.launches += 1;
        own.ms += 1e3 * time.as_secs_f64();
    }
    let mut kernels: Vec<Kernel> = by_name.into_values().collect();
    kernels.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    Ok(Share { wall_ms, kernels })
}

pub(crate) fn prefill(args: &Args) -> Result<Share, Failed> {
    let bundle = load(args)?;
    let ids = ids(args.prefill, bundle.model.config().vocab);
    let mut session = session(args, &bundle, Run::Eager)?;
    session.prefill(&ids, &mut |_, _| {})?;
    session.reset();
    let stream = session.stream().clone();
    timed(&stream, || Ok(session.prefill(&ids, &mut |_, _| {})?))
}

/// The token in the middle of the decode measurement.
pub(crate) fn decode(args: &Args) -> Result<Share, Failed> {
    let bundle = load(args)?;
    let mut session = session(args, &bundle, Run::Eager)?;
    session.prefill(&ids(1, bundle.model.config().vocab), &mut |_, _| {})?;
    session.sample()?;
    for _ in 0..args.decode / 2 {
        session.step()?;
    }
    let stream = session.stream().clone();
    timed(&stream, || Ok(session.step().map(drop)?))
}
