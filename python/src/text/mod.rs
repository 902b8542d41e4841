//! A language model: an engine on a thread that all callers share, and a session for logits and embeddings.

mod form;
mod worker;

use crate::{
    errors::{self, ClosedError, InputError, WarpsmithError},
    model::{Place, precision},
    wait,
};
use pyo3::{prelude::*, types::PyBytes};
use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};
use warpsmith::{
    graph::Precision,
    models::{
        chat::{GenerationPrompt, Message},
        grammar::Guide,
        llama::{Bundle, Engine, EngineOptions, Pooling, Run, Session, SessionOptions},
        sampling::SamplerConfig,
        text::StopMatcher,
        tokenizer::Special,
    },
};
use worker::{Job, Part, Worker};

/// A loaded language model.
#[pyclass(frozen)]
pub(crate) struct Llm {
    inner: Mutex<Option<Inner>>,
    closed: Arc<AtomicBool>,
}

struct Inner {
    bundle: Arc<Bundle>,
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
    session: Arc<Mutex<Option<Session>>>,
    options: EngineOptions,
    context: u32,
}

/// What a call needs of it.
struct Shared {
    bundle: Arc<Bundle>,
    jobs: Sender<Job>,
    session: Arc<Mutex<Option<Session>>>,
    precision: Precision,
    context: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Llm {
    fn shared(&self) -> PyResult<Shared> {
        let inner = lock(&self.inner);
        let inner = inner
            .as_ref()
            .ok_or_else(|| ClosedError::new_err("the model is closed"))?;
        Ok(Shared {
            bundle: Arc::clone(&inner.bundle),
            jobs: inner.jobs.clone(),
            session: Arc::clone(&inner.session),
            precision: inner.options.precision,
            context: inner.context,
        })
    }

    /// Has a session at work, made where there is none yet.
    fn with_session<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Session) -> Result<T, warpsmith::models::Error> + Send + 'static,
    ) -> PyResult<T> {
        let shared = self.shared()?;
        let done = wait::done(
            py,
            || {},
            move || {
                let mut place = lock(&shared.session);
                // One that panics at work is not used again.
                let mut session = match place.take() {
                    Some(session) => session,
                    None => {
                        let options = SessionOptions {
                            context: shared.context,
                            precision: shared.precision,
                            run: Run::Eager,
                            ..SessionOptions::default()
                        };
                        Session::new(&shared.bundle.model, &options)?
                    }
                };
                session.reset();
                let done = work(&mut session);
                *place = Some(session);
                done
            },
        )?;
        done.map_err(errors::model)
    }
}

#[pymethods]
impl Llm {
    #[new]
    #[pyo3(signature = (path, device, threads, weights, precision_name, ctx_size, sequences, pages))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        device: String,
        threads: Option<u16>,
        weights: Option<String>,
        precision_name: &str,
        ctx_size: u32,
        sequences: u32,
        pages: u32,
    ) -> PyResult<Llm> {
        let options = EngineOptions {
            sequences,
            context: ctx_size,
            pages,
            precision: precision(precision_name)?,
            ..EngineOptions::default()
        };
        let place = Place {
            path,
            device,
            threads,
            weights,
        };
        let closed = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&closed);
        let inner = wait::done(
            py,
            || {},
            move || -> PyResult<Inner> {
                let device = place.open()?;
                let bundle = Bundle::load(&device, place.files()?, &mut |_, _| {});
                let bundle = Arc::new(bundle.map_err(errors::model)?);
                let engine = Engine::new(&bundle.model, &options).map_err(errors::model)?;
                let (jobs, from) = channel();
                let context = engine.context();
                let own = Arc::clone(&bundle);
                let thread = thread::Builder::new().name("warpsmith-llm".to_owned());
                let run = move || Worker::new(&own, engine, options, told).run(&from);
                let thread = thread.spawn(run).map_err(|error| {
                    WarpsmithError::new_err(format!("no thread for the model: {error}"))
                })?;
                Ok(Inner {
                    bundle,
                    jobs,
                    thread,
                    session: Arc::default(),
                    options,
                    context,
                })
            },
        )??;
        Ok(Llm {
            inner: Mutex::new(Some(inner)),
            closed,
        })
    }

    /// Has continuations of prompts made; what comes of them comes from the `Generation`.
    #[pyo3(signature = (prompts, max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop, logprobs, bias, form))]
    fn submit(
        &self,
        py: Python<'_>,
        prompts: Vec<Vec<u32>>,
        max_tokens: Option<u32>,
        temperature: f32,
        top_k: u32,
        top_p: f32,
        min_p: f32,
        repeat_penalty: f32,
        seed: u64,
        stop: Vec<String>,
        logprobs: Option<usize>,
        bias: Vec<(u32, f32)>,
        form: Option<(String, String)>,
    ) -> PyResult<Generation> {
        let shared = self.shared()?;
        let sampler = SamplerConfig {
            temperature,
            top_k,
            top_p,
            min_p,
            repeat_penalty,
            seed,
        };
        sampler.validate().map_err(errors::model)?;
        let stops = StopMatcher::new(stop).map_err(errors::model)?;
        let form = match form {
            Some((kind, text)) => {
                let bundle = Arc::clone(&shared.bundle);
                let read = move || form::read(&bundle, &kind, &text);
                Some(wait::done(py, || {}, read)??)
            }
            None => None,
        };
        let (to, parts) = channel();
        let alive = Arc::new(());
        let left = AtomicUsize::new(prompts.len());
        for (index, prompt) in prompts.into_iter().enumerate() {
            let room = shared.context;
            if prompt.len() as u64 > u64::from(room) {
                return Err(errors::ContextFullError::new_err(format!(
                    "the context holds {room} tokens (ctx_size), the prompt has {}",
                    prompt.len()
                )));
            }
            // The last token drawn needs no position.
            let rest = room.saturating_sub(prompt.len() as u32).saturating_add(1);
            let most = max_tokens.map_or(rest, |most| most.min(rest));
            let guide = form
                .as_ref()
                .map(|form| Guide::begin(form.clone(), most, logprobs))
                .transpose()
                .map_err(errors::model)?;
            let job = Job {
                max_tokens: max_tokens.unwrap_or(rest),
                guide,
                prompt,
                sampler,
                stops: stops.clone(),
                logprobs,
                bias: bias.clone(),
                index,
                to: to.clone(),
                alive: Arc::downgrade(&alive),
            };
            let sent = shared.jobs.send(job);
            sent.map_err(|_| ClosedError::new_err("the model is closed"))?;
        }
        Ok(Generation {
            parts: Mutex::new(parts),
            alive: Mutex::new(Some(alive)),
            left,
            seed,
        })
    }

    /// Logits of tokens: bytes of f32, row by row, of all tokens or of the last one.
    fn logits<'py>(
        &self,
        py: Python<'py>,
        tokens: Vec<u32>,
        last: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        if tokens.is_empty() {
            return Err(errors::input("tokens", "one or more", "none"));
        }
        let floats = self.with_session(py, move |session| {
            if last {
                session.prefill(&tokens, &mut |_, _| {})?;
                return session.logits();
            }
            let mut all = Vec::new();
            session.evaluate(&tokens, &mut |_, rows| all.extend_from_slice(rows))?;
            Ok(all)
        })?;
        Ok(float_bytes(py, &floats))
    }

    /// The embedding of tokens: bytes of f32.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        tokens: Vec<u32>,
        pooling: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let pooling = match pooling {
            "mean" => Pooling::Mean,
            "last" => Pooling::Last,
            other => {
                return Err(errors::input(
                    "pooling",
                    "\"mean\" or \"last\"",
                    format!("{other:?}"),
                ));
            }
        };
        let floats = self.with_session(py, move |session| session.embed(&tokens, pooling))?;
        Ok(float_bytes(py, &floats))
    }

    /// Token ids of a text.
    fn encode(&self, py: Python<'_>, text: &str, special: bool) -> PyResult<Vec<u32>> {
        let bundle = self.shared()?.bundle;
        let special = match special {
            true => Special::Parse,
            false => Special::Plain,
        };
        py.detach(|| bundle.tokenizer.encode(text, special))
            .map_err(errors::model)
    }

    /// The text of token ids.
    fn decode(&self, py: Python<'_>, tokens: Vec<u32>) -> PyResult<String> {
        let bundle = self.shared()?.bundle;
        let vocab = bundle.tokenizer.vocab_len();
        if let Some(id) = tokens.iter().find(|id| **id as usize >= vocab) {
            return Err(errors::input("tokens", &format!("ids below {vocab}"), id));
        }
        py.detach(|| bundle.tokenizer.decode(&tokens))
            .map_err(errors::model)
    }

    /// The prompt of a conversation, by the model's template; `now` is in seconds since 1970, for templates that ask.
    #[pyo3(signature = (messages, tools, add_generation_prompt, now))]
    fn render(
        &self,
        py: Python<'_>,
        messages: &str,
        tools: Option<&str>,
        add_generation_prompt: bool,
        now: i64,
    ) -> PyResult<String> {
        let bundle = self.shared()?.bundle;
        let messages: Vec<Message> = serde_json::from_str(messages)
            .map_err(|error| InputError::new_err(format!("messages: {error}")))?;
        let mut template = bundle.template.clone().at_time(now);
        if let Some(tools) = tools {
            if !template.knows_tools() {
                let text = "tools: the chat template of the model says nothing about tools";
                return Err(errors::UnsupportedError::new_err(text));
            }
            let tools = serde_json::from_str(tools)
                .map_err(|error| InputError::new_err(format!("tools: {error}")))?;
            template = template.with_tools(tools);
        }
        let prompt = match add_generation_prompt {
            true => GenerationPrompt::Add,
            false => GenerationPrompt::Omit,
        };
        py.detach(|| template.render(&messages, prompt))
            .map_err(errors::model)
    }

    /// Whether the model brings a chat template.
    fn has_template(&self) -> PyResult<bool> {
        Ok(self.shared()?.bundle.template.is_own())
    }

    /// Facts: context, vocabulary, width, layers, the device's name, warnings.
    fn facts(&self) -> PyResult<(u32, u32, u32, u32, String, Vec<String>)> {
        let shared = self.shared()?;
        let model = &shared.bundle.model;
        let config = model.config();
        Ok((
            shared.context,
            config.vocab,
            config.width,
            config.layers,
            model.device().info().name.clone(),
            model.warnings().iter().map(ToString::to_string).collect(),
        ))
    }

    /// Ends the thread; what runs ends with an error.
    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Ordering::Relaxed);
        let inner = lock(&self.inner).take();
        py.detach(|| {
            if let Some(Inner { jobs, thread, .. }) = inner {
                drop(jobs);
                // One that panicked has told whoever waited.
                let _ = thread.join();
            }
        });
    }
}

impl Drop for Llm {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

fn float_bytes<'py>(py: Python<'py>, floats: &[f32]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = floats.iter().flat_map(|x| x.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Continuations in the making: an iterator of what comes of each. One that is dropped or closed is not made further.
#[pyclass(frozen)]
pub(crate) struct Generation {
    parts: Mutex<Receiver<Part>>,
    alive: Mutex<Option<Arc<()>>>,
    /// Prompts whose end has not come.
    left: AtomicUsize,
    /// What draws began with.
    #[pyo3(get)]
    seed: u64,
}

/// `(index, text, token, logprob, top, finish)`: which prompt; text that is certain; the token drawn, if one was; how
/// probable it was and the most probable ones, if that was asked for; why it ended, if it did.
type Event = (
    usize,
    String,
    Option<u32>,
    Option<f64>,
    Option<Vec<(u32, f64)>>,
    Option<&'static str>,
);

#[pymethods]
impl Generation {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Event>> {
        if lock(&self.alive).is_none() {
            return Ok(None);
        }
        match wait::next(py, &self.parts) {
            Ok(None) if self.left.load(Ordering::Relaxed) == 0 => Ok(None),
            // What was waiting when the model was closed, or when its thread ended, is not a short text.
            Ok(None) => {
                self.close();
                let text = "the model was closed before all texts were made";
                Err(ClosedError::new_err(text))
            }
            Ok(Some(Part::Piece {
                index,
                text,
                token,
                told,
            })) => {
                let (own, top) =
                    told.map_or((None, None), |told| (Some(told.own.1), Some(told.top)));
                Ok(Some((index, text, token, own, top, None)))
            }
            Ok(Some(Part::End {
                index,
                text,
                finish,
            })) => {
                self.left.fetch_sub(1, Ordering::Relaxed);
                Ok(Some((index, text, None, None, None, Some(finish))))
            }
            Ok(Some(Part::Failed { error })) => {
                self.close();
                Err(error)
            }
            Err(interrupted) => {
                self.close();
                Err(interrupted)
            }
        }
    }

    /// Makes no more of it.
    fn close(&self) {
        lock(&self.alive).take();
    }
}
