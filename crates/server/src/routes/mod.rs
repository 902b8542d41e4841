//! The routes: what each reads, and how it answers.

mod ask;
mod audio;
mod calls;
mod chat;
mod completions;
mod embeddings;
mod envelope;
mod format;
mod functions;
mod items;
mod pictures;
mod plain;
mod responses;
mod tools;

use crate::app::App;
use axum::{
    Router,
    routing::{get, post},
};

/// The paths, as figures name them.
pub(crate) const PATHS: [&str; 14] = [
    "/v1/models",
    "/v1/completions",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/tokenize",
    "/detokenize",
    "/health",
    "/metrics",
    "/v1/models/",
    "/pictures/graph/",
    "/pictures/roofline/",
];

/// Those that want a key.
pub(crate) fn guarded() -> Router<App> {
    Router::new()
        .route("/v1/models", get(plain::models))
        .route("/v1/models/{*name}", get(plain::model))
        .route("/v1/completions", post(completions::completions))
        .route("/v1/chat/completions", post(chat::chat))
        .route("/v1/responses", post(responses::responses))
        .route("/v1/embeddings", post(embeddings::embeddings))
        .route("/v1/audio/transcriptions", post(audio::transcriptions))
        .route("/v1/audio/translations", post(audio::translations))
        .route("/tokenize", post(plain::tokenize))
        .route("/detokenize", post(plain::detokenize))
        .route("/metrics", get(plain::metrics))
        .route("/pictures/graph/{*name}", get(pictures::graph))
        .route("/pictures/roofline/{*name}", get(pictures::roofline))
}

/// The one that everybody may ask, and what is said where there is none.
pub(crate) fn open(router: Router<App>) -> Router<App> {
    router
        .route("/health", get(plain::health))
        .method_not_allowed_fallback(plain::no_method)
        .fallback(plain::no_path)
}
