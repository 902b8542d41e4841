//! The server: models are started, routes answer until it is told to stop, what was begun is finished.

use crate::{
    app::{App, Limits},
    error::ApiError,
    linger::linger,
    metrics::Metrics,
    page,
    routes::{self, PATHS},
    speech::{Speech, SpeechModel},
    start::{Failure, Worker},
    text::{Text, TextModel},
};
use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::HeaderValue,
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use std::{io, net::TcpListener, sync::Arc, task::Poll, time::Duration};
use tokio::sync::oneshot;
use tower_http::cors::{Any, CorsLayer};

/// Threads that connections are served by; models have their own.
const THREADS: usize = 2;
/// Requests that are read at a time: templates and tokenizers take a thread each.
const READERS: usize = 8;
/// How often is looked whether to stop.
const MOMENT: Duration = Duration::from_millis(50);

/// Pages of which origins may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cors {
    /// None but the server's own.
    #[default]
    No,
    /// All.
    Any,
    /// These.
    Origins(Vec<String>),
}

/// How a server answers.
#[derive(Clone, Debug)]
pub struct Options {
    /// Keys, one of which a request must bring; without any everybody may ask.
    pub keys: Vec<String>,
    /// Pages of other origins.
    pub cors: Cors,
    /// Limits of requests.
    pub limits: Limits,
    /// How long what was begun may take when the server is to stop; what is left then is cut off.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            keys: Vec::new(),
            cors: Cors::default(),
            limits: Limits::default(),
            grace: Duration::from_secs(60),
        }
    }
}

/// Models that are ready to answer.
pub struct Server {
    app: App,
    workers: Vec<Worker>,
    cors: Cors,
    grace: Duration,
}

impl Server {
    /// Starts the threads of all models.
    ///
    /// # Errors
    /// A model that cannot run; two of one name; an origin that is none.
    pub fn new(
        texts: Vec<TextModel>,
        speech: Vec<SpeechModel>,
        options: Options,
    ) -> Result<Server, Failure> {
        let Options {
            keys,
            cors,
            limits,
            grace,
        } = options;
        let names = texts.iter().map(|model| &model.name);
        let mut names: Vec<&String> = names
            .chain(speech.iter().map(|model| &model.name))
            .collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = twice[0];
            return Err(Failure::new(format!("two models are called `{name}`")));
        }
        if let Cors::Origins(origins) = &cors {
            for origin in origins {
                if HeaderValue::from_str(origin).is_err() {
                    return Err(Failure::new(format!("`{origin}` is no origin")));
                }
            }
        }
        let metrics = Arc::new(Metrics::default());
        let mut workers = Vec::new();
        let mut ready = Vec::new();
        for model in texts {
            let (text, threads) = Text::start(model, &metrics)?;
            ready.push(text);
            workers.extend(threads);
        }
        let mut listening = Vec::new();
        for model in speech {
            let (speech, thread) = Speech::start(model, &metrics)?;
            listening.push(speech);
            workers.push(thread);
        }
        Ok(Server {
            app: App::new(ready, listening, keys, limits, metrics),
            workers,
            cors,
            grace,
        })
    }

    /// Answers until `stop` says so or SIGTERM comes; then no more connections are taken, what was begun is answered, and
    /// the threads end.
    ///
    /// # Errors
    /// What the system says of the socket.
    pub fn run(
        self,
        listener: TcpListener,
        stop: impl Fn() -> bool + Send + Sync + 'static,
    ) -> io::Result<()> {
        let Server {
            app,
            workers,
            cors,
            grace,
        } = self;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(READERS)
            .thread_name("warpsmith-http")
            .enable_all()
            .build()?;
        let router = router(&app, &cors);
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let (tell, told) = oneshot::channel();
            let asked = async move {
                stopped(stop).await;
                let _ = tell.send(());
            };
            let serve = axum::serve(listener, router).with_graceful_shutdown(asked);
            let late = async move {
                let _ = told.await;
                tokio::time::sleep(grace).await;
                tracing::warn!(?grace, "connections that are still open are cut off");
                Ok(())
            };
            either(serve.into_future(), late).await
        })?;
        // Ends what is left of connections, which tells the workers that nobody listens.
        runtime.shutdown_timeout(MOMENT);
        for text in &app.texts {
            text.queue.close();
            if let Some(embeddings) = &text.embeddings {
                embeddings.queue.close();
            }
        }
        for speech in &app.speech {
            speech.queue.close();
        }
        workers.into_iter().for_each(Worker::join);
        Ok(())
    }
}

/// Comes back when the server is to stop.
async fn stopped(stop: impl Fn() -> bool + Send + Sync) {
    let asked = async {
        while !stop() {
            tokio::time::sleep(MOMENT).await;
        }
    };
    either(asked, terminated()).await
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(error) => {
            tracing::warn!(%error, "SIGTERM is not listened to");
            std::future::pending().await
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}

/// What comes first of two.
async fn either<T>(a: impl Future<Output = T>, b: impl Future<Output = T>) -> T {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    std::future::poll_fn(|cx| match a.as_mut().poll(cx) {
        Poll::Pending => b.as_mut().poll(cx),
        ready => ready,
    })
    .await
}

fn router(app: &App, cors: &Cors) -> Router {
    let keyed = middleware::from_fn_with_state(app.clone(), keys);
    let router = page::open(routes::open(routes::guarded().route_layer(keyed)))
        // Bodies are limited where they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(app.clone(), counted))
        .with_state(app.clone());
    let layer = CorsLayer::new().allow_methods(Any).allow_headers(Any);
    let router = match cors {
        Cors::No => router,
        Cors::Any => router.layer(layer.allow_origin(Any)),
        Cors::Origins(origins) => {
            let origins = origins.iter().filter_map(|origin| origin.parse().ok());
            let origins: Vec<HeaderValue> = origins.collect();
            router.layer(layer.allow_origin(origins))
        }
    };
    router.layer(middleware::from_fn(linger))
}

/// Asks for a key.
async fn keys(State(app): State<App>, request: Request, next: Next) -> Response {
    let may: Result<(), ApiError> = app.may_ask(request.headers());
    match may {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

/// Counts requests by path and status.
async fn counted(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let known = PATHS
        .iter()
        .find(|known| **known == path || (known.ends_with('/') && path.starts_with(**known)));
    let path = known.copied().unwrap_or("other");
    let response = next.run(request).await;
    app.metrics.request(path, response.status().as_u16());
    response
}
