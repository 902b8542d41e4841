//! Bytes to facts: model file formats and the layouts of quantised weights.
//!
//! [`gguf`], [`safetensors`] and [`whisper`] read files, [`quant`] says what their bytes mean. Nothing
//! here does I/O but opening and reading files ([`input`]). Every file is taken to be hostile: lengths are compared with
//! the bytes that are left before anything is allocated, and what is wrong is an [`Error`] that
//! names the key or tensor, what was expected and what was found.
//!
//! ```
//! use warpsmith_formats::gguf::{Gguf, Value, Writer};
//! use warpsmith_formats::quant::{WeightType, check_finite, dequantize, quantize};
//!
//! # fn main() -> Result<(), warpsmith_formats::Error> {
//! let row: Vec<f32> = (0..64).map(|i| (i as f32 * 0.1).sin()).collect();
//! let mut writer = Writer::new();
//! writer.set("general.architecture", Value::from("llama"));
//! writer.set("llama.block_count", Value::from(2u32));
//! writer.add("blk.0.w", &[64, 1], WeightType::Q8_0, quantize(WeightType::Q8_0, &row)?);
//!
//! let file = Gguf::parse(writer.to_bytes()?)?;
//! assert_eq!(file.metadata().u32("llama.block_count")?, 2);
//! let w = file.tensor("blk.0.w").expect("just written");
//! let (mut data, mut back) = (Vec::new(), vec![0.0; 64]);
//! file.read(w, &mut data)?;
//! check_finite(&w.name, w.dtype, &data)?;
//! dequantize(w.dtype, &data, &mut back)?;
//! assert!(row.iter().zip(&back).all(|(a, b)| (a - b).abs() < 0.01));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod bytes;
mod cursor;
mod error;
pub mod gguf;
pub mod input;
mod kind;
mod object;
pub mod quant;
pub mod safetensors;
pub mod whisper;

pub use bytes::read_small;
pub use error::Error;
pub use kind::Kind;
pub use object::Object;
