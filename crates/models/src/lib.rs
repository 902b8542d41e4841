//! Llama-type models, Whisper, tokenizers, chat templates, sampling.

#![forbid(unsafe_code)]

pub mod chat;
mod error;
pub mod grammar;
pub mod llama;
pub mod logprobs;
mod quiet;
mod rounding;
pub mod sampling;
mod sandbox;
mod settings;
pub mod text;
pub mod tokenizer;
pub mod transcript;
mod watch;
pub mod whisper;

pub use error::Error;
pub use rounding::{Files, Rounded, Rounding};
