//! Tokens that are known are appended without being drawn: what follows is what would have followed.

use std::{collections::BTreeMap, path::Path};
use warpsmith_device::{Device, Selector};
use warpsmith_graph::Precision;
use warpsmith_models::{
    Error,
    llama::{Bundle, Engine, EngineOptions, Event, Request, SequenceId, WhenFull},
    sampling::SamplerConfig,
};

const CONTEXT: u32 = 128;
const MOST: usize = 40;

fn bundle() -> Bundle {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference/synth/tiny-llama3.gguf"
    );
    let device = Device::open(&Selector::virtual_gpu()).expect("a virtual GPU");
    Bundle::load(&device, Path::new(path), &mut |_, _| {}).expect("a model")
}

fn engine(bundle: &Bundle, pages: u32, when_full: WhenFull) -> Engine {
    let options = EngineOptions {
        context: CONTEXT,
        sequences: 4,
        precision: Precision::Exact,
        pages,
        when_full,
        ..EngineOptions::default()
    };
    Engine::new(&bundle.model, &options).expect("an engine")
}

fn request(seed: u32) -> Request {
    let prompt = (0..5 + 8 * seed)
        .map(|at| (seed * 31 + at * 7 + at * at) % 500)
        .collect();
    let sampler = SamplerConfig {
        temperature: (seed % 2) as f32,
        repeat_penalty: 1.1,
        seed: seed.into(),
        ..SamplerConfig::default()
    };
    Request {
        prompt,
        sampler,
        max_tokens: MOST as u32,
        ..Request::default()
    }
}

/// Tokens of each sequence. `known(sequence, tokens so far)` says how many of `want` are appended instead of drawn.
fn run(
    engine: &mut Engine,
    want: &[Vec<u32>],
    known: impl Fn(usize, usize) -> usize,
) -> Result<(Vec<Vec<u32>>, usize), Error> {
    let ids: Vec<SequenceId> = (0..4)
        .map(|seed| engine.submit(request(seed)).expect("a sequence"))
        .collect();
    let mut found: BTreeMap<SequenceId, Vec<u32>> = BTreeMap::new();
    let mut appended = 0;
    while !engine.is_idle() {
        let mut drawn = Vec::new();
        for event in engine.step()? {
            match event {
                Event::Token { id, token } => {
                    found.entry(id).or_default().push(token);
                    drawn.push(id);
                }
                Event::Finished { id, .. } => drawn.retain(|other| *other != id),
                Event::Failed { error, .. } => return Err(error),
            }
        }
        for id in drawn {
            let at = ids
                .iter()
                .position(|other| *other == id)
                .expect("a sequence");
            let tokens = found.entry(id).or_default();
            let Some(rest) = want.get(at).and_then(|want| want.get(tokens.len()..)) else {
                continue;
            };
            let more = &rest[..known(at, tokens.len()).min(rest.len())];
            let room = engine.room(id);
            let taken = engine.extend(id, more)?;
            assert_eq!(taken, more.len().min(room));
            // One is always left to be drawn.
            assert!(tokens.len() + taken < MOST);
            tokens.extend(&more[..taken]);
            appended += taken;
        }
    }
    Ok((ids.iter().map(|id| found[id].clone()).collect(), appended))
}

#[test]
fn what_follows_known_tokens_is_what_follows_drawn_ones() {
    let bundle = bundle();
    let (want, _) = run(&mut engine(&bundle, 0, WhenFull::Fail), &[], |_, _| 0).expect("tokens");
    assert!(want.iter().all(|tokens| tokens.len() == MOST));
    let ways: [fn(usize, usize) -> usize; 4] = [
        |_, made| if made == 3 { 7 } else { 0 },
        |at, made| (at * 5 + made * 3) % 6,
        |at, made| if made % 9 == at { 20 } else { 0 },
        |_, _| MOST,
    ];
    for (way, known) in ways.into_iter().enumerate() {
        let mut engine = engine(&bundle, 0, WhenFull::Fail);
        let (found, appended) = run(&mut engine, &want, known).expect("tokens");
        assert_eq!(found, want, "way {way}");
        assert!(appended > 20, "way {way}: {appended}");
        let report = engine.report();
        assert_eq!(report.free_pages, report.pages, "way {way}");
    }
}

#[test]
fn known_tokens_that_find_no_page_wait_or_fail_by_name() {
    let bundle = bundle();
    let (want, _) = run(&mut engine(&bundle, 0, WhenFull::Fail), &[], |_, _| 0).expect("tokens");
    // The longest sequence needs five pages at its end.
    let mut few = engine(&bundle, 8, WhenFull::Evict);
    let (found, appended) = run(
        &mut few,
        &want,
        |_, made| if made % 5 == 0 { 12 } else { 0 },
    )
    .expect("tokens");
    assert_eq!(found, want);
    assert!(
        appended > 20 && few.report().evicted > 0,
        "{:?}",
        few.report()
    );
    assert_eq!(few.report().free_pages, 8);
    let mut few = engine(&bundle, 8, WhenFull::Fail);
    let error = run(&mut few, &want, |_, _| 12).expect_err("too few pages");
    assert!(matches!(error, Error::OutOfPages { .. }), "{error}");
}

#[test]
fn sequences_with_known_tokens_can_be_left_and_nobody_else_is_extended() {
    let bundle = bundle();
    let mut engine = engine(&bundle, 0, WhenFull::Fail);
    let id = engine.submit(request(0)).expect("a sequence");
    // It does not run yet.
    assert_eq!(engine.room(id), 0);
    assert_eq!(engine.extend(id, &[1, 2, 3]).expect("none"), 0);
    engine.step().expect("a step");
    assert_eq!(engine.room(id), MOST - 2);
    let vocab = bundle.model.config().vocab;
    let error = engine.extend(id, &[1, vocab]).expect_err("no token");
    assert!(matches!(error, Error::TokenId { .. }), "{error}");
    assert_eq!(engine.extend(id, &[1, 2, 3]).expect("room"), 3);
    assert_eq!((engine.running(), engine.is_idle()), (1, false));
    assert!(engine.cancel(id).expect("it was there"));
    assert!(!engine.cancel(id).expect("it is gone"));
    assert!(engine.is_idle());
    assert_eq!(engine.report().free_pages, engine.report().pages);
}
