//! The thread of an engine: takes jobs in between steps, says what came of them, begins anew after a fault.

use crate::errors::{self, ClosedError, WarpsmithError};
use pyo3::PyErr;
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, TryRecvError},
    },
};
use warpsmith::models::{
    Error,
    llama::{Bundle, Ended, Engine, EngineOptions, Event, Request, SequenceId},
    logprobs::Logprobs,
    sampling::SamplerConfig,
    text::{StopMatcher, Streamed, Written},
};

/// One continuation to be made.
pub(super) struct Job {
    pub(super) prompt: Vec<u32>,
    pub(super) sampler: SamplerConfig,
    pub(super) max_tokens: u32,
    pub(super) stops: StopMatcher,
    pub(super) logprobs: Option<usize>,
    pub(super) bias: Vec<(u32, f32)>,
    /// Which of the prompts of its call it is.
    pub(super) index: usize,
    pub(super) to: Sender<Part>,
    /// Gone when nobody waits any more.
    pub(super) alive: Weak<()>,
}

/// What the thread says of a continuation.
pub(super) enum Part {
    /// A token, and the text that is certain with it.
    Piece {
        index: usize,
        text: String,
        token: Option<u32>,
        told: Option<(f64, Vec<(u32, f64)>)>,
    },
    /// Nothing follows but this text.
    End {
        index: usize,
        text: String,
        finish: &'static str,
    },
    /// The call fails.
    Failed { error: PyErr },
}

struct Running<'a> {
    job: Job,
    written: Written<'a>,
}

pub(super) struct Worker {
    bundle: Arc<Bundle>,
    engine: Engine,
    options: EngineOptions,
    closed: Arc<AtomicBool>,
}

/// Calls what may fail or panic.
fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, PyErr> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(errors::model),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            let said = said.unwrap_or("it did not say why");
            Err(WarpsmithError::new_err(format!(
                "the model panicked: {said}"
            )))
        }
    }
}

impl Worker {
    pub(super) fn new(
        bundle: Arc<Bundle>,
        engine: Engine,
        options: EngineOptions,
        closed: Arc<AtomicBool>,
    ) -> Worker {
        Worker {
            bundle,
            engine,
            options,
            closed,
        }
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        let bundle = Arc::clone(&self.bundle);
        let mut running: BTreeMap<SequenceId, Running<'_>> = BTreeMap::new();
        loop {
            while running.len() < self.options.sequences as usize {
                let job = match running.is_empty() {
                    true => jobs.recv().map_err(|_| TryRecvError::Disconnected),
                    false => jobs.try_recv(),
                };
                match job {
                    Ok(job) => self.submit(job, &bundle, &mut running),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) if running.is_empty() => return,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            if self.closed.load(Ordering::Relaxed) {
                for (_, Running { job, .. }) in std::mem::take(&mut running) {
                    let error = ClosedError::new_err("the model was closed");
                    let _ = job.to.send(Part::Failed { error });
                }
                return;
            }
            if let Err(error) = self.step(&mut running) {
                self.fault(&error, &mut running);
            }
        }
    }

    fn submit<'a>(
        &mut self,
        job: Job,
        bundle: &'a Bundle,
        running: &mut BTreeMap<SequenceId, Running<'a>>,
    ) {
        if job.alive.strong_count() == 0 {
            return;
        }
        let tokenizer = &bundle.tokenizer;
        let request = Request {
            prompt: job.prompt.clone(),
            sampler: job.sampler,
            max_tokens: job.max_tokens,
            ends: tokenizer.end_of_generation().to_vec(),
            bias: job.bias.clone(),
            penalties: Default::default(),
            mask: None,
            logits: job.logprobs.is_some(),
        };
        match guarded(|| self.engine.submit(request)) {
            Ok(id) => {
                let written = Written::after(&job.prompt, tokenizer, job.stops.clone());
                running.insert(id, Running { job, written });
            }
            Err(error) => {
                let _ = job.to.send(Part::Failed { error });
            }
        }
    }

    /// One step, and what came of it.
    fn step(&mut self, running: &mut BTreeMap<SequenceId, Running<'_>>) -> Result<(), PyErr> {
        let gone = running
            .iter()
            .filter(|(_, running)| running.job.alive.strong_count() == 0);
        let gone: Vec<SequenceId> = gone.map(|(id, _)| *id).collect();
        for id in gone {
            running.remove(&id);
            guarded(|| self.engine.cancel(id))?;
        }
        if running.is_empty() {
            return Ok(());
        }
        for event in guarded(|| self.engine.step())? {
            match event {
                Event::Token { id, token } => self.token(id, token, running)?,
                Event::Finished { id, ended } => {
                    if let Some(Running { job, written }) = running.remove(&id) {
                        let part = match written.finish() {
                            Ok(text) => Part::End {
                                index: job.index,
                                text,
                                finish: match ended {
                                    Ended::Token | Ended::Stopped => "stop",
                                    Ended::Length => "length",
                                    Ended::Context => "context",
                                },
                            },
                            Err(error) => Part::Failed {
                                error: errors::model(error),
                            },
                        };
                        let _ = job.to.send(part);
                    }
                }
                Event::Failed { id, error } => {
                    if let Some(Running { job, .. }) = running.remove(&id) {
                        let error = errors::model(error);
                        let _ = job.to.send(Part::Failed { error });
                    }
                }
            }
        }
        Ok(())
    }

    fn token(
        &mut self,
        id: SequenceId,
        token: u32,
        running: &mut BTreeMap<SequenceId, Running<'_>>,
    ) -> Result<(), PyErr> {
        let Some(one) = running.get_mut(&id) else {
            return Ok(());
        };
        let index = one.job.index;
        let is_text = !self.bundle.tokenizer.is_end_of_generation(token);
        let told = one.job.logprobs.filter(|_| is_text).and_then(|most| {
            let of = Logprobs::of(self.engine.logits(id)?);
            let top = of.best(most).into_iter().map(|id| (id, of.token(id)));
            Some((of.token(token), top.collect()))
        });
        let (text, stopped) = match one.written.push(token) {
            Ok(Streamed::Text(text)) => (text, false),
            Ok(Streamed::Stopped { text, stop: _ }) => (text, true),
            Err(error) => {
                let error = errors::model(error);
                let _ = one.job.to.send(Part::Failed { error });
                running.remove(&id);
                guarded(|| self.engine.cancel(id))?;
                return Ok(());
            }
        };
        if is_text {
            let token = Some(token);
            let _ = one.job.to.send(Part::Piece {
                index,
                text,
                token,
                told,
            });
        }
        if stopped {
            let _ = one.job.to.send(Part::End {
                index,
                text: String::new(),
                finish: "stop",
            });
            running.remove(&id);
            guarded(|| self.engine.cancel(id))?;
        }
        Ok(())
    }

    /// Everyone the engine had is told, and another one is made; without one, later jobs fail in their turn.
    fn fault(&mut self, error: &PyErr, running: &mut BTreeMap<SequenceId, Running<'_>>) {
        for (_, Running { job, .. }) in std::mem::take(running) {
            let text = format!("the model failed: {error}");
            let error = WarpsmithError::new_err(text);
            let _ = job.to.send(Part::Failed { error });
        }
        let (model, options) = (&self.bundle.model, &self.options);
        if let Ok(engine) = guarded(|| Engine::new(model, options)) {
            self.engine = engine;
        }
    }
}
