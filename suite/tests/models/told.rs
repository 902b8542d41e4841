//! Engines tell what tokens were drawn from, add biases, and neither changes anything of other sequences.

use crate::support::{load, reference};
use std::collections::BTreeMap;
use warpsmith::{
    graph::Precision,
    models::{
        Error,
        llama::{
            Bundle, Engine, EngineOptions, Event, Request, Run, SequenceId, Session,
            SessionOptions, WhenFull,
        },
        sampling::SamplerConfig,
    },
};

const CONTEXT: u32 = 128;

fn model() -> Bundle {
    load(&reference().join("synth/tiny-llama3.gguf"))
}

fn prompt(seed: u32, len: u32) -> Vec<u32> {
    (0..len)
        .map(|at| (seed * 31 + at * 7 + at * at) % 500)
        .collect()
}

fn request(prompt: Vec<u32>, max_tokens: u32) -> Request {
    Request {
        prompt,
        max_tokens,
        ..Request::default()
    }
}

/// Tokens and the logits that each was drawn from, by single steps of a session.
fn alone(bundle: &Bundle, request: &Request) -> Vec<(u32, Vec<f32>)> {
    let options = SessionOptions {
        context: CONTEXT,
        precision: Precision::Exact,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session.sampler(&request.sampler).expect("a sampler");
    session
        .prefill(&request.prompt, &mut |_, _| {})
        .expect("a prompt");
    let mut all = Vec::new();
    for at in 0..request.max_tokens {
        let token = match at {
            0 => session.sample(),
            _ => session.step(),
        };
        all.push((token.expect("a token"), session.logits().expect("logits")));
    }
    all
}

/// Runs everything; tokens of each with what was told of them.
fn run(engine: &mut Engine) -> BTreeMap<SequenceId, Vec<(u32, Option<Vec<f32>>)>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    while !engine.is_idle() {
        for event in engine.step().expect("a step") {
            match event {
                Event::Token { id, token } => {
                    let told = engine.logits(id).map(<[f32]>::to_vec);
                    found.entry(id).or_default().push((token, told));
                }
                Event::Finished { .. } => {}
                Event::Failed { error, .. } => panic!("{error}"),
            }
        }
    }
    found
}

#[test]
fn logits_are_those_of_a_session_and_biases_change_their_own_sequence_alone() {
    let bundle = model();
    let warm = SamplerConfig {
        temperature: 1.0,
        seed: 5,
        ..SamplerConfig::default()
    };
    for run_by in [Run::Replay, Run::Eager] {
        let options = EngineOptions {
            context: CONTEXT,
            precision: Precision::Exact,
            run: run_by,
            ..EngineOptions::default()
        };
        let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
        let plain: Vec<Request> = (0..6)
            .map(|at| Request {
                sampler: if at % 2 == 0 {
                    warm
                } else {
                    SamplerConfig::default()
                },
                logits: at % 3 == 0,
                ..request(prompt(at, 5 + 9 * at), 4 + 3 * at)
            })
            .collect();
        // One token again and again; the best token forbidden; a bias that changes nothing.
        let best = alone(&bundle, &request(prompt(7, 20), 1))[0].0;
        let biased = [
            Request {
                bias: vec![(77, 1e6)],
                logits: true,
                ..request(prompt(7, 20), 9)
            },
            Request {
                bias: vec![(best, f32::NEG_INFINITY)],
                ..request(prompt(7, 20), 15)
            },
            Request {
                bias: vec![(3, 0.0)],
                ..request(prompt(8, 30), 21)
            },
        ];
        let mut ids = Vec::new();
        // They come between the others and leave before them.
        for at in 0..6 {
            ids.push(engine.submit(plain[at].clone()).expect("a sequence"));
            if let Some(biased) = biased.get(at) {
                ids.push(engine.submit(biased.clone()).expect("a sequence"));
            }
        }
        let all: Vec<Request> = (0..6)
            .flat_map(|at| [plain.get(at), biased.get(at)])
            .flatten()
            .cloned()
            .collect();
        let found = run(&mut engine);
        for (id, request) in ids.iter().zip(&all) {
            let got = &found[id];
            assert_eq!(got.len(), request.max_tokens as usize);
            let tokens: Vec<u32> = got.iter().map(|(token, _)| *token).collect();
            match request.bias[..] {
                [(77, _)] => assert_eq!(tokens, [77; 9]),
                [(_, f32::NEG_INFINITY)] => assert!(!tokens.contains(&best), "{tokens:?}"),
                _ => {
                    let want = alone(&bundle, request);
                    let want_tokens: Vec<u32> = want.iter().map(|(token, _)| *token).collect();
                    assert_eq!(tokens, want_tokens, "sequence {id}");
                    for ((_, told), (_, logits)) in got.iter().zip(&want) {
                        let told = told.as_ref();
                        assert_eq!(told.is_some(), request.logits);
                        assert!(told.is_none_or(|told| told == logits), "sequence {id}");
                    }
                }
            }
            if request.logits && !request.bias.is_empty() {
                // Logits are told as they are without the bias.
                let first = got[0].1.as_ref().expect("told");
                let want = &alone(
                    &bundle,
                    &Request {
                        bias: vec![],
                        ..request.clone()
                    },
                )[0]
                .1;
                assert_eq!(first, want);
            }
        }
        // Who comes into a slot that had a bias has none.
        let last = request(prompt(9, 11), 12);
        let id = engine.submit(last.clone()).expect("a sequence");
        let tokens: Vec<u32> = run(&mut engine)[&id]
            .iter()
            .map(|(token, _)| *token)
            .collect();
        let want: Vec<u32> = alone(&bundle, &last)
            .iter()
            .map(|(token, _)| *token)
            .collect();
        assert_eq!(tokens, want);
    }
}

#[test]
fn a_sequence_that_waits_again_keeps_its_bias() {
    let bundle = model();
    let options = EngineOptions {
        context: CONTEXT,
        precision: Precision::Exact,
        pages: 6,
        when_full: WhenFull::Evict,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    let plain = [request(prompt(1, 5), 60), request(prompt(2, 7), 60)];
    let biased = Request {
        bias: vec![(77, 1e6)],
        logits: true,
        ..request(prompt(3, 6), 60)
    };
    let all = [biased, plain[0].clone(), plain[1].clone()];
    let ids = all
        .each_ref()
        .map(|request| engine.submit(request.clone()).expect("a sequence"));
    let found = run(&mut engine);
    assert!(engine.report().evicted > 0, "{:?}", engine.report());
    let tokens = |id| {
        found[&id]
            .iter()
            .map(|(token, _)| *token)
            .collect::<Vec<u32>>()
    };
    assert_eq!(tokens(ids[0]), [77; 60]);
    assert!(found[&ids[0]].iter().all(|(_, told)| told.is_some()));
    for (id, request) in ids[1..].iter().zip(&plain) {
        let want = alone(&bundle, request);
        let want: Vec<u32> = want.iter().map(|(token, _)| *token).collect();
        assert_eq!(tokens(*id), want);
    }
}

#[test]
fn a_mask_says_which_tokens_may_come_and_can_change_at_every_step() {
    let bundle = model();
    let options = EngineOptions {
        context: CONTEXT,
        precision: Precision::Exact,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    let of = |ids: &[u32]| {
        let mut words = vec![0u32; 1000usize.div_ceil(32)];
        for id in ids {
            words[*id as usize / 32] |= 1 << (id % 32);
        }
        Some(words)
    };
    let masked = engine.submit(Request {
        mask: of(&[31, 999]),
        // What a mask forbids no bias brings back.
        bias: vec![(5, 1e9), (31, 1e3)],
        ..request(prompt(1, 9), 6)
    });
    let masked = masked.expect("a sequence");
    let other = request(prompt(2, 12), 6);
    let beside = engine.submit(other.clone()).expect("a sequence");
    let mut tokens: BTreeMap<SequenceId, Vec<u32>> = BTreeMap::new();
    let masks = [of(&[0]), of(&[640, 641]), of(&[999]), None, of(&[7])];
    let mut next = masks.into_iter();
    while !engine.is_idle() {
        for event in engine.step().expect("a step") {
            if let Event::Token { id, token } = event {
                tokens.entry(id).or_default().push(token);
                if id == masked
                    && let Some(mask) = next.next()
                {
                    assert!(engine.mask(id, mask).expect("a mask"));
                }
            }
        }
    }
    let got = &tokens[&masked];
    assert_eq!((got[0], got[1], got[3], got[4], got[5]), (31, 0, 999, 5, 7));
    assert!([640, 641].contains(&got[2]), "{got:?}");
    let want: Vec<u32> = alone(&bundle, &other)
        .iter()
        .map(|(token, _)| *token)
        .collect();
    assert_eq!(tokens[&beside], want);
    assert!(!engine.mask(masked, None).expect("nobody is there"));
}

#[test]
fn a_bias_of_no_token_or_no_number_is_refused() {
    let bundle = model();
    let options = EngineOptions {
        context: CONTEXT,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    let mut refused = |bias| {
        let request = Request {
            bias,
            ..request(prompt(1, 3), 1)
        };
        engine.submit(request).expect_err("no bias")
    };
    let outside = refused(vec![(1000, 1.0)]);
    assert!(matches!(
        outside,
        Error::TokenId {
            what: "token id of a bias",
            id: 1000,
            vocab: 1000
        }
    ));
    for odd in [f32::NAN, f32::INFINITY] {
        let error = refused(vec![(1, odd)]);
        assert!(
            matches!(error, Error::Sampler { field: "bias", .. }),
            "{error}"
        );
    }
}

#[test]
fn an_engine_says_how_many_pages_are_shared() {
    let bundle = model();
    let options = EngineOptions {
        context: CONTEXT,
        ..EngineOptions::default()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    let long = prompt(3, 40);
    for _ in 0..2 {
        engine
            .submit(request(long.clone(), 30))
            .expect("a sequence");
        engine.step().expect("a step");
    }
    assert_eq!(engine.report().shared_pages, 2);
    run(&mut engine);
    assert_eq!(engine.report().shared_pages, 0);
}
