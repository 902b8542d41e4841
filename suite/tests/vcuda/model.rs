//! A real model, through the driver and without it.

use crate::library;
use std::ops::ControlFlow;
use warpsmith::{
    device::{BackEnd, Device, Selector},
    graph::{PersistentShape, Precision},
    models::{
        llama::{Bundle, Ended, Run, Session, SessionOptions},
        tokenizer::Special,
    },
};
use warpsmith_suite::places::smollm2;

const STEPS: usize = 8;

/// Greedy tokens after the prompt, in both precisions.
fn tokens(bundle: &Bundle) -> [Vec<u32>; 2] {
    let prompt = bundle
        .tokenizer
        .encode("The capital of France is", Special::Parse);
    let prompt = prompt.expect("tokens");
    [Precision::Exact, Precision::Fast].map(|precision| {
        let options = SessionOptions {
            context: 64,
            precision,
            ..SessionOptions::default()
        };
        let mut session = Session::new(&bundle.model, &options).expect("a session");
        session.prefill(&prompt, &mut |_, _| {}).expect("a prompt");
        let mut tokens = vec![session.sample().expect("a token")];
        while tokens.len() < STEPS {
            tokens.push(session.step().expect("a step"));
        }
        assert_eq!(persistent(bundle, &prompt, precision), tokens);
        tokens
    })
}

/// The same tokens in one launch of a kernel, which writes them to memory of the host.
fn persistent(bundle: &Bundle, prompt: &[u32], precision: Precision) -> Vec<u32> {
    let options = SessionOptions {
        context: 64,
        precision,
        run: Run::Persistent,
        shape: PersistentShape {
            ctas: 2,
            ..PersistentShape::default()
        },
        ..SessionOptions::default()
    };
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session.prefill(prompt, &mut |_, _| {}).expect("a prompt");
    let mut tokens = Vec::new();
    let ended = session.generate(STEPS, &[], &mut |token| {
        tokens.push(token);
        ControlFlow::Continue(())
    });
    assert_eq!(ended.expect("a generation"), Ended::Length);
    tokens
}

#[test]
fn smollm2_says_the_same_through_the_driver() {
    library::load();
    let run = |selector: Selector| {
        let device = Device::open(&selector).expect("a device");
        let bundle = Bundle::load(&device, &smollm2(), &mut |_, _| {}).expect("the model");
        (device.info().back_end, tokens(&bundle))
    };
    let (back_end, through_driver) = run(Selector::Cuda(library::MODEL_CARD));
    assert_eq!(
        back_end,
        BackEnd::Cuda {
            index: library::MODEL_CARD
        }
    );
    let (_, direct) = run(Selector::virtual_gpu());
    assert_eq!(through_driver, direct);
    assert!(
        direct
            .iter()
            .all(|tokens| tokens.windows(2).any(|pair| pair[0] != pair[1]))
    );
}
