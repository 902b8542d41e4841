//! What every route knows: the models, the limits, who may ask.

use crate::{
    clock,
    error::ApiError,
    metrics::{Metrics, Scraped},
    speech::Speech,
    text::Text,
};
use axum::{
    body::{Bytes, to_bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use serde_json::Value;
use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use subtle::{Choice, ConstantTimeEq};

/// Limits of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body that is no sound.
    pub body: usize,
    /// Bytes of a sound with the fields beside it.
    pub audio: usize,
    /// Tokens of a prompt, beside what the context holds.
    pub prompt: usize,
    /// How long a body may take to come.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 8 << 20,
            audio: 256 << 20,
            prompt: usize::MAX,
            patience: Duration::from_secs(60),
        }
    }
}

/// Shared by all requests.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

impl Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

pub(crate) struct Shared {
    pub(crate) texts: Vec<Arc<Text>>,
    pub(crate) speech: Vec<Arc<Speech>>,
    /// Without one everybody may ask.
    keys: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) started: u64,
    next: AtomicU64,
    seed: u64,
}

/// What a request asks of a model.
pub(crate) struct Taken<T> {
    pub(crate) text: Arc<Text>,
    pub(crate) asked: T,
}

impl App {
    pub(crate) fn new(
        texts: Vec<Text>,
        speech: Vec<Speech>,
        keys: Vec<String>,
        limits: Limits,
        metrics: Arc<Metrics>,
    ) -> App {
        App(Arc::new(Shared {
            texts: texts.into_iter().map(Arc::new).collect(),
            speech: speech.into_iter().map(Arc::new).collect(),
            keys,
            limits,
            metrics,
            started: clock::unix(),
            next: AtomicU64::new(0),
            seed: clock::seed(),
        }))
    }

    /// Reads a request on a thread that may be slow: templates, tokenizers.
    pub(crate) async fn prepare<T: Send + 'static>(
        &self,
        work: impl FnOnce(&App) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let app = self.clone();
        let work = tokio::task::spawn_blocking(move || work(&app));
        work.await
            .map_err(|_| ApiError::internal("reading the request panicked"))?
    }

    /// The language model that a request names.
    pub(crate) fn text(&self, name: Option<String>) -> Result<Arc<Text>, ApiError> {
        let Some(name) = name else {
            return match &self.texts[..] {
                [only] => Ok(Arc::clone(only)),
                [] => Err(ApiError::model("no language model is served".to_owned())),
                _ => Err(ApiError::field("model", "`model` is missing")),
            };
        };
        let found = self.texts.iter().find(|text| text.name == name);
        found.map(Arc::clone).ok_or_else(|| self.no_model(&name))
    }

    /// The speech model that a request names; the name that OpenAI's own has is that of the first.
    pub(crate) fn speech(&self, name: Option<&str>) -> Result<Arc<Speech>, ApiError> {
        let first = || self.speech.first().map(Arc::clone);
        let Some(name) = name else {
            return first().ok_or_else(|| ApiError::model("no speech model is served".to_owned()));
        };
        let found = self.speech.iter().find(|speech| speech.name == name);
        let found = found.map(Arc::clone);
        let found = found.or_else(|| (name == "whisper-1").then(first).flatten());
        found.ok_or_else(|| self.no_model(name))
    }

    fn no_model(&self, name: &str) -> ApiError {
        let texts = self.texts.iter().map(|text| text.name.as_str());
        let speech = self.speech.iter().map(|speech| speech.name.as_str());
        let all: Vec<&str> = texts.chain(speech).collect();
        let all = all.join(", ");
        ApiError::model(format!("no model `{name}` is served here, but {all}"))
    }

    /// An id that no other answer has.
    pub(crate) fn id(&self, kind: &str) -> String {
        let next = self.next.fetch_add(1, Relaxed);
        format!("{kind}-{:016x}{next:08x}", self.seed)
    }

    /// Whether somebody may ask.
    ///
    /// # Errors
    /// 401 for a key that is missing or wrong.
    pub(crate) fn may_ask(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let given = headers.get(header::AUTHORIZATION);
        let given =
            given.ok_or_else(|| ApiError::key("a key is needed: `Authorization: Bearer KEY`"))?;
        let given = given.as_bytes();
        // The name of the scheme may be written in any way.
        let given = match given.split_at_checked(7) {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"Bearer ") => key,
            Some(_) | None => given,
        };
        // Every key is compared, each to its end: how long it takes tells nothing but lengths.
        let any = self.keys.iter().fold(Choice::from(0), |any, key| {
            any | key.as_bytes().ct_eq(given)
        });
        match bool::from(any) {
            true => Ok(()),
            false => Err(ApiError::key("the key is not one of this server")),
        }
    }

    pub(crate) fn metrics(&self) -> String {
        let waiting = |text: &Arc<Text>| (text.name.clone(), text.queue.waiting());
        let heard = |speech: &Arc<Speech>| (speech.name.clone(), speech.queue.waiting());
        let texts = self.texts.iter().map(waiting);
        let devices = self.texts.iter().flat_map(|text| &text.devices);
        let devices = devices.chain(self.speech.iter().map(|speech| &speech.device));
        let mut scraped = Scraped {
            waiting: texts.chain(self.speech.iter().map(heard)).collect(),
            ..Scraped::default()
        };
        for device in devices {
            let counted = device.stats();
            scraped.counted.launches += counted.launches;
            scraped.counted.h2d_bytes += counted.h2d_bytes;
            scraped.counted.d2h_bytes += counted.d2h_bytes;
        }
        self.metrics.write(&scraped)
    }
}

/// The whole body of a request.
pub(crate) struct Body(pub(crate) Bytes);

impl FromRequest<App> for Body {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Body, ApiError> {
        let limit = app.limits.body;
        let too_large = || ApiError::too_large(format!("the body has more than {limit} bytes"));
        let length = request.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let read = to_bytes(request.into_body(), limit);
        let Ok(read) = tokio::time::timeout(app.limits.patience, read).await else {
            let seconds = app.limits.patience.as_secs_f64();
            let message = format!("the body did not come within {seconds} s");
            return Err(ApiError::timeout(message));
        };
        read.map(Body).map_err(|error| {
            let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
            while let Some(inner) = cause {
                if inner.to_string().contains("length limit exceeded") {
                    return too_large();
                }
                cause = inner.source();
            }
            ApiError::malformed(format!("the body could not be read: {error}"))
        })
    }
}

/// A JSON number, or null where there is none.
pub(crate) fn finite(x: f64) -> Value {
    // What OpenAI gives for what is impossible.
    Value::from(if x.is_finite() { x } else { -9999.0 })
}
