//! An OpenAI-compatible server over the models.
//!
//! Connections are tasks of tokio; models run on threads of their own, each around an engine that many sequences share.
//! A request goes to them through a bounded queue, what they say comes back through a channel of the request, which holds
//! no more than its tokens: a client that reads slowly holds up nobody, and one that goes away is seen at the next step.
//!
//! ```text
//! connection ─ route ─ read (fields by name, template, tokens) ─► queue ─► worker ─ Engine::submit, step, cancel
//!            ◄ events or one object ◄─────────── parts ◄──────────────────────┘
//! ```

#![forbid(unsafe_code)]

mod app;
mod clock;
mod embeddings;
mod error;
mod fields;
mod http;
mod linger;
mod metrics;
mod page;
mod pictures;
mod queue;
mod routes;
mod serve;
mod speech;
mod start;
mod text;

pub use app::Limits;
pub use embeddings::MakeSession;
pub use error::ApiError;
pub use pictures::{MakePicture, Picture, Pictures};
pub use serve::{Cors, Options, Server};
pub use speech::{MakeTranscriber, SpeechModel};
pub use start::Failure;
pub use text::{MakeEngine, TextModel};
