//! Sounds against the spectrograms of the reference implementation, and sounds that misbehave.

mod damaged;
mod formats;
mod hostile;
mod mel;
mod speech;
mod streams;
mod waves;
mod windows;

use std::path::PathBuf;

use warpsmith_audio::{Padding, Spectrogram, Window};

/// A file of the reference data.
fn reference(path: &str) -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference"
    ))
    .join(path)
}

/// The numbers of a reference file.
fn floats(path: &str) -> Vec<f32> {
    let bytes = std::fs::read(reference(path)).expect("reference data");
    let (values, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    values.iter().map(|&v| f32::from_le_bytes(v)).collect()
}

/// The samples of a clip: 16 kHz, one channel, 16 bits after a header of 44 bytes.
fn samples(clip: &str) -> Vec<f32> {
    let bytes = std::fs::read(reference(&format!("audio/{clip}.wav"))).expect("reference data");
    let (values, _) = bytes[44..].as_chunks::<2>();
    values
        .iter()
        .map(|&v| f32::from(i16::from_le_bytes(v)) / 32768.0)
        .collect()
}

/// A window of 30 s from `first` on.
fn window(spectrogram: &mut Spectrogram, first: u64, padding: Padding) -> Vec<f32> {
    let window = Window {
        first,
        frames: 3000,
        end: u64::MAX,
        padding,
    };
    let mut out = vec![f32::NAN; spectrogram.n_mels() * 3000];
    spectrogram.window(window, &mut out).expect("a window");
    out
}

/// A WAV file of one kind of samples.
fn wav(format: u16, bits: u16, rate: u32, channels: u16, data: &[u8]) -> Vec<u8> {
    let frame = channels * (bits / 8);
    let mut out = b"RIFF".to_vec();
    out.extend((36 + data.len() as u32).to_le_bytes());
    out.extend(b"WAVEfmt ");
    out.extend(16u32.to_le_bytes());
    out.extend(format.to_le_bytes());
    out.extend(channels.to_le_bytes());
    out.extend(rate.to_le_bytes());
    out.extend((rate * u32::from(frame)).to_le_bytes());
    out.extend(frame.to_le_bytes());
    out.extend(bits.to_le_bytes());
    out.extend(b"data");
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    out
}

const PCM: u16 = 1;
const FLOAT: u16 = 3;
