//! The thread of an engine: takes jobs in between steps, says what came of them, begins anew after a fault.

use super::{Finish, Job, Limits, MakeEngine, Part, Told};
use crate::{
    clock,
    error::ApiError,
    metrics::EngineMetrics,
    queue::{Popped, Queue, Wait},
    start::{Failure, Worker, guarded},
};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use warpsmith_models::{
    Error,
    grammar::{Advance, Then, advance_all},
    llama::{Bundle, Ended, Engine, Event, Request, SequenceId},
    logprobs::Logprobs,
    text::{Streamed, Written},
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
                engine: Some(engine),
                running: BTreeMap::new(),
            }
            .run();
        })
    }
}

/// A job that the engine has.
struct Running<'a> {
    job: Job,
    written: Written<'a>,
    /// When its last token came.
    last: Option<Instant>,
    /// Tokens that are told with the first one: the grammar begins with them.
    known: Vec<u32>,
    /// The token drawn in this step.
    drawn: Option<u32>,
}

impl Running<'_> {
    /// Whether its grammar has nothing to follow what was drawn last.
    fn is_complete(&mut self) -> bool {
        let Some(guide) = &mut self.job.guide else {
            return false;
        };
        match self.drawn {
            Some(token) => guide
                .constraint
                .advance(token, 0)
                .is_ok_and(|advance| advance.then == Then::Done),
            None => guide.then == Then::Done,
        }
    }
}

struct Loop<'a> {
    setup: Setup,
    tokenizer: &'a Tokenizer,
    /// None after a fault, until one can be made again.
    engine: Option<Engine>,
    running: BTreeMap<SequenceId, Running<'a>>,
}

impl Loop<'_> {
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

    /// Gives a job to the engine.
    fn submit(&mut self, job: Job) {
        if self.engine.is_none() {
            match guarded(&mut self.setup.make) {
                Ok(engine) => self.engine = Some(engine),
                Err(failure) => {
                    let message = format!("the model cannot run: {failure}");
                    let _ = job.to.send(Part::Failed(ApiError::unavailable(message)));
                    return;
                }
            }
        }
        let Some(engine) = &mut self.engine else {
            return;
        };
        let mut request = Request {
            prompt: job.prompt.clone(),
            sampler: job.sampler,
            max_tokens: job.max_tokens,
            ends: self.tokenizer.end_of_generation().to_vec(),
            bias: job.bias.clone(),
            penalties: job.penalties,
            mask: None,
            logits: job.logprobs.is_some(),
        };
        let mut known = Vec::new();
        if let Some(guide) = &job.guide {
            known.clone_from(&guide.known);
            request.prompt.extend(&known);
            request.max_tokens = job.max_tokens.saturating_sub(known.len() as u32);
            match &guide.then {
                Then::Draw(mask) => request.mask = Some(mask.clone()),
                // There is one answer, and nothing to be drawn.
                Then::Done => request.max_tokens = 0,
            }
        }
        match guarded(|| engine.submit(request)) {
            Ok(id) => {
                let written = Written::after(&job.prompt, self.tokenizer, job.stops.clone());
                self.running.insert(
                    id,
                    Running {
                        job,
                        written,
                        last: None,
                        known,
                        drawn: None,
                    },
                );
            }
            Err(failure) => {
                let error = match failure.error {
                    // What requests can have wrong was looked at before, but for settings that only the engine knows.
                    Some(error) => refused(&error),
                    None => ApiError::internal(failure.to_string()),
                };
                let _ = job.to.send(Part::Failed(error));
            }
        }
    }

    /// One step, and what came of it.
    fn step(&mut self) -> Result<(), Failure> {
        let Some(engine) = &mut self.engine else {
            return Err(Failure::new("there is no engine"));
        };
        let gone: Vec<SequenceId> = self
            .running
            .iter()
            .filter(|(_, running)| running.job.to.is_closed())
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            guarded(|| engine.cancel(id))?;
            self.running.remove(&id);
            self.setup.metrics.vanished();
        }
        if self.running.is_empty() {
            self.setup.metrics.report(&engine.report());
            return Ok(());
        }
        let events = guarded(|| engine.step())?;
        let now = clock::now();
        for event in events {
            match event {
                Event::Token { id, token } => self.token(id, token, now)?,
                Event::Finished { id, ended } => self.finished(id, ended),
                Event::Failed { id, error } => {
                    if let Some(running) = self.running.remove(&id) {
                        let error = ApiError::internal(error.to_string());
                        let _ = running.job.to.send(Part::Failed(error));
                    }
                }
            }
        }
        self.follow()?;
        if let Some(engine) = &self.engine {
            self.setup.metrics.report(&engine.report());
        }
        Ok(())
    }

    /// Has those that follow a grammar go on with it: what they may draw next, and what they need not draw.
    fn follow(&mut self) -> Result<(), Failure> {
        let Some(engine) = &mut self.engine else {
            return Ok(());
        };
        let (mut ids, mut texts) = (Vec::new(), Vec::new());
        for (id, running) in &mut self.running {
            let token = running.drawn.take();
            if let (Some(token), Some(guide)) = (token, &mut running.job.guide) {
                let room = match running.job.logprobs {
                    None => engine.room(*id),
                    Some(_) => 0,
                };
                ids.push(*id);
                texts.push((&mut guide.constraint, token, room));
            }
        }
        for (id, advance) in ids.into_iter().zip(advance_all(&mut texts)) {
            match advance {
                Ok(advance) => self.advanced(id, advance)?,
                Err(error) => {
                    let error = ApiError::internal(error.to_string());
                    self.fail(id, error)?;
                }
            }
        }
        Ok(())
    }

    /// What a grammar says of a sequence.
    fn advanced(&mut self, id: SequenceId, advance: Advance) -> Result<(), Failure> {
        let Advance { forced, then } = advance;
        for token in &forced {
            self.setup.metrics.next(Duration::ZERO);
            self.write(id, *token, None)?;
        }
        let (Some(engine), true) = (&mut self.engine, self.running.contains_key(&id)) else {
            return Ok(());
        };
        match then {
            Then::Done => {
                guarded(|| engine.cancel(id))?;
                self.finished(id, Ended::Token);
            }
            Then::Draw(mask) => {
                let taken = guarded(|| {
                    let taken = engine.extend(id, &forced)?;
                    engine.mask(id, Some(mask))?;
                    Ok(taken)
                })?;
                if taken != forced.len() {
                    let all = forced.len();
                    let error = format!("{taken} of {all} tokens of a grammar found room");
                    self.fail(id, ApiError::internal(error))?;
                }
            }
        }
        Ok(())
    }

    /// Ends a sequence with an error.
    fn fail(&mut self, id: SequenceId, error: ApiError) -> Result<(), Failure> {
        if let Some(running) = self.running.remove(&id) {
            let _ = running.job.to.send(Part::Failed(error));
        }
        match &mut self.engine {
            Some(engine) => guarded(|| engine.cancel(id)).map(drop),
            None => Ok(()),
        }
    }

    fn token(&mut self, id: SequenceId, token: u32, now: Instant) -> Result<(), Failure> {
        let (Some(running), Some(engine)) = (self.running.get_mut(&id), &mut self.engine) else {
            return Ok(());
        };
        match running.last.replace(now) {
            None => self.setup.metrics.first(now - running.job.arrived),
            Some(last) => self.setup.metrics.next(now - last),
        }
        running.drawn = Some(token);
        let is_text = !self.tokenizer.is_end_of_generation(token);
        let told = running.job.logprobs.filter(|_| is_text).and_then(|most| {
            let of = Logprobs::of(engine.logits(id)?);
            let ranked = |id: u32| (id, of.token(id));
            Some(Told {
                own: ranked(token),
                top: of.best(most).into_iter().map(ranked).collect(),
            })
        });
        self.begin(id)?;
        self.write(id, token, told)
    }

    /// Tells the tokens that the grammar begins with, if they are not told yet.
    fn begin(&mut self, id: SequenceId) -> Result<(), Failure> {
        let running = self.running.get_mut(&id);
        let known = running.map(|running| std::mem::take(&mut running.known));
        for token in known.unwrap_or_default() {
            self.setup.metrics.next(Duration::ZERO);
            self.write(id, token, None)?;
        }
        Ok(())
    }

    /// Sends the text that a token makes certain, if the sequence has not ended.
    fn write(&mut self, id: SequenceId, token: u32, told: Option<Told>) -> Result<(), Failure> {
        let Some(running) = self.running.get_mut(&id) else {
            return Ok(());
        };
        let choice = running.job.choice;
        let (text, stopped) = match running.written.push(token) {
            Ok(Streamed::Text(text)) => (text, false),
            Ok(Streamed::Stopped { text, stop: _ }) => (text, true),
            Err(error) => return self.fail(id, ApiError::internal(error.to_string())),
        };
        let _ = running.job.to.send(Part::Piece {
            choice,
            text,
            tokens: 1,
            told,
        });
        if stopped {
            let finish = Finish::Stop;
            let _ = running.job.to.send(Part::End { choice, finish });
            self.running.remove(&id);
            if let Some(engine) = &mut self.engine {
                guarded(|| engine.cancel(id))?;
            }
        }
        Ok(())
    }

    fn finished(&mut self, id: SequenceId, ended: Ended) {
        // One that has nothing to draw comes to its end without a token.
        if let Err(failure) = self.begin(id) {
            tracing::error!(%failure, "an engine failed at the end of a sequence");
        }
        let Some(mut running) = self.running.remove(&id) else {
            return;
        };
        let complete = running.is_complete();
        let Running { job, written, .. } = running;
        let Job { choice, to, .. } = job;
        let part = match written.finish() {
            Ok(text) => Part::Piece {
                choice,
                text,
                tokens: 0,
                told: None,
            },
            Err(error) => Part::Failed(ApiError::internal(error.to_string())),
        };
        let _ = to.send(part);
        let finish = match ended {
            Ended::Token | Ended::Stopped => Finish::Stop,
            Ended::Length | Ended::Context if complete => Finish::Stop,
            Ended::Length | Ended::Context => Finish::Length,
        };
        let _ = to.send(Part::End { choice, finish });
    }

    /// Everyone the engine had is told, and another one is made.
    fn fault(&mut self, failure: &Failure) {
        tracing::error!(%failure, "an engine failed");
        self.setup.metrics.fault();
        for (_, running) in std::mem::take(&mut self.running) {
            let error = ApiError::internal(format!("the model failed: {failure}"));
            let _ = running.job.to.send(Part::Failed(error));
        }
        let old = self.engine.take();
        let dropped = guarded(|| -> Result<(), Error> {
            drop(old);
            Ok(())
        });
        if let Err(failure) = dropped {
            tracing::error!(%failure, "an engine that failed could not be taken down");
        }
        match guarded(&mut self.setup.make) {
            Ok(engine) => self.engine = Some(engine),
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
