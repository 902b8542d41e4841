//! Whisper (Radford et al., 2022): speech to text. Sizes from tiny to large-v3 and turbo are configurations of one.
//!
//! On the device: [`Model`] has the weights, a [`Session`] encodes windows and decodes tokens. What is decided on the
//! host: [`tokenizer`] has the tokens and what they mean, [`beam`] which sequences go on, [`fallback`] whether a result
//! is good enough, [`transcript`] the loop over windows that seeks by timestamps, [`words`] the times of words. A
//! [`Transcriber`] is all of it.

mod align;
pub mod beam;
mod block;
mod decode;
mod decoder;
mod encoder;
pub mod fallback;
mod kv;
mod lines;
mod looks;
mod model;
mod options;
mod parts;
mod prompt;
mod session;
pub mod tokenizer;
mod transcriber;
pub mod transcript;
pub mod words;

pub use align::Text;
pub use block::{BlockConfig, BlockWeights, EncoderBlock, Scratch};
pub use decode::DecodeOptions;
pub use decoder::{Decoder, DecoderBlock};
pub use encoder::{Encoder, Frontend, Taps};
pub use kv::{KvCache, KvSizes};
pub use lines::{MOST_BEAMS, Mode};
pub use model::{Model, products};
pub use options::ListenOptions;
pub use parts::{Attention, Conv, EPS, Linear, Mlp, Norm};
pub use session::{Candidate, Rulebook, Session, SessionOptions};
pub use transcriber::{Bundle, Heard, Step, Transcriber};
