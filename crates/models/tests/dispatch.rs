//! Sessions with a dispatcher make the tokens of sessions without one, and it gets every operation of every pass.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};
use warpsmith_device::{Device, Selector, Stream};
use warpsmith_graph::{Dispatch, Failure, Operation, Precision, Taken};
use warpsmith_models::{
    Error,
    llama::{Bundle, Run, Session, SessionOptions},
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
