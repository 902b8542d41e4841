//! A real model under the checker: nothing in a chunk of a prompt or in a decode step is reported.

use warpsmith::{
    device::{Device, Selector, Settings, check::Finding},
    graph::Precision,
    models::llama::{Bundle, Run, Session, SessionOptions},
};
use warpsmith_suite::places::smollm2;

fn shown(findings: &[Finding]) -> Vec<String> {
    let each = findings.iter();
    each.map(|one| {
        format!(
            "{} in {} at {}: {}, {} times",
            one.kind, one.place.kernel, one.place.span, one.message, one.count
        )
    })
    .collect()
}

#[test]
fn smollm2_is_clean_in_a_chunk_and_in_a_step() {
    let device =
        Device::open_with(&Selector::virtual_gpu(), Settings::checking()).expect("a virtual GPU");
    let bundle = Bundle::load(&device, &smollm2(), &mut |_, _| {}).expect("the model");
    let prompt: Vec<u32> = (0..33).map(|i| 100 + 37 * i).collect();
    for (precision, run) in [
        (Precision::Fast, Run::Replay),
        (Precision::Exact, Run::Eager),
    ] {
        let options = SessionOptions {
            context: 64,
            precision,
            run,
            ..SessionOptions::default()
        };
        let start = std::time::Instant::now();
        let mut session = Session::new(&bundle.model, &options).expect("a session");
        session.prefill(&prompt, &mut |_, _| {}).expect("a chunk");
        session.sample().expect("a token");
        session.step().expect("a step");
        session.step().expect("a step on what the first has left");
        let logits = session.logits().expect("logits");
        assert!(logits.iter().all(|logit| logit.is_finite()));
        let found = shown(&device.take_findings());
        println!("{precision:?} {run:?}: {:?}", start.elapsed());
        assert!(
            found.is_empty(),
            "{precision:?} {run:?}:\n{}",
            found.join("\n")
        );
    }
}
