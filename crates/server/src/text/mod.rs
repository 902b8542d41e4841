//! A language model that is served: its queue, the threads of its engines, and what goes between them and requests.

mod guide;
mod worker;

use crate::{
    error::ApiError,
    metrics::Metrics,
    pictures::{Drawn, Pictures},
    queue::{self, Place, Queue},
    start::{Failure, Worker},
};
use std::{sync::Arc, time::Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use warpsmith_device::Device;
pub(crate) use warpsmith_models::llama::Told;
use warpsmith_models::{
    Error,
    grammar::Guide,
    llama::{self, Bundle, Engine, Penalties},
    sampling::SamplerConfig,
    text::StopMatcher,
};

/// Makes an engine: when the server starts, and again after a fault.
pub type MakeEngine = Box<dyn FnMut() -> Result<Engine, Error> + Send>;

/// A language model to be served.
pub struct TextModel {
    /// What requests call it.
    pub name: String,
    /// Its tokenizer and template.
    pub bundle: Arc<Bundle>,
    /// What makes an engine, for each device one. All have the same options.
    pub engines: Vec<MakeEngine>,
    /// The devices, for what they count.
    pub devices: Vec<Device>,
    /// Sequences that one engine runs at once.
    pub sequences: u32,
    /// Positions of a page of an engine.
    pub page: u32,
    /// Requests that wait beside those that run.
    pub waiting: usize,
    /// What makes the session that embeddings are computed in, if they are served.
    pub embeddings: Option<crate::embeddings::MakeSession>,
    /// What the page shows of it, if anything.
    pub pictures: Option<Pictures>,
}

/// One continuation to be made.
pub(crate) struct Job {
    pub(crate) prompt: Vec<u32>,
    pub(crate) sampler: SamplerConfig,
    pub(crate) max_tokens: u32,
    pub(crate) stops: StopMatcher,
    /// How many of the most probable tokens are told of each.
    pub(crate) logprobs: Option<usize>,
    pub(crate) bias: Vec<(u32, f32)>,
    pub(crate) penalties: Penalties,
    /// What it follows.
    pub(crate) guide: Option<Guide>,
    /// Which of the continuations of its request it is.
    pub(crate) choice: usize,
    /// No more than one part for each token, and an end: what a slow client leaves there is bounded by its `max_tokens`.
    pub(crate) to: UnboundedSender<Part>,
    pub(crate) arrived: Instant,
    /// Held until it is done.
    _place: Place,
}

impl queue::Job for Job {
    fn is_gone(&self) -> bool {
        self.to.is_closed()
    }
}

/// Why a continuation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// By itself, or before a stop string.
    Stop,
    /// At the most tokens, or at the end of the context.
    Length,
}

impl From<llama::Finish> for Finish {
    fn from(finish: llama::Finish) -> Finish {
        match finish {
            llama::Finish::Stop => Finish::Stop,
            llama::Finish::Length | llama::Finish::Context => Finish::Length,
        }
    }
}

impl Finish {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Finish::Stop => "stop",
            Finish::Length => "length",
        }
    }
}

/// What a worker says of a continuation.
#[derive(Debug)]
pub(crate) enum Part {
    /// Text that is certain, often none, of a token that was drawn.
    Piece {
        choice: usize,
        text: String,
        /// Tokens drawn: one, or none where text had been held back.
        tokens: u64,
        told: Option<Told>,
    },
    /// Nothing follows.
    End { choice: usize, finish: Finish },
    /// It could not be made, and neither could the others of the request.
    Failed(ApiError),
}

/// What holds for all sequences of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Positions of a sequence.
    pub(crate) context: u32,
    /// Positions of all pages of an engine.
    pub(crate) paged: u64,
}

/// A served model, as requests see it.
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) bundle: Arc<Bundle>,
    pub(crate) limits: Limits,
    pub(crate) queue: Arc<Queue<Job>>,
    pub(crate) embeddings: Option<crate::embeddings::Embeddings>,
    pub(crate) pictures: Option<Drawn>,
    pub(crate) devices: Vec<Device>,
}

impl Text {
    /// Starts the threads; each has made its engine when this returns.
    ///
    /// # Errors
    /// What an engine cannot be made for.
    pub(crate) fn start(
        model: TextModel,
        metrics: &Arc<Metrics>,
    ) -> Result<(Text, Vec<Worker>), Failure> {
        let TextModel {
            name,
            bundle,
            engines,
            devices,
            sequences,
            page,
            waiting,
            embeddings,
            pictures,
        } = model;
        let all = sequences as usize * engines.len() + waiting;
        let queue = Arc::new(Queue::new(all));
        let mut workers = Vec::new();
        let mut limits: Option<Limits> = None;
        for (at, make) in engines.into_iter().enumerate() {
            let worker = worker::Setup {
                make,
                bundle: Arc::clone(&bundle),
                queue: Arc::clone(&queue),
                metrics: metrics.engine(&name, at),
                sequences: sequences as usize,
                page,
            };
            let (worker, own) = worker.start(&format!("{name}-{at}"))?;
            limits = Some(limits.map_or(own, |all| Limits {
                context: all.context.min(own.context),
                paged: all.paged.min(own.paged),
            }));
            workers.push(worker);
        }
        let limits = limits.ok_or_else(|| Failure::new("a model needs one engine or more"))?;
        let embeddings = match embeddings {
            Some(make) => {
                let (embeddings, worker) =
                    crate::embeddings::Embeddings::start(make, waiting, &name)?;
                workers.push(worker);
                Some(embeddings)
            }
            None => None,
        };
        let text = Text {
            name,
            bundle,
            limits,
            queue,
            embeddings,
            pictures: pictures.map(Drawn::from),
            devices,
        };
        Ok((text, workers))
    }

    /// Has continuations made of prompts, `each(choice)` says how; the parts come in any order of choices.
    ///
    /// # Errors
    /// 429 where the queue is full; a server that shuts down.
    pub(crate) fn ask(
        &self,
        asked: Asked,
        arrived: Instant,
    ) -> Result<UnboundedReceiver<Part>, ApiError> {
        let Asked {
            prompts,
            n,
            sampler,
            max_tokens,
            stops,
            logprobs,
            bias,
            penalties,
            guide,
        } = asked;
        let places = self.queue.places("n", prompts.len() * n)?;
        let (to, parts) = unbounded_channel();
        let all = prompts
            .iter()
            .flat_map(|prompt| (0..n).map(move |at| (prompt, at)));
        let jobs = all
            .zip(places)
            .enumerate()
            .map(|(choice, ((prompt, at), place))| Job {
                prompt: prompt.ids.clone(),
                // The next choice has the next seed, as of `generate --parallel`.
                sampler: SamplerConfig {
                    seed: sampler.seed.wrapping_add(at as u64),
                    ..sampler
                },
                max_tokens: max_tokens.unwrap_or_else(|| self.rest(prompt.ids.len())),
                stops: stops.clone(),
                logprobs,
                bias: bias.clone(),
                penalties,
                guide: guide.clone(),
                choice,
                to: to.clone(),
                arrived,
                _place: place,
            });
        self.queue.push(jobs.collect::<Vec<_>>())?;
        Ok(parts)
    }

    /// Tokens that may follow a prompt.
    fn rest(&self, prompt: usize) -> u32 {
        let room = u64::from(self.limits.context).min(self.limits.paged);
        // The last token drawn needs no position.
        let rest = (room + 1).saturating_sub(prompt as u64);
        rest.min(u64::from(u32::MAX)) as u32
    }

    /// Whether a prompt and what follows it ever fit.
    ///
    /// # Errors
    /// 400 with both numbers.
    pub(crate) fn fits(
        &self,
        param: &str,
        prompt: usize,
        max_tokens: Option<u32>,
    ) -> Result<(), ApiError> {
        let room = u64::from(self.limits.context).min(self.limits.paged);
        let (asked, what) = match max_tokens {
            None => (prompt as u64, format!("{prompt} tokens of the prompt")),
            Some(more) => (
                prompt as u64 + u64::from(more),
                format!(
                    "{} tokens, {prompt} of the prompt and {more} to be made",
                    prompt as u64 + u64::from(more)
                ),
            ),
        };
        if asked > room {
            return Err(ApiError::too_long(
                param,
                format!("the context holds {room} tokens, and {what} were asked for"),
            ));
        }
        Ok(())
    }
}

/// A prompt as tokens.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) ids: Vec<u32>,
}

/// What is to be made of prompts.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) prompts: Vec<Prompt>,
    /// Continuations of each.
    pub(crate) n: usize,
    pub(crate) sampler: SamplerConfig,
    /// All that fit, if nothing is said.
    pub(crate) max_tokens: Option<u32>,
    pub(crate) stops: StopMatcher,
    pub(crate) logprobs: Option<usize>,
    pub(crate) bias: Vec<(u32, f32)>,
    pub(crate) penalties: Penalties,
    pub(crate) guide: Option<Guide>,
}
