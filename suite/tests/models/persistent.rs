//! The persistent kernel: the tokens of single steps, in one launch that the host can end.

use crate::support::{load, reference};
use std::{ops::ControlFlow, path::Path};
use warpsmith::{
    device::{Device, Selector, Settings},
    graph::{PersistentShape, Precision, Prefetch, Schedule},
    models::llama::{Bundle, Ended, Run, Session, SessionOptions},
};

const PROMPT: [u32; 4] = [1, 5, 9, 200];

fn options(precision: Precision, run: Run, shape: PersistentShape) -> SessionOptions {
    SessionOptions {
        context: 96,
        precision,
        run,
        tokens_per_launch: 0,
        shape,
        lookup: 0,
    }
}

/// What a generation leaves: tokens, bits of the last logits, why it ended.
fn generate(bundle: &Bundle, options: &SessionOptions, most: usize) -> (Vec<u32>, Vec<f32>, Ended) {
    let mut session = Session::new(&bundle.model, options).expect("a session");
    session.prefill(&PROMPT, &mut |_, _| {}).expect("a prompt");
    let mut tokens = Vec::new();
    let ended = session
        .generate(most, &[], &mut |token| {
            tokens.push(token);
            ControlFlow::Continue(())
        })
        .expect("a generation");
    (tokens, session.logits().expect("logits"), ended)
}

fn open(device: &str, settings: Settings, model: &Path) -> Bundle {
    let selector: Selector = device.parse().expect("a device");
    let device = Device::open_with(&selector, settings).expect("a virtual GPU");
    Bundle::load(&device, model, &mut |_, _| {}).expect("a model")
}

fn models() -> Vec<std::path::PathBuf> {
    let folder = reference().join("synth");
    let mut models: Vec<_> = std::fs::read_dir(folder)
        .expect("models")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "gguf")
        })
        .collect();
    models.sort();
    assert!(models.len() >= 3, "{models:?}");
    models
}

/// The same tokens, and logits that differ by the order of sums alone: a CTA of the persistent kernel may have another
/// number of warps than that of a launch, and norms and attention are summed over them.
fn same(got: &(Vec<u32>, Vec<f32>, Ended), want: &(Vec<u32>, Vec<f32>, Ended), what: &str) {
    assert_eq!((&got.0, got.2), (&want.0, want.2), "{what}");
    for (got, want) in got.1.iter().zip(&want.1) {
        let near = (got - want).abs() <= 1e-4 * want.abs().max(1.0);
        assert!(near, "{what}: {got} for {want}");
    }
}

#[test]
fn every_architecture_gives_the_tokens_of_single_steps() {
    for path in models() {
        let bundle = load(&path);
        for precision in [Precision::Fast, Precision::Exact] {
            let shape = PersistentShape::default();
            let want = generate(&bundle, &options(precision, Run::Eager, shape), 24);
            // Every type of weights on its way ahead; other tests have each CTA load what it needs.
            let shape = PersistentShape {
                prefetch: Some(Prefetch::On),
                ..shape
            };
            let got = generate(&bundle, &options(precision, Run::Persistent, shape), 24);
            same(&got, &want, &format!("{} {precision:?}", path.display()));
        }
    }
}

#[test]
fn any_number_of_ctas_and_threads_gives_the_same_tokens() {
    let path = reference().join("synth/tiny-llama3.gguf");
    let bundle = load(&path);
    let shape = PersistentShape::default();
    let want = generate(&bundle, &options(Precision::Fast, Run::Eager, shape), 12);
    let cases = [
        (1, 32, Schedule::Static),
        (2, 256, Schedule::Claimed),
        (4, 32, Schedule::Claimed),
        (7, 128, Schedule::Static),
        (7, 256, Schedule::Static),
        (132, 128, Schedule::Static),
        (132, 32, Schedule::Claimed),
    ];
    let cases = cases
        .into_iter()
        .flat_map(|case| ["card", "virtual"].map(|kernels| (case, kernels)));
    for ((sms, threads, schedule), kernels) in cases {
        let bundle = open(
            &format!("virtual:sms={sms},kernels={kernels}"),
            Settings::default(),
            &path,
        );
        let shape = PersistentShape {
            threads,
            ctas: 0,
            schedule: Some(schedule),
            prefetch: Some(Prefetch::Off),
        };
        let most = if sms > 100 { 3 } else { 8 };
        let run = |shape| {
            generate(
                &bundle,
                &options(Precision::Fast, Run::Persistent, shape),
                most,
            )
        };
        let got = run(shape);
        let ahead = run(PersistentShape {
            prefetch: Some(Prefetch::On),
            ..shape
        });
        assert_eq!(ahead, got, "{sms} {shape:?}");
        assert_eq!(got.0, want.0[..most], "{sms} {shape:?}");
        let steps = self::options(Precision::Fast, Run::Eager, shape);
        let want = generate(&bundle, &steps, most);
        same(&got, &want, &format!("{sms} {shape:?}"));
    }
}

#[test]
fn any_number_of_multiprocessors_gives_the_same_tokens() {
    let path = reference().join("synth/tiny-llama3.gguf");
    let shape = PersistentShape::default();
    for precision in [Precision::Exact, Precision::Fast] {
        for run in [Run::Eager, Run::Persistent] {
            let tokens = [1, 2, 4, 16, 64].map(|sms| {
                let device = format!("virtual:sm90,sms={sms}");
                let bundle = open(&device, Settings::default(), &path);
                generate(&bundle, &options(precision, run, shape), 12).0
            });
            assert!(
                tokens.iter().all(|of| *of == tokens[0]),
                "{run:?} {precision:?}: {tokens:?}"
            );
        }
    }
}

#[test]
fn one_launch_moves_nothing_and_ends_where_it_is_told() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let device = bundle.model.device();
    let all = options(Precision::Fast, Run::Persistent, PersistentShape::default());
    let mut session = Session::new(&bundle.model, &all).expect("a session");
    let run = |session: &mut Session, most: usize, ends: &[u32], stop_at: usize| {
        session.truncate(0);
        session.prefill(&PROMPT, &mut |_, _| {}).expect("a prompt");
        session.sample().expect("a token");
        let before = device.stats();
        let mut tokens = Vec::new();
        let ended = session.generate(most, ends, &mut |token| {
            tokens.push(token);
            if tokens.len() == stop_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        (
            tokens,
            ended.expect("a generation"),
            device.stats() - before,
        )
    };
    run(&mut session, 3, &[], 0);
    let (tokens, ended, moved) = run(&mut session, 40, &[], 0);
    assert_eq!((tokens.len(), ended), (40, Ended::Length));
    assert_eq!(
        (moved.launches, moved.h2d_bytes, moved.d2h_bytes),
        (1, 0, 0)
    );
    assert_eq!(moved.allocations, 0);
    // Nothing to make, one token, a token that ends it.
    assert!(run(&mut session, 0, &[], 0).0.is_empty());
    assert_eq!(run(&mut session, 1, &[], 0).0, tokens[..1]);
    assert_eq!(run(&mut session, 2, &[], 0).0, tokens[..2]);
    let (some, ended, _) = run(&mut session, 40, &[tokens[7]], 0);
    let first = tokens
        .iter()
        .position(|token| *token == tokens[7])
        .expect("it is there");
    assert_eq!((&some[..], ended), (&tokens[..=first], Ended::Token));
    // The host ends it: what was told is the session's.
    let (some, ended, _) = run(&mut session, 80, &[], 5);
    assert_eq!((&some[..], ended), (&tokens[..5], Ended::Stopped));
    assert_eq!(session.tokens().len(), PROMPT.len() + 4);
    // The context ends it; nothing behind it is written.
    let (some, ended, _) = run(&mut session, 500, &[], 0);
    assert_eq!((some.len(), ended), (96 - 4 + 1, Ended::Context));
    assert_eq!(session.len(), 96);
    assert!(session.step().is_err());
    // Launches of a few tokens each give the same.
    let limited = SessionOptions {
        tokens_per_launch: 7,
        ..all
    };
    let (again, _, ended) = generate(&bundle, &limited, 40);
    assert_eq!((again, ended), (tokens.clone(), Ended::Length));
}

#[test]
fn it_is_clean_under_the_checker_in_eight_orders() {
    let path = reference().join("synth/tiny-llama3.gguf");
    let bundle = load(&path);
    let shape = PersistentShape::default();
    let want = generate(&bundle, &options(Precision::Fast, Run::Eager, shape), 4).0;
    for seed in 0..8 {
        for (schedule, prefetch) in [
            (Schedule::Static, Prefetch::On),
            (Schedule::Claimed, Prefetch::On),
            // Without, the schedules take turns.
            (
                [Schedule::Static, Schedule::Claimed][seed as usize % 2],
                Prefetch::Off,
            ),
        ] {
            let bundle = open("virtual:sms=4", Settings::checking().with_seed(seed), &path);
            let shape = PersistentShape {
                schedule: Some(schedule),
                prefetch: Some(prefetch),
                // Several warps to a CTA: what one fetches, others must not read.
                threads: 64,
                ..shape
            };
            let got = generate(
                &bundle,
                &options(Precision::Fast, Run::Persistent, shape),
                4,
            );
            assert_eq!(got.0, want);
            let findings = bundle.model.device().take_findings();
            assert!(
                findings.is_empty(),
                "{schedule:?} {prefetch:?} {seed}: {}",
                findings[0].message
            );
        }
    }
}

#[test]
fn more_ctas_than_run_together_are_refused() {
    let bundle = load(&reference().join("synth/tiny-llama3.gguf"));
    let shape = PersistentShape {
        ctas: 1000,
        ..PersistentShape::default()
    };
    let mut session = Session::new(
        &bundle.model,
        &options(Precision::Fast, Run::Persistent, shape),
    )
    .expect("a session");
    session.prefill(&PROMPT, &mut |_, _| {}).expect("a prompt");
    let refused = session.generate(4, &[], &mut |_| ControlFlow::Continue(()));
    let refused = refused.expect_err("a thousand CTAs").to_string();
    assert!(refused.contains("1000 CTAs"), "{refused}");
    let shape = PersistentShape {
        threads: 96,
        ..PersistentShape::default()
    };
    let mut session = Session::new(
        &bundle.model,
        &options(Precision::Fast, Run::Persistent, shape),
    )
    .expect("a session");
    session.prefill(&PROMPT, &mut |_, _| {}).expect("a prompt");
    assert!(
        session
            .generate(4, &[], &mut |_| ControlFlow::Continue(()))
            .is_err()
    );
}
