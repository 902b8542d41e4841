//! Llama-type models (Touvron et al., 2023): Llama, SmolLM2, Qwen2 and Qwen3 are configurations of one.

mod config;
mod engine;
mod evaluate;
mod folder;
mod forward;
mod generate;
mod lookup;
mod model;
mod perplexity;
mod session;
mod source;

pub use config::{Config, RopeScaling};
pub use engine::{Engine, EngineOptions, EngineReport, Event, Request, SequenceId, WhenFull};
pub use generate::Ended;
pub use lookup::LookupReport;
pub use model::{Bundle, Model, Progress};
pub use perplexity::{Perplexity, Window, Windows};
pub use session::{Run, Session, SessionOptions};
pub use source::{LayerPart, Part, Source, Tensor};
