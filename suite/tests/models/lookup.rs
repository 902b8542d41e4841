//! Guesses from earlier text: the text of greedy decoding in fewer passes.

use crate::support::{load, reference};
use std::ops::ControlFlow;
use warpsmith::{
    formats::gguf::Gguf,
    graph::Precision,
    models::{
        llama::{Bundle, Ended, LookupReport, Run, Session, SessionOptions},
        sampling::SamplerConfig,
    },
};

const CONTEXT: u32 = 160;

fn session(bundle: &Bundle, precision: Precision, run: Run, lookup: u32) -> Session {
    let options = SessionOptions {
        context: CONTEXT,
        precision,
        run,
        lookup,
        ..SessionOptions::default()
    };
    Session::new(&bundle.model, &options).expect("a session")
}

/// Text that repeats itself, so that there is something to find.
fn prompt() -> Vec<u32> {
    let phrase = [17, 4, 99, 230, 8, 41, 3];
    phrase.iter().cycle().take(30).copied().collect()
}

fn generate(session: &mut Session, most: usize, ends: &[u32]) -> (Vec<u32>, Ended) {
    let mut tokens = Vec::new();
    let ended = session
        .generate(most, ends, &mut |token| {
            tokens.push(token);
            ControlFlow::Continue(())
        })
        .expect("a generation");
    (tokens, ended)
}

/// A model whose attention gives nothing: the next token follows from the last alone, so greedy text soon repeats.
fn repeating(name: &str) -> Bundle {
    let path = reference().join(format!("synth/{name}.gguf"));
    let gguf = Gguf::open(&path).expect("a file");
    let mut bytes = std::fs::read(&path).expect("the same file");
    let outputs = gguf.tensors().iter();
    for output in outputs.filter(|tensor| tensor.name.ends_with("attn_output.weight")) {
        bytes[output.offset as usize..][..output.bytes as usize].fill(0);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("repeating.gguf");
    std::fs::write(&path, bytes).expect("written");
    load(&path)
}

/// Greedy tokens without guesses, from an empty session.
fn plain(bundle: &Bundle, most: usize) -> (Vec<u32>, Vec<f32>) {
    let mut session = session(bundle, Precision::Exact, Run::Replay, 0);
    session
        .prefill(&prompt(), &mut |_, _| {})
        .expect("a prompt");
    let (tokens, ended) = generate(&mut session, most, &[]);
    assert_eq!(ended, Ended::Length);
    (tokens, session.logits().expect("logits"))
}

/// Generates with guesses, and compares with `plain`; what guessing brought.
fn check(bundle: &Bundle, run: Run, lookup: u32) -> LookupReport {
    let (all, _) = plain(bundle, 70);
    let (want, want_logits) = plain(bundle, 64);
    let mut guessing = session(bundle, Precision::Exact, run, lookup);
    let begin = |guessing: &mut Session| {
        guessing.reset();
        guessing
            .prefill(&prompt(), &mut |_, _| {})
            .expect("a prompt");
    };
    begin(&mut guessing);
    assert_eq!(generate(&mut guessing, 64, &[]).0, want);
    let report = guessing.lookup_report();
    // The same logits behind the last token, and single steps go on from there.
    for (got, want) in guessing.logits().expect("logits").iter().zip(&want_logits) {
        assert!((got - want).abs() <= 1e-3, "{got} {want}");
    }
    let steps: Vec<u32> = (0..6).map(|_| guessing.step().expect("a step")).collect();
    assert_eq!(steps, all[64..]);
    // The context ends it.
    let (rest, ended) = generate(&mut guessing, 500, &[]);
    assert_eq!((ended, guessing.len()), (Ended::Context, CONTEXT));
    assert_eq!(rest.len(), (CONTEXT as usize - 30 - 70) + 2);
    // A token ends it, or the caller: what was told is the session's.
    begin(&mut guessing);
    let first = want.iter().position(|token| *token == want[20]);
    let first = first.expect("it is there");
    let got = generate(&mut guessing, 64, &[want[20]]);
    assert_eq!(got, (want[..=first].to_vec(), Ended::Token));
    begin(&mut guessing);
    let mut told = 0;
    let ended = guessing.generate(64, &[], &mut |_| {
        told += 1;
        if told == 45 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(ended.expect("a generation"), Ended::Stopped);
    assert_eq!(guessing.tokens()[30..], want[..44]);
    assert_eq!(generate(&mut guessing, 20, &[]).0, want[44..]);
    report
}

#[test]
fn guesses_give_the_text_of_greedy_decoding_in_fewer_passes() {
    for (bundle, run, lookup) in [
        (repeating("tiny-llama3"), Run::Replay, 4),
        (repeating("tiny-qwen2"), Run::Eager, 7),
        (
            load(&reference().join("synth/tiny-llama2spm.gguf")),
            Run::Replay,
            5,
        ),
    ] {
        let LookupReport {
            passes,
            guessed,
            accepted,
        } = check(&bundle, run, lookup);
        assert_eq!(passes + accepted, 63);
        assert!(accepted <= guessed);
        // With attention a text of random weights repeats nothing.
        if lookup != 5 {
            assert!(accepted >= 10, "{accepted} of {guessed} in {passes} passes");
        }
    }
}

#[test]
fn guesses_need_greedy_sampling_and_single_launches() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let mut guessing = session(&bundle, Precision::Fast, Run::Replay, 4);
    guessing
        .prefill(&prompt(), &mut |_, _| {})
        .expect("a prompt");
    let warm = SamplerConfig {
        temperature: 0.5,
        ..SamplerConfig::default()
    };
    guessing.sampler(&warm).expect("a sampler");
    let refused = guessing.generate(4, &[], &mut |_| ControlFlow::Continue(()));
    let refused = refused.expect_err("a temperature").to_string();
    assert!(refused.contains("temperature 0.5"), "{refused}");
    for (run, lookup) in [(Run::Persistent, 4), (Run::Replay, 64)] {
        let options = SessionOptions {
            run,
            lookup,
            ..SessionOptions::default()
        };
        assert!(Session::new(&bundle.model, &options).is_err());
    }
}
