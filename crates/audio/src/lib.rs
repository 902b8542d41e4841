//! Sound to log-mel windows: files in the usual formats, or raw samples, of any length with flat memory.
//!
//! A [`Spectrogram`] reads its sound once to learn the loudest value, on which the floor of every frame
//! depends, then gives windows of frames at any place: of a file by decoding it again, of raw samples from
//! a scratch file. A stream that comes is read once, window after window. What is damaged is silence, and is named.
//!
//! ```
//! use warpsmith_audio::{Padding, Spectrogram, Window};
//!
//! let tone: Vec<f32> = (0..16_000).map(|i| (i as f32 * 0.2).sin()).collect();
//! let mut spectrogram = Spectrogram::of_samples(&tone, 80)?;
//! assert_eq!(spectrogram.frames(), 100);
//! let window = Window { first: 0, frames: 3000, end: u64::MAX, padding: Padding::Zero };
//! let mut mel = vec![0.0; 80 * 3000];
//! spectrogram.window(window, &mut mel)?;
//! # Ok::<(), warpsmith_audio::Error>(())
//! ```

#![forbid(unsafe_code)]

mod aiff;
mod decode;
mod error;
mod filters;
mod flac;
mod frames;
mod kept;
mod matroska;
mod mpeg;
mod ogg;
mod open;
mod opus;
mod parts;
mod pcm;
mod pending;
mod resample;
mod samples;
mod sniff;
mod spectrogram;
mod speech;
mod step;
mod wave;

pub use error::Error;
pub use filters::filters;
pub use pcm::{Pcm, SampleType};
pub use samples::Missing;
pub use spectrogram::{Padding, Spectrogram, Wanted, Window};
pub use speech::{Edge, Speech};

/// Samples a second of everything after resampling.
pub const SAMPLE_RATE: u32 = 16_000;
/// Samples between frames: 10 ms.
pub const HOP: usize = 160;
/// Samples of a frame: 25 ms.
pub const FRAME: usize = 400;
/// Frequencies of a frame.
pub const FREQUENCIES: usize = FRAME / 2 + 1;
/// Frames a second.
pub const FRAMES_PER_SECOND: u32 = SAMPLE_RATE / HOP as u32;
