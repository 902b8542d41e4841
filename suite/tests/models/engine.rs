//! Engines: many sequences at once give what each gives alone, in pages that come back.

use crate::support::{load, reference};
use std::collections::BTreeMap;
use std::{ops::ControlFlow, sync::Arc};
use warpsmith::{
    device::{Device, Selector, Settings},
    graph::Precision,
    library::case::Random,
    models::{
        Error,
        llama::{
            Bundle, Ended, Engine, EngineOptions, Event, Model, Request, Run, SequenceId, Session,
            SessionOptions, WhenFull,
        },
        sampling::SamplerConfig,
    },
};

const CONTEXT: u32 = 128;

fn options() -> EngineOptions {
    EngineOptions {
        context: CONTEXT,
        precision: Precision::Exact,
        ..EngineOptions::default()
    }
}

fn model() -> Bundle {
    load(&reference().join("synth/tiny-llama3.gguf"))
}

/// A prompt of so many tokens, another one for each seed.
fn prompt(seed: u32, len: u32) -> Vec<u32> {
    (0..len)
        .map(|at| (seed * 31 + at * 7 + at * at) % 500)
        .collect()
}

fn request(prompt: Vec<u32>, max_tokens: u32) -> Request {
    Request {
        prompt,
        sampler: SamplerConfig::default(),
        max_tokens,
        ends: Vec::new(),
        ..Request::default()
    }
}

fn warm(seed: u64) -> SamplerConfig {
    SamplerConfig {
        temperature: 1.0,
        repeat_penalty: 1.1,
        seed,
        ..SamplerConfig::default()
    }
}

/// What a session gives for the same request.
fn alone(model: &Arc<Model>, request: &Request) -> (Vec<u32>, Ended) {
    alone_in(Precision::Exact, model, request)
}

fn alone_in(precision: Precision, model: &Arc<Model>, request: &Request) -> (Vec<u32>, Ended) {
    alone_of(CONTEXT, precision, model, request)
}

fn alone_of(
    context: u32,
    precision: Precision,
    model: &Arc<Model>,
    request: &Request,
) -> (Vec<u32>, Ended) {
    let options = SessionOptions {
        context,
        precision,
        ..SessionOptions::default()
    };
    let mut session = Session::new(model, &options).expect("a session");
    session.sampler(&request.sampler).expect("a sampler");
    session
        .prefill(&request.prompt, &mut |_, _| {})
        .expect("a prompt");
    let mut tokens = Vec::new();
    let ended = session
        .generate(request.max_tokens as usize, &request.ends, &mut |token| {
            tokens.push(token);
            ControlFlow::Continue(())
        })
        .expect("a generation");
    (tokens, ended)
}

/// What came of each sequence.
#[derive(Default)]
struct Found {
    tokens: BTreeMap<SequenceId, Vec<u32>>,
    ended: BTreeMap<SequenceId, Ended>,
    failed: BTreeMap<SequenceId, Error>,
}

impl Found {
    fn take(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::Token { id, token } => self.tokens.entry(id).or_default().push(token),
                Event::Finished { id, ended } => {
                    assert!(self.ended.insert(id, ended).is_none(), "{id} ends twice");
                }
                Event::Failed { id, error } => {
                    assert!(self.failed.insert(id, error).is_none(), "{id} fails twice");
                }
            }
        }
    }

    fn finish(&mut self, engine: &mut Engine) {
        while !engine.is_idle() {
            self.take(engine.step().expect("a step"));
        }
        let report = engine.report();
        assert_eq!(report.free_pages, report.pages, "pages come back");
    }
}

#[test]
fn ragged_sequences_that_join_and_leave_give_the_tokens_of_each_alone() {
    let bundle = model();
    // Prompts of one token to several chunks and pages, greedy and drawn, ended by length, by a token, by the context.
    let mut requests: Vec<Request> = (0..16)
        .map(|at| Request {
            sampler: if at % 3 == 0 {
                warm(u64::from(at))
            } else {
                SamplerConfig::default()
            },
            ..request(prompt(at, 1 + at * at % 90), 3 + at * 5 % 17)
        })
        .collect();
    requests[4].ends = vec![alone(&bundle.model, &requests[4]).0[1]];
    requests[7] = request(prompt(7, 125), 40);
    let want: Vec<_> = requests
        .iter()
        .map(|request| alone(&bundle.model, request))
        .collect();
    assert_eq!(want[7].1, Ended::Context);
    for (sequences, page, run) in [(16, 16, Run::Replay), (5, 32, Run::Eager)] {
        let options = EngineOptions {
            sequences,
            page,
            run,
            ..options()
        };
        let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
        let mut found = Found::default();
        let mut ids = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            ids.push(engine.submit(request.clone()).expect("a sequence"));
            // Eight begin together, the others come one by one.
            if at >= 8 {
                found.take(engine.step().expect("a step"));
            }
        }
        found.finish(&mut engine);
        for (id, want) in ids.iter().zip(&want) {
            let got = (found.tokens[id].clone(), found.ended[id]);
            assert_eq!(&got, want, "sequence {id} of {sequences} at once");
        }
        assert!(found.failed.is_empty());
        // Steps of 1, 2, 4, 8, 16 rows; prompts of 1 to 128 rows, with a draw and without.
        assert!(engine.report().plans <= 5 + 8 + 8, "{:?}", engine.report());
    }
}

#[test]
fn long_prompts_in_fast_runs_give_the_tokens_of_each_alone() {
    let bundle = model();
    let options = EngineOptions {
        precision: Precision::Fast,
        ..options()
    };
    let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
    // Passes of 16, 32 and 64 rows, some with rows of nobody in front, from the beginning and further on.
    let requests = [17, 64, 90, 110].map(|len| request(prompt(len, len), 6));
    let mut found = Found::default();
    let ids = requests
        .each_ref()
        .map(|request| engine.submit(request.clone()).expect("a sequence"));
    found.finish(&mut engine);
    for (id, request) in ids.iter().zip(&requests) {
        let got = (found.tokens[id].clone(), found.ended[id]);
        let want = alone_in(Precision::Fast, &bundle.model, request);
        assert_eq!(got, want, "{} tokens", request.prompt.len());
    }
}

#[test]
fn prompts_of_any_length_and_sixty_four_sequences_give_the_tokens_of_each_alone() {
    let bundle = model();
    for (precision, prompt_tokens) in [
        (Precision::Exact, 512),
        (Precision::Exact, 33),
        (Precision::Fast, 33),
    ] {
        let options = EngineOptions {
            sequences: 64,
            context: 1024,
            page: 32,
            pages: 150,
            precision,
            prompt_tokens,
            ..options()
        };
        let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
        let mut found = Found::default();
        // Some of several passes, one of them while others run; then as many as there are places, and some that wait.
        let lengths = [700, 1, 65, 513, 97]
            .into_iter()
            .chain((0..66).map(|at| 1 + at % 5));
        let requests: Vec<Request> = (0..)
            .zip(lengths)
            .map(|(at, len)| request(prompt(at, len), 3 + at % 4))
            .collect();
        let mut ids = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            ids.push(engine.submit(request.clone()).expect("a sequence"));
            if at < 5 {
                found.take(engine.step().expect("a step"));
            }
        }
        let mut most = 0;
        while !engine.is_idle() {
            found.take(engine.step().expect("a step"));
            most = most.max(engine.running());
        }
        found.finish(&mut engine);
        if prompt_tokens == 512 {
            assert_eq!(most, 64, "places that were taken");
        }
        for (id, request) in ids.iter().zip(&requests) {
            let got = &found.tokens[id];
            assert_eq!(got.len(), request.max_tokens as usize);
            // Where a prompt is cut decides how fast runs round: two tokens that are nearly as probable may change places.
            if precision == Precision::Exact {
                let want = alone_of(1024, precision, &bundle.model, request).0;
                assert_eq!(*got, want, "{} tokens", request.prompt.len());
            }
        }
    }
}

#[test]
fn what_comes_and_goes_at_random_is_what_each_gives_alone() {
    let bundle = model();
    let long = prompt(2, 90);
    let mut known: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for seed in 0..6 {
        let mut rng = Random::new(seed);
        let mut pick = |least: u32, most: u32| rng.range(least, most);
        let options = EngineOptions {
            sequences: pick(1, 9),
            // It may end inside a page.
            context: CONTEXT - pick(0, 20),
            page: 16 * pick(1, 2),
            pages: pick(8, 40),
            prompt_tokens: pick(1, 80),
            when_full: if seed % 2 == 0 {
                WhenFull::Fail
            } else {
                WhenFull::Evict
            },
            run: if seed % 3 == 0 {
                Run::Eager
            } else {
                Run::Replay
            },
            ..options()
        };
        let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
        assert_eq!(engine.context(), options.context);
        let (mut found, mut asked) = (Found::default(), BTreeMap::new());
        let mut cancelled = Vec::new();
        for _ in 0..24 {
            match pick(0, 5) {
                0..=2 => {
                    // Some begin alike.
                    let shared = pick(0, 2) * pick(10, 44);
                    let own = prompt(pick(0, 3), pick(1, 3));
                    let all = [&long[..shared as usize], &own].concat();
                    let id = engine.submit(request(all.clone(), pick(1, 12)));
                    asked.insert(id.expect("a sequence"), all);
                }
                3 => {
                    let all: Vec<SequenceId> = asked.keys().copied().collect();
                    let at = pick(0, all.len() as u32) as usize;
                    if let Some(id) = all.get(at)
                        && engine.cancel(*id).expect("no device fails")
                    {
                        cancelled.push(*id);
                    }
                }
                _ => found.take(engine.step().expect("a step")),
            }
        }
        if seed == 5 {
            // One that is dropped with all it has gives its memory back.
            let before = bundle.model.device().stats();
            drop(engine);
            let freed = bundle.model.device().stats() - before;
            assert_eq!(freed.allocations, 0);
            continue;
        }
        found.finish(&mut engine);
        for (id, all) in &asked {
            let made = found.tokens.get(id).cloned().unwrap_or_default();
            let want = known.entry(all.clone()).or_insert_with(|| {
                let request = request(all.clone(), 12);
                alone(&bundle.model, &request).0
            });
            assert!(
                want.starts_with(&made),
                "{id} of run {seed}: {made:?}, {want:?}"
            );
            let ends = [
                found.ended.contains_key(id),
                found.failed.contains_key(id),
                cancelled.contains(id),
            ];
            let ends = ends.into_iter().filter(|end| *end).count();
            assert_eq!(ends, 1, "{id} of run {seed} ends once");
            if let Some(error) = found.failed.get(id) {
                assert!(matches!(error, Error::OutOfPages { .. }), "{error}");
            }
        }
    }
}

#[test]
fn sequences_that_begin_alike_share_pages_and_copy_them_on_write() {
    let bundle = model();
    let mut engine = Engine::new(&bundle.model, &options()).expect("an engine");
    let long = prompt(3, 60);
    // Whole pages and most of a page are shared; of a page's beginning nothing.
    let requests = [
        request(long.clone(), 30),
        Request {
            sampler: warm(5),
            ..request(long.clone(), 20)
        },
        request([&long[..44], &prompt(9, 9)].concat(), 20),
        request([&long[..35], &prompt(8, 9)].concat(), 20),
        request(prompt(4, 20), 20),
    ];
    let mut found = Found::default();
    let mut ids = Vec::new();
    for request in &requests {
        ids.push(engine.submit(request.clone()).expect("a sequence"));
        found.take(engine.step().expect("a step"));
    }
    let report = engine.report();
    assert_eq!(report.shared_tokens, 59 + 44 + 32);
    assert_eq!(report.copied_pages, 2);
    found.take(engine.step().expect("a step"));
    // A fork shares all it has: the first of the two that writes copies the page they write to.
    let child = engine.fork(ids[0], &requests[0].sampler).expect("a fork");
    let other = engine.fork(ids[0], &warm(77)).expect("a fork");
    let before = found.tokens[&ids[0]].len();
    found.finish(&mut engine);
    assert!(engine.report().copied_pages > report.copied_pages);
    for (id, request) in ids.iter().zip(&requests) {
        let got = (found.tokens[id].clone(), found.ended[id]);
        assert_eq!(got, alone(&bundle.model, request), "sequence {id}");
    }
    assert_eq!(found.tokens[&child], found.tokens[&ids[0]][before..]);
    assert_ne!(found.tokens[&other], found.tokens[&child]);
}

#[test]
fn out_of_pages_is_the_error_of_one_sequence_or_makes_another_wait() {
    let bundle = model();
    let requests = [
        request(prompt(1, 30), 40),
        request(prompt(2, 30), 40),
        request(prompt(3, 110), 4),
    ];
    let run = |when_full| {
        let options = EngineOptions {
            pages: 6,
            when_full,
            ..options()
        };
        let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
        let mut found = Found::default();
        let ids = requests
            .each_ref()
            .map(|request| engine.submit(request.clone()).expect("a sequence"));
        found.finish(&mut engine);
        // The last one never fits.
        let refused = found.failed.remove(&ids[2]).expect("too long a prompt");
        assert_eq!(
            refused.to_string(),
            "sequence 2 needs a page and none of 6 is free"
        );
        (found, ids, engine.report())
    };
    let (mut found, ids, _) = run(WhenFull::Fail);
    let failed: Vec<SequenceId> = found.failed.keys().copied().collect();
    let [failed] = failed[..] else {
        panic!("one fails: {failed:?}");
    };
    let error = found.failed.remove(&failed).expect("an error");
    assert!(
        matches!(error, Error::OutOfPages { sequence, pages: 6 } if sequence.to_string() == failed.to_string())
    );
    for (id, request) in ids.iter().zip(&requests).take(2) {
        let want = alone(&bundle.model, request);
        if *id == failed {
            let got = &found.tokens[id];
            assert!(got.len() < want.0.len() && want.0.starts_with(got));
        } else {
            assert_eq!((found.tokens[id].clone(), found.ended[id]), want);
        }
    }
    let (found, ids, report) = run(WhenFull::Evict);
    assert!(found.failed.is_empty() && report.evicted > 0, "{report:?}");
    for (id, request) in ids.iter().zip(&requests).take(2) {
        let got = (found.tokens[id].clone(), found.ended[id]);
        assert_eq!(got, alone(&bundle.model, request));
    }
}

#[test]
fn a_step_fetches_four_bytes_of_each_sequence_and_a_cancelled_one_gives_its_pages_back() {
    let bundle = model();
    let mut engine = Engine::new(&bundle.model, &options()).expect("an engine");
    let ids: Vec<SequenceId> = (0..5)
        .map(|at| {
            engine
                .submit(request(prompt(at, 17 + at), 100))
                .expect("a sequence")
        })
        .collect();
    for _ in 0..4 {
        engine.step().expect("a step");
    }
    let device = bundle.model.device();
    let before = device.stats();
    for _ in 0..32 {
        assert_eq!(engine.step().expect("a step").len(), 5);
    }
    let moved = device.stats() - before;
    assert_eq!(moved.d2h_bytes, 32 * 5 * 4);
    // An entry of the table for each new page.
    assert_eq!(moved.h2d_bytes, 2 * 5 * 4);
    assert_eq!((moved.allocations, moved.replays), (0, 32));
    let free = engine.report().free_pages;
    assert!(engine.cancel(ids[1]).expect("cancelled"));
    assert!(!engine.cancel(ids[1]).expect("nothing to cancel"));
    assert!(engine.report().free_pages > free);
    let mut found = Found::default();
    found.finish(&mut engine);
    assert!(!found.ended.contains_key(&ids[1]) && found.ended.len() == 4);
}

#[test]
fn what_an_engine_cannot_take_is_refused() {
    let bundle = model();
    let refused = |options: EngineOptions| {
        let engine = Engine::new(&bundle.model, &options);
        engine.err().map(|error| error.to_string())
    };
    let want = [
        (
            EngineOptions {
                sequences: 0,
                ..options()
            },
            "sequences is 0, expected 1 to 64",
        ),
        (
            EngineOptions {
                sequences: 65,
                ..options()
            },
            "sequences is 65, expected 1 to 64",
        ),
        (
            EngineOptions {
                page: 8,
                ..options()
            },
            "page is 8, expected 16 or 32 positions",
        ),
        (
            EngineOptions {
                prompt_tokens: 0,
                ..options()
            },
            "prompt_tokens is 0, expected 1 to 512",
        ),
    ];
    for (options, want) in want {
        assert_eq!(refused(options).as_deref(), Some(want));
    }
    assert!(
        refused(EngineOptions {
            run: Run::Persistent,
            ..options()
        })
        .is_some()
    );
    let mut engine = Engine::new(&bundle.model, &options()).expect("an engine");
    assert!(engine.submit(request(Vec::new(), 4)).is_err());
    assert!(engine.submit(request(vec![1 << 20], 4)).is_err());
    assert!(engine.submit(request(prompt(1, CONTEXT + 1), 4)).is_err());
    let id = engine
        .submit(request(prompt(1, 3), 0))
        .expect("nothing to draw");
    assert!(engine.fork(id, &SamplerConfig::default()).is_err());
    let mut found = Found::default();
    found.finish(&mut engine);
    assert_eq!(found.ended[&id], Ended::Length);
}

#[test]
fn an_engine_is_clean_under_the_checker() {
    let path = reference().join("synth/tiny-llama3.gguf");
    let selector: Selector = "virtual".parse().expect("a device");
    for (seed, precision) in [(0, Precision::Fast), (1, Precision::Exact)] {
        let settings = Settings::checking().with_seed(seed);
        let device = Device::open_with(&selector, settings).expect("a virtual GPU");
        let bundle = Bundle::load(&device, &path, &mut |_, _| {}).expect("a model");
        let options = EngineOptions {
            precision,
            ..options()
        };
        let mut engine = Engine::new(&bundle.model, &options).expect("an engine");
        let mut found = Found::default();
        for at in 0..3 {
            let prompt = prompt(1, 20 + at);
            engine.submit(request(prompt, 4 - at)).expect("a sequence");
            found.take(engine.step().expect("a step"));
        }
        found.finish(&mut engine);
        let findings = device.take_findings();
        assert!(findings.is_empty(), "{}", findings[0].message);
    }
}
