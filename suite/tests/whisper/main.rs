//! Whisper on the virtual GPU: the block in f64, taps, logits and texts of the real models, what crosses and what is
//! allocated; a random model in every type.

mod block;
mod examples;
mod finite;
mod golden;
mod kv;
mod listen;
mod support;
mod synth;
