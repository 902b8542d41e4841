//! A model from its file to tokens: loading, prefill, decode.

use super::device;
use crate::{Failed, args::Args, host};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use warpsmith::{
    device::Device,
    graph::{PersistentShape, Precision},
    models::llama::{Bundle, Run, Session, SessionOptions},
};

/// Time from nothing to a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FirstToken {
    /// Until the weights are on the device.
    pub(crate) load_s: f64,
    /// Until a token of a prompt of one is on the host.
    pub(crate) first_token_s: f64,
    pub(crate) peak_mib: Option<f64>,
}

/// Tokens a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Speed {
    pub(crate) tokens: usize,
    /// Of each counted run.
    pub(crate) tok_s: Vec<f64>,
    pub(crate) launches_per_token: Option<u64>,
    pub(crate) peak_mib: Option<f64>,
}

/// Tokens of a long prompt, those in front of the tokens that follow a long one, and how many of these are timed.
const LONG: [usize; 3] = [2048, 2000, 32];

/// A long prompt, and tokens with a long one behind them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Long {
    pub(crate) prefill: Speed,
    /// Its `tokens` are those in front.
    pub(crate) decode: Speed,
}

/// The ids that every peer is fed: spread over the vocabulary, the same on each run.
pub(super) fn ids(count: usize, vocab: u32) -> Vec<u32> {
    let id = |at: usize| (100 + at * 7919 % 40_000) as u32 % vocab;
    (0..count).map(id).collect()
}

pub(super) fn load(args: &Args) -> Result<Bundle, Failed> {
    load_to(&device(args)?, args)
}

pub(super) fn load_to(device: &Device, args: &Args) -> Result<Bundle, Failed> {
    Ok(Bundle::load(device, &args.model, &mut |_, _| {})?)
}

pub(super) fn session(args: &Args, bundle: &Bundle, run: Run) -> Result<Session, Failed> {
    session_of(bundle, context(args), run, PersistentShape::default())
}

/// Tokens that the measurements of prompts and tokens need room for.
pub(super) fn context(args: &Args) -> u32 {
    (args.prefill.max(args.decode + 1) + 32) as u32
}

/// For so many tokens, with a persistent kernel of this form.
pub(super) fn session_of(
    bundle: &Bundle,
    context: u32,
    run: Run,
    shape: PersistentShape,
) -> Result<Session, Failed> {
    let options = SessionOptions {
        context,
        precision: Precision::Fast,
        run,
        shape,
        ..SessionOptions::default()
    };
    Ok(Session::new(&bundle.model, &options)?)
}

pub(crate) fn first_token(args: &Args) -> Result<FirstToken, Failed> {
    let start = Instant::now();
    let bundle = load(args)?;
    let load_s = start.elapsed().as_secs_f64();
    let mut session = session(args, &bundle, Run::Replay)?;
    session.prefill(&ids(1, bundle.model.config().vocab), &mut |_, _| {})?;
    session.sample()?;
    Ok(FirstToken {
        load_s,
        first_token_s: start.elapsed().as_secs_f64(),
        peak_mib: host::peak_mib(),
    })
}

pub(crate) fn prefill(args: &Args) -> Result<Speed, Failed> {
    let bundle = load(args)?;
    let ids = ids(args.prefill, bundle.model.config().vocab);
    let mut session = session(args, &bundle, Run::Replay)?;
    let mut tok_s = Vec::new();
    for run in 0..=args.runs {
        session.reset();
        let start = Instant::now();
        session.prefill(&ids, &mut |_, _| {})?;
        let speed = args.prefill as f64 / start.elapsed().as_secs_f64();
        if run > 0 {
            tok_s.push(speed);
        }
    }
    Ok(Speed {
        tokens: args.prefill,
        tok_s,
        launches_per_token: None,
        peak_mib: host::peak_mib(),
    })
}

pub(crate) fn decode(args: &Args) -> Result<Speed, Failed> {
    let bundle = load(args)?;
    let first = ids(1, bundle.model.config().vocab);
    let mut session = session(args, &bundle, Run::Replay)?;
    let mut tok_s = Vec::new();
    for run in 0..=args.runs {
        session.reset();
        session.prefill(&first, &mut |_, _| {})?;
        session.sample()?;
        let start = Instant::now();
        for _ in 0..args.decode {
            session.step()?;
        }
        let speed = args.decode as f64 / start.elapsed().as_secs_f64();
        if run > 0 {
            tok_s.push(speed);
        }
    }
    Ok(Speed {
        tokens: args.decode,
        tok_s,
        launches_per_token: Some(session.launches_per_step()?),
        peak_mib: host::peak_mib(),
    })
}

pub(crate) fn long(args: &Args) -> Result<Long, Failed> {
    let [tokens, context, steps] = LONG;
    let bundle = load(args)?;
    let ids = ids(tokens, bundle.model.config().vocab);
    let room = (tokens + steps) as u32;
    let mut session = session_of(&bundle, room, Run::Replay, PersistentShape::default())?;
    let (mut prefill, mut decode) = (Vec::new(), Vec::new());
    for run in 0..=args.runs {
        session.reset();
        let start = Instant::now();
        session.prefill(&ids, &mut |_, _| {})?;
        let prefilled = tokens as f64 / start.elapsed().as_secs_f64();
        session.reset();
        session.prefill(&ids[..context], &mut |_, _| {})?;
        session.sample()?;
        let start = Instant::now();
        for _ in 0..steps {
            session.step()?;
        }
        let decoded = steps as f64 / start.elapsed().as_secs_f64();
        if run > 0 {
            prefill.push(prefilled);
            decode.push(decoded);
        }
    }
    let speed = |tokens, tok_s| Speed {
        tokens,
        tok_s,
        launches_per_token: None,
        peak_mib: host::peak_mib(),
    };
    Ok(Long {
        prefill: speed(tokens, prefill),
        decode: speed(context, decode),
    })
}
