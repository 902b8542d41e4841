//! Logits that are not finite are an error that says where, whichever way tokens are made; never a token.

use crate::support::reference;
use std::{ops::ControlFlow, path::Path};
use warpsmith::{
    device::{Device, Selector},
    formats::{
        gguf::{Gguf, Writer},
        quant::{WeightType, dequantize},
    },
    graph::Precision,
    models::{
        Error,
        llama::{
            Bundle, Engine, EngineOptions, Event, Request, Run, SequenceId, Session, SessionOptions,
        },
        sampling::SamplerConfig,
    },
};

/// The dimension of the residual stream that only the embedding writes to.
const DIMENSION: usize = 5;
const PROMPT: [u32; 4] = [1, 5, 9, 200];

/// A model, all of it f32, whose logits leave the range of f32 after `token` and nowhere else: the token alone has a number
/// in one dimension, which no layer reads or writes and which the last norm makes as large as can be.
fn damaged(token: Option<u32>) -> Bundle {
    let path = reference().join("synth/tiny-llama3.gguf");
    let file = Gguf::open(&path).expect("a model");
    let width = file
        .metadata()
        .u32("llama.embedding_length")
        .expect("a width") as usize;
    let mut writer = Writer::new();
    for (key, value) in file.metadata().iter() {
        writer.set(key, value.clone());
    }
    for info in file.tensors() {
        let mut data = Vec::new();
        let mut numbers = vec![0f32; info.elements() as usize];
        file.read(info, &mut data).expect("its bytes");
        dequantize(info.dtype, &data, &mut numbers).expect("numbers");
        let name = info.name.as_str();
        let columns = info.row_len() as usize;
        if name == "token_embd.weight" {
            for (row, numbers) in numbers.chunks_mut(width).enumerate() {
                let own = token == Some(row as u32);
                numbers[DIMENSION] = if own { 1e6 } else { 0.0 };
            }
        } else if name == "output_norm.weight" {
            numbers[DIMENSION] = f32::MAX;
        } else if name == "output.weight" {
            numbers
                .chunks_mut(width)
                .for_each(|row| row[DIMENSION] = 9.0);
        } else if name.ends_with("attn_output.weight") || name.ends_with("ffn_down.weight") {
            numbers[DIMENSION * columns..][..columns].fill(0.0);
        } else if columns == width && info.dims.len() == 2 {
            numbers
                .chunks_mut(width)
                .for_each(|row| row[DIMENSION] = 0.0);
        }
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        writer.add(name, &info.dims, WeightType::F32, bytes);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.gguf");
    std::fs::write(&path, writer.to_bytes().expect("a file")).expect("written");
    open(&path)
}

fn open(path: &Path) -> Bundle {
    let device = Device::open(&Selector::virtual_gpu()).expect("a virtual GPU");
    Bundle::load(&device, path, &mut |_, _| {}).expect("a model")
}

fn session(bundle: &Bundle, precision: Precision, run: Run, lookup: u32) -> Session {
    let options = SessionOptions {
        context: 64,
        precision,
        run,
        lookup,
        ..SessionOptions::default()
    };
    Session::new(&bundle.model, &options).expect("a session")
}

/// Tokens that were made, and how it ended.
fn generated(session: &mut Session, prompt: &[u32], most: usize) -> (Vec<u32>, Result<(), Error>) {
    session.prefill(prompt, &mut |_, _| {}).expect("a prompt");
    let mut tokens = Vec::new();
    let ended = session.generate(most, &[], &mut |token| {
        tokens.push(token);
        ControlFlow::Continue(())
    });
    (tokens, ended.map(drop))
}

/// The greedy tokens of the model without damage, and the first of them that has not come before, with its place.
fn sound(precision: Precision) -> (Vec<u32>, usize) {
    let bundle = damaged(None);
    let mut session = session(&bundle, precision, Run::Eager, 0);
    let (tokens, ended) = generated(&mut session, &PROMPT, 12);
    ended.expect("nothing is damaged");
    let new = |at: &usize| {
        let token = tokens[*at];
        !PROMPT.contains(&token) && !tokens[..*at].contains(&token)
    };
    let at = (2..tokens.len()).find(new).expect("a new token");
    (tokens, at)
}

/// The vocabulary is all that is not finite: `found` in full, where it is counted.
fn check(error: Error, position: usize, sequence: Option<u64>, what: &str) {
    match error {
        Error::NotFinite {
            sequence: whose,
            position: at,
            found,
        } => {
            assert_eq!((at as usize, whose), (position, sequence), "{what}");
            let some = found.is_none_or(|[odd, all]| odd > 0 && odd <= all);
            assert!(
                some && found.is_some() == sequence.is_none(),
                "{what}: {found:?}"
            );
        }
        other => panic!("{what}: {other}"),
    }
}

#[test]
fn a_token_after_which_logits_are_not_finite_ends_every_way_to_generate_with_its_position() {
    for precision in [Precision::Exact, Precision::Fast] {
        let (tokens, at) = sound(precision);
        let bundle = damaged(Some(tokens[at]));
        for (run, lookup, tokens_per_launch) in [
            (Run::Eager, 0, 0),
            (Run::Replay, 0, 0),
            (Run::Persistent, 0, 0),
            (Run::Persistent, 0, 2),
            (Run::Replay, 6, 0),
            (Run::Eager, 2, 0),
        ] {
            let what = format!("{precision:?} {run:?} lookup {lookup} by {tokens_per_launch}");
            let options = SessionOptions {
                context: 64,
                precision,
                run,
                lookup,
                tokens_per_launch,
                ..SessionOptions::default()
            };
            let mut session = Session::new(&bundle.model, &options).expect("a session");
            let (found, ended) = generated(&mut session, &PROMPT, 12);
            assert_eq!(found, tokens[..=at], "{what}");
            check(ended.expect_err(&what), PROMPT.len() + at, None, &what);
            // The tokens before are the session's, and it goes on from any of them.
            assert_eq!(session.len() as usize, PROMPT.len() + at + 1, "{what}");
            let error = session.logits().expect_err("no logits");
            check(error, PROMPT.len() + at, None, &what);
            session.truncate(PROMPT.len() as u32 - 1);
            let (again, ended) = generated(&mut session, &PROMPT[3..], at);
            ended.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(again, tokens[..at], "{what}");
        }
    }
}

#[test]
fn drawn_tokens_are_refused_like_the_most_probable_ones() {
    let bundle = damaged(Some(200));
    for config in [
        SamplerConfig::default(),
        SamplerConfig {
            temperature: 1.0,
            top_k: 40,
            repeat_penalty: 1.3,
            ..SamplerConfig::default()
        },
        SamplerConfig {
            temperature: 0.7,
            top_p: 0.9,
            seed: 3,
            ..SamplerConfig::default()
        },
    ] {
        let mut session = session(&bundle, Precision::Exact, Run::Replay, 0);
        session.sampler(&config).expect("a sampler");
        session.prefill(&PROMPT, &mut |_, _| {}).expect("a prompt");
        for _ in 0..2 {
            let error = session.sample().expect_err("no token");
            check(error, PROMPT.len() - 1, None, &format!("{config:?}"));
        }
    }
}

#[test]
fn logits_of_a_prompt_are_given_only_where_all_are_finite() {
    let bundle = damaged(Some(9));
    let mut session = session(&bundle, Precision::Exact, Run::Eager, 0);
    let mut seen = 0;
    let error = session.evaluate(&PROMPT, &mut |_, _| seen += 1);
    check(error.expect_err("no logits"), 2, None, "evaluate");
    assert_eq!(seen, 0);
    session.reset();
    session
        .evaluate(&PROMPT[..2], &mut |_, rows| seen += rows.len())
        .expect("logits");
    assert_eq!(seen, 2 * bundle.model.config().vocab as usize);
    // Later tokens do not see the dimension.
    session.reset();
    session.prefill(&PROMPT, &mut |_, _| {}).expect("a prompt");
    session.logits().expect("logits");
}

#[test]
fn of_many_sequences_only_those_fail_whose_logits_are_not_finite() {
    let (tokens, at) = sound(Precision::Exact);
    let bundle = damaged(Some(tokens[at]));
    let options = EngineOptions {
        context: 64,
        precision: Precision::Exact,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    let request = |prompt: &[u32], max_tokens| Request {
        prompt: prompt.to_vec(),
        sampler: SamplerConfig::default(),
        max_tokens,
        ends: Vec::new(),
        ..Request::default()
    };
    let own = |prompt: &[u32], most| {
        let mut session = session(&bundle, Precision::Exact, Run::Eager, 0);
        generated(&mut session, prompt, most).0
    };
    // One ends before the damage, one comes to it, one begins with it.
    let mut ends_with_it = vec![3];
    ends_with_it.push(tokens[at]);
    let requests = [
        request(&PROMPT, at as u32),
        request(&PROMPT, 12),
        request(&ends_with_it, 3),
        request(&[7, 8], 2),
    ];
    let ids = requests
        .each_ref()
        .map(|request| engine.submit(request.clone()).expect("a sequence"));
    let mut found: Vec<Vec<u32>> = vec![Vec::new(); ids.len()];
    let mut failed: Vec<Option<Error>> = ids.iter().map(|_| None).collect();
    let place = |id: SequenceId| ids.iter().position(|own| *own == id).expect("submitted");
    while !engine.is_idle() {
        for event in engine.step().expect("a step") {
            match event {
                Event::Token { id, token } => found[place(id)].push(token),
                Event::Finished { .. } => {}
                Event::Failed { id, error } => failed[place(id)] = Some(error),
            }
        }
    }
    assert_eq!(found[0], tokens[..at]);
    assert_eq!(found[1], tokens[..=at]);
    assert!(found[2].is_empty(), "{:?}", found[2]);
    assert_eq!(found[3], own(&[7, 8], 2));
    let mut failed = failed.into_iter();
    let mut next = || failed.next().flatten();
    assert!(next().is_none(), "the first");
    check(
        next().expect("a failure"),
        PROMPT.len() + at,
        Some(1),
        "the second",
    );
    check(next().expect("a failure"), 1, Some(2), "the third");
    assert!(next().is_none(), "the last");
    let report = engine.report();
    assert_eq!(report.free_pages, report.pages, "pages come back");
}
