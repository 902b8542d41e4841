//! Whisper (Radford et al., 2022): speech to text. Sizes from tiny to large-v3 and turbo are configurations of one.

mod block;
mod decoder;
mod encoder;
mod kv;
mod model;
mod parts;

pub use block::{BlockConfig, BlockWeights, EncoderBlock, Scratch};
pub use decoder::{Decoder, DecoderBlock};
pub use encoder::{Encoder, Frontend, Taps};
pub use kv::{KvCache, KvSizes};
pub use model::Model;
pub use parts::{Attention, Conv, EPS, Linear, Mlp, Norm};
