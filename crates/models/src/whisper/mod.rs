//! Whisper (Radford et al., 2022): speech to text. Sizes from tiny to large-v3 and turbo are configurations of one.

mod block;
mod decode;
mod decoder;
mod encoder;
mod kv;
mod lines;
mod model;
mod parts;
mod prompt;
mod session;

pub use block::{BlockConfig, BlockWeights, EncoderBlock, Scratch};
pub use decode::{DecodeOptions, Decoded};
pub use decoder::{Decoder, DecoderBlock};
pub use encoder::{Encoder, Frontend, Taps};
pub use kv::{KvCache, KvSizes};
pub use lines::{MOST_BEAMS, Mode};
pub use model::Model;
pub use parts::{Attention, Conv, EPS, Linear, Mlp, Norm};
pub use session::{Candidate, Rulebook, Session, SessionOptions};
