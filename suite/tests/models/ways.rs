//! SmolLM2 three ways, and many sequences of it at once: the shared prompts give the same tokens however they are run.

use crate::support::{ids, json, load};
use std::ops::ControlFlow;
use warpsmith::{
    graph::Precision,
    models::{
        llama::{Bundle, Engine, EngineOptions, Event, Request, Run, Session, SessionOptions},
        sampling::SamplerConfig,
    },
};
use warpsmith_suite::places::smollm2;

/// Tokens that each way makes in ordinary tests; WARPSMITH_TOKENS asks for others.
const TOKENS: usize = 4;

pub(crate) fn tokens_to_make() -> usize {
    let asked = std::env::var("WARPSMITH_TOKENS").ok();
    asked.map_or(TOKENS, |number| number.parse().expect("a number"))
}

/// Goes on from `prompt` but for its last token, which the session has evaluated, by each way: equal tokens, logits of
/// eager steps and replays of equal bits, those of the persistent kernel within 1e-4 of them.
pub(crate) fn check_ways(session: &mut Session, prompt: &[u32], what: &str) {
    let (last, before) = prompt.split_last().expect("a prompt");
    let most = tokens_to_make();
    let mut found = Vec::new();
    for run in [Run::Eager, Run::Replay, Run::Persistent] {
        session.truncate(before.len() as u32);
        assert_eq!(session.tokens(), before, "{what}");
        session.run_by(run);
        session.prefill(&[*last], &mut |_, _| {}).expect("a prompt");
        let mut tokens = Vec::new();
        session
            .generate(most, &[], &mut |token| {
                tokens.push(token);
                ControlFlow::Continue(())
            })
            .expect("a generation");
        let logits = session.logits().expect("logits");
        found.push((run, tokens, logits));
    }
    let (_, want, logits) = &found[0];
    let mut furthest = 0f32;
    for (run, tokens, own) in &found[1..] {
        assert_eq!(tokens, want, "{what} {run:?}");
        for (own, logit) in own.iter().zip(logits) {
            match run {
                Run::Eager | Run::Replay => assert_eq!(own.to_bits(), logit.to_bits(), "{what}"),
                Run::Persistent => furthest = furthest.max((own - logit).abs()),
            }
        }
    }
    println!("{what}: {most} tokens, persistent logits differ by {furthest:e}");
    assert!(furthest <= 1e-4, "{what}: logits differ by {furthest}");
}

/// Prompts of many lengths: the shared ones and their beginnings.
fn requests(most: usize) -> Vec<Request> {
    let names = [
        "raw_space",
        "raw_france",
        "raw_python",
        "chat_sky",
        "chat_unicode",
        "raw_long",
    ];
    let whole = most >= 64;
    let mut requests = Vec::new();
    for part in [1, 2, 3] {
        for (at, name) in names.into_iter().enumerate() {
            let prompt = ids(&json(&format!("llm/{name}.json"))["ids"]);
            let long = if whole { 200 } else { 24 };
            let len = (prompt.len().min(long) / part).max(1);
            requests.push(Request {
                prompt: prompt[..len].to_vec(),
                sampler: SamplerConfig::default(),
                // Each leaves at its own time.
                max_tokens: (most - most / 3 * (at + part) % most).max(1) as u32,
                ends: Vec::new(),
                ..Request::default()
            });
        }
    }
    requests.truncate(if whole { 18 } else { 6 });
    requests
}

fn alone(bundle: &Bundle, request: &Request) -> Vec<u32> {
    let options = SessionOptions {
        context: 512,
        precision: Precision::Exact,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session
        .prefill(&request.prompt, &mut |_, _| {})
        .expect("a prompt");
    let mut tokens = Vec::new();
    session
        .generate(request.max_tokens as usize, &[], &mut |token| {
            tokens.push(token);
            ControlFlow::Continue(())
        })
        .expect("a generation");
    tokens
}

#[test]
fn smollm2s_sequences_that_join_and_leave_give_the_tokens_of_each_alone() {
    let bundle = load(&smollm2());
    let requests = requests(tokens_to_make());
    let options = EngineOptions {
        context: 512,
        precision: Precision::Exact,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    let mut waiting = requests.iter().enumerate();
    let mut found = vec![Vec::new(); requests.len()];
    let mut places = Vec::new();
    let mut together = 0;
    loop {
        // Two join before each step.
        for (at, request) in waiting.by_ref().take(2) {
            places.push((engine.submit(request.clone()).expect("a sequence"), at));
        }
        if engine.is_idle() {
            break;
        }
        for event in engine.step().expect("a step") {
            match event {
                Event::Token { id, token } => {
                    let (_, at) = places
                        .iter()
                        .find(|(own, _)| *own == id)
                        .expect("submitted");
                    found[*at].push(token);
                }
                Event::Finished { .. } => {}
                Event::Failed { id, error } => panic!("{id}: {error}"),
            }
        }
        together = together.max(engine.running());
    }
    println!("at most {together} of {} at once", requests.len());
    assert!(together >= 3, "{together}");
    for (request, got) in requests.iter().zip(&found) {
        let want = alone(&bundle, request);
        assert_eq!(*got, want, "{} tokens", request.prompt.len());
    }
}
