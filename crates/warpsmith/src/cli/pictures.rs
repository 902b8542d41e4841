//! Pictures that the page of `serve` shows: those of `graph` and of `profile`, of a model that is served.

use super::{
    graph::words,
    profile::{PROMPT, of_session, roof_of},
};
use anyhow::{Context, Result};
use std::sync::Arc;
use warpsmith::models::{
    llama::{Bundle, Session, SessionOptions},
    tokenizer::Special,
};
use warpsmith_server::{Picture, Pictures};

/// Steps that are measured behind the prompt.
const STEPS: u32 = 8;

/// Makes those of a model, each in a session of its own with `options`; `threads` are those of the virtual GPU.
pub(super) fn of(bundle: &Arc<Bundle>, options: SessionOptions, threads: Option<u16>) -> Pictures {
    let (own, other) = (Arc::clone(bundle), Arc::clone(bundle));
    Pictures {
        graph: Box::new(move || said(graph(&own, &options))),
        roofline: Box::new(move || said(roofline(&other, &options, threads))),
    }
}

fn said(made: Result<Picture>) -> Result<Picture, String> {
    made.map_err(|error| format!("{error:#}"))
}

fn graph(bundle: &Bundle, options: &SessionOptions) -> Result<Picture> {
    let session = Session::new(&bundle.model, options)?;
    let (stream, precision) = (session.stream(), options.precision);
    let plain = session.decode_graph()?;
    let fused = plain.fused(stream, precision);
    Ok(Picture {
        svg: fused.svg(),
        words: words(stream, precision, [&plain, &fused])?,
    })
}

fn roofline(bundle: &Bundle, options: &SessionOptions, threads: Option<u16>) -> Result<Picture> {
    let mut ids = bundle.tokenizer.encode(PROMPT, Special::Parse)?;
    let room = options.context.checked_sub(STEPS + 1);
    let room = room.context("the context holds too few tokens to be measured")?;
    ids.truncate(room as usize);
    let roof = roof_of(bundle.model.device(), bundle.model.bytes(), threads)?;
    let session = Session::new(&bundle.model, options)?;
    let (profile, _timeline) = of_session(session, &ids, STEPS, roof)?;
    Ok(Picture {
        svg: profile.svg(),
        words: profile.text(),
    })
}
