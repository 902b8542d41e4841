//! Llama-type models (Touvron et al., 2023): Llama, SmolLM2, Qwen2 and Qwen3 are configurations of one.

mod cache;
mod config;
mod config_json;
mod embed;
mod engine;
mod evaluate;
mod folder;
mod forward;
mod generate;
mod inventory;
mod keys;
mod lookup;
mod model;
mod perplexity;
mod products;
mod rope;
mod session;
mod source;
mod warning;
mod writer;

pub use config::{Biases, Config, Head};
pub use embed::Pooling;
pub use engine::{
    Engine, EngineOptions, EngineReport, Event, Penalties, Request, SequenceId, WhenFull,
};
pub use generate::Ended;
pub use lookup::LookupReport;
pub use model::{Bundle, Model, Progress};
pub use perplexity::{Perplexity, Window, Windows};
pub use products::products;
pub use rope::RopeScaling;
pub use session::{Run, Session, SessionOptions};
pub use source::{LayerPart, Part, Source, Tensor};
pub use warning::{Warning, warnings};
pub use writer::{Finish, Told, Wanted, Writer, Wrote};
