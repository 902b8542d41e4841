//! Keys and values that do not fit are refused with what all of them need, and what may be less.

use std::path::Path;
use warpsmith_device::{Device, Selector};
use warpsmith_graph::Precision;
use warpsmith_models::{
    Error,
    llama::{Bundle, Engine, EngineOptions, Session, SessionOptions},
};

const MEMORY: u64 = 8 << 20;

fn bundle() -> Bundle {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference/synth/tiny-llama3.gguf"
    );
    let selector: Selector = "virtual:sm90,memory=8MiB".parse().expect("a device");
    let device = Device::open(&selector).expect("a virtual GPU");
    Bundle::load(&device, Path::new(path), &mut |_, _| {}).expect("a model")
}

/// Bytes of the keys and values of so many positions.
fn bytes(bundle: &Bundle, positions: u64, element: u64) -> u64 {
    let config = bundle.model.config();
    let row = u64::from(config.kv_heads) * u64::from(config.head_dim);
    2 * positions * row * element * u64::from(config.layers)
}

#[test]
fn an_engine_says_what_its_pages_need() {
    for (precision, element) in [(Precision::Exact, 4), (Precision::Fast, 2)] {
        let bundle = bundle();
        let options = EngineOptions {
            sequences: 48,
            context: 4000,
            precision,
            ..EngineOptions::default()
        };
        let before = bundle.model.device().memory_info().expect("a device").free;
        let refused = Engine::new(&bundle.model, &options).map(drop);
        let Err(Error::CacheTooLarge {
            sequences: 48,
            context: 4000,
            positions,
            needed,
            free,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!(positions, 48 * 4000);
        assert_eq!(needed, bytes(&bundle, positions, element));
        let apart = before - free;
        assert!(apart < 256 << 10, "all but its table of pages: {apart}");
        assert!(free < MEMORY && free < needed, "{free} of {needed}");
        // Half of that fits.
        let token = bytes(&bundle, 1, element);
        let pages = free / 2 / token / u64::from(options.page);
        let options = EngineOptions {
            pages: pages as u32,
            ..options
        };
        let engine = Engine::new(&bundle.model, &options).expect("an engine");
        assert!(engine.report().cache_bytes > free / 3);
    }
}

#[test]
fn what_a_dropped_engine_had_counts_as_free() {
    let bundle = bundle();
    let options = EngineOptions {
        sequences: 48,
        context: 4000,
        ..EngineOptions::default()
    };
    let free_bytes = || match Engine::new(&bundle.model, &options).map(drop) {
        Err(Error::CacheTooLarge { free, .. }) => free,
        other => panic!("{other:?}"),
    };
    let first = free_bytes();
    for _ in 0..20 {
        let page = bytes(&bundle, 1, 4) * u64::from(options.page);
        let fitting = EngineOptions {
            pages: (first / 2 / page) as u32,
            ..options
        };
        drop(Engine::new(&bundle.model, &fitting).expect("an engine"));
        assert_eq!(free_bytes(), first);
    }
}

#[test]
fn a_session_says_what_its_context_needs() {
    let bundle = bundle();
    let options = SessionOptions {
        context: 1 << 20,
        ..SessionOptions::default()
    };
    let refused = Session::new(&bundle.model, &options).map(drop);
    let Err(error @ Error::CacheTooLarge { needed, free, .. }) = refused else {
        panic!("{refused:?}");
    };
    let element = match options.precision {
        Precision::Exact => 4,
        Precision::Fast => 2,
    };
    assert_eq!(needed, bytes(&bundle, 1 << 20, element));
    let said = format!(
        "the keys and values of a sequence of 1048576 tokens, 1048576 positions in all, need {needed} bytes of device \
         memory, {free} are free: fewer sequences or pages, or a shorter context, need less"
    );
    assert_eq!(error.to_string(), said);
}
