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
    grammar::Guide,
    llama::{
        Bundle, Engine, EngineOptions, Finish, Request, SequenceId, Told, Wanted, Writer, Wrote,
    },
    sampling::SamplerConfig,
    text::StopMatcher,
};

/// One continuation to be made.
pub(super) struct Job {
    pub(super) prompt: Vec<u32>,
    pub(super) sampler: SamplerConfig,
    pub(super) max_tokens: u32,
    pub(super) stops: StopMatcher,
    pub(super) logprobs: Option<usize>,
    pub(super) bias: Vec<(u32, f32)>,
    /// What the text is held to.
    pub(super) guide: Option<Guide>,
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
        told: Option<Told>,
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

/// A continuation that the engine has.
struct Running {
    index: usize,
    to: Sender<Part>,
    alive: Weak<()>,
}

pub(super) struct Worker<'a> {
    bundle: &'a Bundle,
    /// None after a fault, until an engine can be made again.
    writer: Option<Writer<'a>>,
    options: EngineOptions,
    closed: Arc<AtomicBool>,
    running: BTreeMap<SequenceId, Running>,
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

impl<'a> Worker<'a> {
    pub(super) fn new(
        bundle: &'a Bundle,
        engine: Engine,
        options: EngineOptions,
        closed: Arc<AtomicBool>,
    ) -> Worker<'a> {
        Worker {
            bundle,
            writer: Some(Writer::new(engine, &bundle.tokenizer)),
            options,
            closed,
            running: BTreeMap::new(),
        }
    }

    /// Works until nobody can ask any more.
    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            while self.running.len() < self.options.sequences as usize {
                let job = match self.running.is_empty() {
                    true => jobs.recv().map_err(|_| TryRecvError::Disconnected),
                    false => jobs.try_recv(),
                };
                match job {
                    Ok(job) => self.submit(job),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) if self.running.is_empty() => return,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            if self.closed.load(Ordering::Relaxed) {
                for (_, running) in std::mem::take(&mut self.running) {
                    let error = ClosedError::new_err("the model was closed");
                    let _ = running.to.send(Part::Failed { error });
                }
                return;
            }
            if let Err(error) = self.step() {
                self.fault(&error);
            }
        }
    }

    /// What writes with a new engine.
    fn make(&self) -> Result<Writer<'a>, PyErr> {
        let engine = guarded(|| Engine::new(&self.bundle.model, &self.options))?;
        Ok(Writer::new(engine, &self.bundle.tokenizer))
    }

    fn submit(&mut self, job: Job) {
        if job.alive.strong_count() == 0 {
            return;
        }
        if self.writer.is_none() {
            match self.make() {
                Ok(writer) => self.writer = Some(writer),
                Err(error) => {
                    let _ = job.to.send(Part::Failed { error });
                    return;
                }
            }
        }
        let Some(writer) = &mut self.writer else {
            return;
        };
        let Job {
            prompt,
            sampler,
            max_tokens,
            stops,
            logprobs,
            bias,
            guide,
            index,
            to,
            alive,
        } = job;
        let wanted = Wanted {
            request: Request {
                prompt,
                sampler,
                max_tokens,
                bias,
                ..Request::default()
            },
            stops,
            logprobs,
            guide,
        };
        match guarded(|| writer.submit(wanted)) {
            Ok(id) => {
                self.running.insert(id, Running { index, to, alive });
            }
            Err(error) => {
                let _ = to.send(Part::Failed { error });
            }
        }
    }

    /// One step, and what came of it.
    fn step(&mut self) -> Result<(), PyErr> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let gone = self
            .running
            .iter()
            .filter(|(_, running)| running.alive.strong_count() == 0);
        let gone: Vec<SequenceId> = gone.map(|(id, _)| *id).collect();
        for id in gone {
            self.running.remove(&id);
            guarded(|| writer.cancel(id))?;
        }
        if self.running.is_empty() {
            return Ok(());
        }
        for wrote in guarded(|| writer.step())? {
            self.tell(wrote);
        }
        Ok(())
    }

    /// Hands on what came of a text.
    fn tell(&mut self, wrote: Wrote) {
        match wrote {
            Wrote::Piece {
                id,
                token,
                text,
                told,
            } => {
                // The token that ends a text is none of it.
                let is_text = !self.bundle.tokenizer.is_end_of_generation(token);
                if let Some(Running { index, to, .. }) = self.running.get(&id)
                    && (is_text || !text.is_empty())
                {
                    let _ = to.send(Part::Piece {
                        index: *index,
                        text,
                        token: is_text.then_some(token),
                        told,
                    });
                }
            }
            Wrote::End { id, text, finish } => {
                if let Some(Running { index, to, .. }) = self.running.remove(&id) {
                    let finish = match finish {
                        Finish::Stop => "stop",
                        Finish::Length => "length",
                        Finish::Context => "context",
                    };
                    let _ = to.send(Part::End {
                        index,
                        text,
                        finish,
                    });
                }
            }
            Wrote::Failed { id, error } => {
                if let Some(running) = self.running.remove(&id) {
                    let error = errors::model(error);
                    let _ = running.to.send(Part::Failed { error });
                }
            }
        }
    }

    /// Everyone the engine had is told, and another one is made, now or for the next job.
    fn fault(&mut self, error: &PyErr) {
        for (_, running) in std::mem::take(&mut self.running) {
            let text = format!("the model failed: {error}");
            let error = WarpsmithError::new_err(text);
            let _ = running.to.send(Part::Failed { error });
        }
        let old = self.writer.take();
        let _ = guarded(|| {
            drop(old);
            Ok(())
        });
        self.writer = self.make().ok();
    }
}
