//! Sessions with a dispatcher make the tokens of sessions without one, and it gets every operation of every pass.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};
use warpsmith_device::{Device, Selector, Stream};
use warpsmith_graph::{Dispatch, Failure, Operation, Precision, Taken};
use warpsmith_models::{
    Error,
    llama::{Bundle, Engine, EngineOptions, Event, Request, Run, Session, SessionOptions},
    sampling::SamplerConfig,
};

/// Passes with the operations of each.
#[derive(Default)]
struct Seen(Vec<(String, Vec<&'static str>)>);

impl Dispatch for Seen {
    fn pass(&mut self, name: &str) {
        self.0.push((name.to_owned(), Vec::new()));
    }

    fn operation(&mut self, operation: &Operation<'_>, _: &Stream) -> Result<Taken, Failure> {
        let (_, operations) = self.0.last_mut().ok_or("a pass begins with its name")?;
        operations.push(operation.op().name());
        Ok(Taken::Left)
    }
}

fn tokens(session: &mut Session) -> Result<Vec<u32>, Error> {
    session.reset();
    session.prefill(&[1, 2, 3, 4, 5], &mut |_, _| {})?;
    let mut tokens = vec![session.sample()?];
    while tokens.len() < 4 {
        tokens.push(session.step()?);
    }
    Ok(tokens)
}

#[test]
fn a_dispatcher_gets_every_operation_and_changes_no_token() -> Result<(), Error> {
    let device = Device::open(&Selector::virtual_gpu())?;
    let path = "../../suite/reference/synth/tiny-llama3.gguf";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let bundle = Bundle::load(&device, &path, &mut |_, _| {})?;
    let layers = bundle.model.config().layers as usize;
    for precision in [Precision::Exact, Precision::Fast] {
        let options = SessionOptions {
            context: 64,
            precision,
            run: Run::Replay,
            ..SessionOptions::default()
        };
        let mut session = Session::new(&bundle.model, &options)?;
        let want = tokens(&mut session)?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        session.dispatch(Some(seen.clone()));
        assert_eq!(tokens(&mut session)?, want);
        session.dispatch(None);
        assert_eq!(tokens(&mut session)?, want);

        let seen = seen.lock().expect("nobody panicked");
        let passes: Vec<&str> = seen.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(passes, ["prefill", "sample", "step", "step", "step"]);
        let layer = ["heads", "attend", "matmul", "gate", "matmul"];
        let step: Vec<&str> = ["embed"]
            .into_iter()
            .chain(std::iter::repeat_n(layer, layers).flatten())
            .chain(["norm_matmul", "draw"])
            .collect();
        for (_, operations) in &seen.0[2..] {
            assert_eq!(*operations, step);
        }
        assert_eq!(seen.0[1].1, ["draw"]);
        // A prompt is fused as far as its rows are few; each layer attends once in any case.
        let prompt = &seen.0[0].1;
        let attends = prompt.iter().filter(|op| **op == "attend").count();
        assert_eq!((prompt.first(), attends), (Some(&"embed"), layers));
        assert!(
            prompt.last().is_some_and(|op| op.ends_with("matmul")),
            "{prompt:?}"
        );
    }
    Ok(())
}

/// Tokens of two sequences together, by name.
fn together(engine: &mut Engine) -> Result<Vec<(bool, u32)>, Error> {
    let mut names = Vec::new();
    for prompt in [vec![1, 2, 3], vec![4; 70]] {
        names.push(engine.submit(Request {
            prompt,
            sampler: SamplerConfig::default(),
            max_tokens: 4,
            ends: Vec::new(),
            ..Request::default()
        })?);
    }
    let mut tokens = Vec::new();
    while !engine.is_idle() {
        for event in engine.step()? {
            if let Event::Token { id, token } = event {
                tokens.push((id == names[0], token));
            }
        }
    }
    tokens.sort_by_key(|(first, _)| !first);
    Ok(tokens)
}

#[test]
fn a_dispatcher_gets_every_operation_of_an_engine_and_its_failure_names_one() -> Result<(), Error> {
    let device = Device::open(&Selector::virtual_gpu())?;
    let path = "../../suite/reference/synth/tiny-llama3.gguf";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let bundle = Bundle::load(&device, &path, &mut |_, _| {})?;
    let layers = bundle.model.config().layers as usize;
    for (precision, run) in [
        (Precision::Exact, Run::Replay),
        (Precision::Fast, Run::Eager),
    ] {
        let options = EngineOptions {
            sequences: 2,
            context: 128,
            precision,
            run,
            ..EngineOptions::default()
        };
        let mut engine = Engine::new(&bundle.model, &options)?;
        let want = together(&mut engine)?;
        assert_eq!(want.len(), 8);
        let seen = Arc::new(Mutex::new(Seen::default()));
        engine.dispatch(Some(seen.clone()));
        let launched = device.stats();
        assert_eq!(together(&mut engine)?, want);
        assert_eq!((device.stats() - launched).replays, 0, "launch by launch");
        engine.dispatch(None);
        assert_eq!(together(&mut engine)?, want);
        let seen = seen.lock().expect("nobody panicked");
        let prompts = seen.0.iter().filter(|(name, _)| name == "prompt").count();
        let steps = seen.0.iter().filter(|(name, _)| name == "step").count();
        // A prompt of 3, one of 64 and 6; then three steps of both.
        assert_eq!((prompts, steps), (3, 3));
        for (name, operations) in &seen.0 {
            let count = |of: &str| operations.iter().filter(|op| **op == of).count();
            assert_eq!(operations.first(), Some(&"embed"), "{name}");
            // Before the last tokens of a prompt the last layer only leaves its keys and values.
            let attends = layers - 1 + count("draw");
            assert_eq!(count("attend_paged"), attends, "{name}: {operations:?}");
            assert!(name != "step" || count("draw") == 1, "{operations:?}");
        }
        // What a dispatcher fails with names the operation, and the engine can be dropped in the middle.
        let refuse = |operation: &Operation<'_>, _: &Stream| -> Result<Taken, Failure> {
            match operation.op().name() {
                "draw" => Err("no draws today".into()),
                _ => Ok(Taken::Left),
            }
        };
        engine.dispatch(Some(Arc::new(Mutex::new(refuse))));
        let refused = together(&mut engine).expect_err("a refusal").to_string();
        assert!(refused.contains("draw"), "{refused}");
    }
    Ok(())
}
