//! Decode steps: what they move, how they run, where they end.

use crate::support::{load, reference};
use warpsmith::{
    graph::{Plan, Precision},
    models::llama::{Run, Session, SessionOptions},
};

#[test]
fn a_decode_step_moves_four_bytes_allocates_nothing_and_replays_what_eager_runs() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let run = |run| {
        let options = SessionOptions {
            context: 256,
            run,
            ..SessionOptions::default()
        };
        let mut session = Session::new(&bundle.model, &options).expect("a session");
        session
            .prefill(&[1, 5, 9, 200], &mut |_, _| {})
            .expect("a prompt");
        session.sample().expect("a token");
        session.step().expect("a step");
        let before = bundle.model.device().stats();
        let mut logits = Vec::new();
        for _ in 0..64 {
            session.step().expect("a step");
        }
        let moved = bundle.model.device().stats() - before;
        assert_eq!((moved.h2d_bytes, moved.d2h_bytes), (0, 64 * 4));
        assert_eq!(moved.allocations, 0);
        assert_eq!(
            moved.launches,
            64 * session.launches_per_step().expect("a plan")
        );
        logits.extend(
            session
                .logits()
                .expect("logits")
                .into_iter()
                .map(f32::to_bits),
        );
        (session.tokens().to_vec(), logits)
    };
    assert_eq!(run(Run::Eager), run(Run::Replay));
}

#[test]
fn a_full_context_is_an_error_and_overwrites_nothing() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let options = SessionOptions {
        context: 8,
        precision: Precision::Exact,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&bundle.model, &options).expect("a session");
    session
        .prefill(&[1, 2, 3, 4, 5, 6, 7], &mut |_, _| {})
        .expect("seven tokens");
    let logits = session.logits().expect("logits");
    let refused = session
        .prefill(&[8, 9], &mut |_, _| {})
        .expect_err("a ninth token");
    assert_eq!(
        refused.to_string(),
        "the context holds 8 tokens: 7 are in it, 2 more do not fit"
    );
    assert_eq!(session.logits().expect("logits"), logits);
    session.sample().expect("a token");
    session.step().expect("the eighth token");
    assert!(session.step().is_err());
    session.truncate(6);
    session
        .prefill(&[7], &mut |_, _| {})
        .expect("the seventh again");
    assert_eq!(session.logits().expect("logits"), logits);
}

/// Five launches for each layer of a decode step: heads, attention, output, gate, down; the embedding, the logits with
/// the last norm, and the draw are the others.
#[test]
fn a_layer_is_five_launches() {
    for name in ["tiny-qwen2", "tiny-llama3", "tiny-llama2spm"] {
        let bundle = load(&reference().join(format!("synth/{name}.gguf")));
        for precision in [Precision::Exact, Precision::Fast] {
            let options = SessionOptions {
                context: 64,
                precision,
                ..SessionOptions::default()
            };
            let session = Session::new(&bundle.model, &options).expect("a session");
            let graph = session.decode_graph().expect("a graph");
            let plan = Plan::new(session.stream(), &graph, precision).expect("a plan");
            let layer = ["heads", "attend", "matmul", "gate", "matmul"];
            let layers = bundle.model.config().layers as usize;
            let mut want = vec!["embed"];
            want.extend(layer.repeat(layers));
            want.push("norm_matmul");
            let found = plan.launches();
            assert_eq!(found[..want.len()], want, "{name} {precision:?}");
            let rest = &found[want.len()..];
            assert!(
                rest.len() <= 2 && rest.iter().all(|name| *name == "draw"),
                "{rest:?}"
            );
        }
    }
}
