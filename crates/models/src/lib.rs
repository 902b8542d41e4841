//! Llama-type models, tokenizers, chat templates, sampling.

#![forbid(unsafe_code)]

pub mod chat;
mod error;
pub mod llama;
pub mod sampling;
pub mod text;
pub mod tokenizer;

pub use error::Error;
