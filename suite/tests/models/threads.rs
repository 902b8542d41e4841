//! Threads share one loaded model.

use crate::support::{load, reference};
use std::{sync::Arc, thread};
use warpsmith::{
    graph::Precision,
    models::llama::{Model, Session, SessionOptions},
};

const STEPS: usize = 24;

fn generate(model: &Arc<Model>, prompt: &[u32], precision: Precision) -> (Vec<u32>, Vec<u32>) {
    let options = SessionOptions {
        context: 256,
        precision,
        ..SessionOptions::default()
    };
    let mut session = Session::new(model, &options).expect("a session");
    session.prefill(prompt, &mut |_, _| {}).expect("a prompt");
    let mut tokens = vec![session.sample().expect("a token")];
    for _ in 0..STEPS {
        tokens.push(session.step().expect("a step"));
    }
    let logits = session.logits().expect("logits");
    (tokens, logits.into_iter().map(f32::to_bits).collect())
}

#[test]
fn threads_that_generate_at_once_on_one_model_get_what_each_gets_alone() {
    let bundle = load(&reference().join("synth/tiny-qwen2.gguf"));
    let long: Vec<u32> = (0..70).map(|at| at * 7 % 500).collect();
    let prompts: [&[u32]; 4] = [&[1, 5, 9, 200], &[3], &long, &[400, 2]];
    for precision in [Precision::Exact, Precision::Fast] {
        let alone = prompts.map(|prompt| generate(&bundle.model, prompt, precision));
        for (at, (tokens, _)) in alone.iter().enumerate() {
            let first = alone.iter().position(|(other, _)| other == tokens);
            assert_eq!(first, Some(at), "prompts that end alike show nothing");
        }
        for _ in 0..3 {
            let together = thread::scope(|scope| {
                let model = &bundle.model;
                prompts
                    .map(|prompt| scope.spawn(move || generate(model, prompt, precision)))
                    .map(|thread| thread.join().expect("no panic"))
            });
            assert_eq!(together, alone, "{precision:?}");
        }
    }
}
