//! The thread of an engine: takes jobs in between steps, says what came of them, begins anew after a fault.

use super::{Job, Limits, MakeEngine, Part};
use crate::{
    clock,
    error::ApiError,
    metrics::EngineMetrics,
    queue::{Place, Popped, Queue, Wait},
    start::{Failure, Worker, guarded},
};
use std::{collections::BTreeMap, sync::Arc, time::Instant};
use tokio::sync::mpsc::UnboundedSender;
use warpsmith_models::{
    Error,
    llama::{Bundle, Request, SequenceId, Wanted, Writer, Wrote},
    tokenizer::Tokenizer,
};

/// What a worker needs.
pub(super) struct Setup {
    pub(super) make: MakeEngine,
    pub(super) bundle: Arc<Bundle>,
    pub(super) queue: Arc<Queue<Job>>,
    pub(super) metrics: Arc<EngineMetrics>,
    pub(super) sequences: usize,
    pub(super) page: u32,
}

impl Setup {
    /// The thread, and what its engine holds.
    pub(super) fn start(mut self, name: &str) -> Result<(Worker, Limits), Failure> {
        Worker::start(name, move |ready| {
            let page = u64::from(self.page);
            let made = guarded(&mut self.make);
            let engine = match made {
                Ok(engine) => {
                    let limits = Limits {
                        context: engine.context(),
                        paged: page * u64::from(engine.report().pages),
                    };
                    self.metrics.report(&engine.report());
                    ready(Ok(limits));
                    engine
                }
                Err(failure) => {
                    ready(Err(failure));
                    return;
                }
            };
            let bundle = Arc::clone(&self.bundle);
            Loop {
                setup: self,
                tokenizer: &bundle.tokenizer,
                writer: Some(Writer::new(engine, &bundle.tokenizer)),
                running: BTreeMap::new(),
            }
            .run();
        })
    }
}

/// A job that the engine has.
struct Running {
    choice: usize,
    to: UnboundedSender<Part>,
    arrived: Instant,
    /// When its last token came.
    last: Option<Instant>,
    /// Held until it is done.
    _place: Place,
}

struct Loop<'a> {
    setup: Setup,
    tokenizer: &'a Tokenizer,
    /// None after a fault, until an engine can be made again.
    writer: Option<Writer<'a>>,
    running: BTreeMap<SequenceId, Running>,
}

impl<'a> Loop<'a> {
    fn run(&mut self) {
        loop {
            while self.running.len() < self.setup.sequences {
                let wait = match self.running.is_empty() {
                    true => Wait::Yes,
                    false => Wait::No,
                };
                match self.setup.queue.pop(wait) {
                    Popped::Job(job) => self.submit(job),
                    Popped::Empty => break,
                    Popped::Closed if self.running.is_empty() => return,
                    Popped::Closed => break,
                }
            }
            if self.running.is_empty() {
                continue;
            }
            if let Err(failure) = self.step() {
                self.fault(&failure);
            }
            self.setup.queue.prune();
        }
    }

    /// What writes with a new engine.
    fn make(&mut self) -> Result<Writer<'a>, Failure> {
        let engine = guarded(&mut self.setup.make)?;
        Ok(Writer::new(engine, self.tokenizer))
    }

    /// Gives a job to the engine.
    fn submit(&mut self, job: Job) {
        if self.writer.is_none() {
            match self.make() {
                Ok(writer) => self.writer = Some(writer),
                Err(failure) => {
                    let message = format!("the model cannot run: {failure}");
                    let _ = job.to.send(Part::Failed(ApiError::unavailable(message)));
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
            penalties,
            guide,
            choice,
            to,
            arrived,
            _place,
        } = job;
        let wanted = Wanted {
            request: Request {
                prompt,
                sampler,
                max_tokens,
                bias,
                penalties,
                ..Request::default()
            },
            stops,
            logprobs,
            guide,
        };
        match guarded(|| writer.submit(wanted)) {
            Ok(id) => {
                self.running.insert(
                    id,
                    Running {
                        choice,
                        to,
                        arrived,
                        last: None,
                        _place,
                    },
                );
            }
            Err(failure) => {
                let error = match failure.error {
                    // What requests can have wrong was looked at before, but for settings that only the engine knows.
                    Some(error) => refused(&error),
                    None => ApiError::internal(failure.to_string()),
                };
                let _ = to.send(Part::Failed(error));
            }
        }
    }

    /// One step, and what came of it.
    fn step(&mut self) -> Result<(), Failure> {
        let Some(writer) = &mut self.writer else {
            return Err(Failure::new("there is no engine"));
        };
        let gone = self
            .running
            .iter()
            .filter(|(_, running)| running.to.is_closed());
        let gone: Vec<SequenceId> = gone.map(|(id, _)| *id).collect();
        for id in gone {
            guarded(|| writer.cancel(id))?;
            self.running.remove(&id);
            self.setup.metrics.vanished();
        }
        let wrote = match self.running.is_empty() {
            true => Vec::new(),
            false => guarded(|| writer.step())?,
        };
        self.setup.metrics.report(&writer.report());
        let now = clock::now();
        wrote.into_iter().for_each(|wrote| self.tell(wrote, now));
        Ok(())
    }

    /// Hands on what came of a text.
    fn tell(&mut self, wrote: Wrote, now: Instant) {
        match wrote {
            Wrote::Piece {
                id,
                token: _,
                text,
                told,
            } => {
                let Some(running) = self.running.get_mut(&id) else {
                    return;
                };
                match running.last.replace(now) {
                    None => self.setup.metrics.first(now - running.arrived),
                    Some(last) => self.setup.metrics.next(now - last),
                }
                let _ = running.to.send(Part::Piece {
                    choice: running.choice,
                    text,
                    tokens: 1,
                    told,
                });
            }
            Wrote::End { id, text, finish } => {
                let Some(Running { choice, to, .. }) = self.running.remove(&id) else {
                    return;
                };
                let _ = to.send(Part::Piece {
                    choice,
                    text,
                    tokens: 0,
                    told: None,
                });
                let finish = finish.into();
                let _ = to.send(Part::End { choice, finish });
            }
            Wrote::Failed { id, error } => {
                if let Some(running) = self.running.remove(&id) {
                    let error = ApiError::internal(error.to_string());
                    let _ = running.to.send(Part::Failed(error));
                }
            }
        }
    }

    /// Everyone the engine had is told, and another one is made.
    fn fault(&mut self, failure: &Failure) {
        tracing::error!(%failure, "an engine failed");
        self.setup.metrics.fault();
        for (_, running) in std::mem::take(&mut self.running) {
            let error = ApiError::internal(format!("the model failed: {failure}"));
            let _ = running.to.send(Part::Failed(error));
        }
        let old = self.writer.take();
        let dropped = guarded(|| -> Result<(), Error> {
            drop(old);
            Ok(())
        });
        if let Err(failure) = dropped {
            tracing::error!(%failure, "an engine that failed could not be taken down");
        }
        match self.make() {
            Ok(writer) => self.writer = Some(writer),
            Err(failure) => tracing::error!(%failure, "no other engine could be made"),
        }
    }
}

/// A request that the engine does not take.
fn refused(error: &Error) -> ApiError {
    match error {
        Error::Sampler { field, .. } => ApiError::field(*field, error.to_string()),
        Error::TokenId { .. } | Error::NoLogits => ApiError::field("prompt", error.to_string()),
        Error::ContextFull { .. } => ApiError::too_long("prompt", error.to_string()),
        _ => ApiError::internal(error.to_string()),
    }
}
