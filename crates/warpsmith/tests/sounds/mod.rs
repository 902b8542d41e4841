//! The smallest real model, and sounds for it.

use crate::common::{Run, reference, warpsmith_with};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The smallest real model, where `cargo xtask fetch` puts it.
pub(crate) fn model() -> String {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let path = cache.or_else(home).expect("a home folder");
    let path = path.join("warpsmith/models/whisper-tiny.en");
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask fetch`",
        path.display()
    );
    path.display().to_string()
}

pub(crate) fn audio(name: &str) -> PathBuf {
    reference(&format!("audio/{name}"))
}

/// Samples of a file of the reference data: 16 kHz, one channel.
pub(crate) fn samples(name: &str) -> Vec<i16> {
    let bytes = fs::read(audio(name)).expect("reference data");
    let samples = bytes[44..].as_chunks::<2>().0.iter();
    samples.map(|b| i16::from_le_bytes(*b)).collect()
}

/// What a WAV file says of its samples.
pub(crate) struct Wav {
    /// 1 for integers, 3 for floats.
    pub(crate) kind: u16,
    pub(crate) bits: u16,
    pub(crate) channels: u16,
    pub(crate) rate: u32,
}

pub(crate) const PLAIN: Wav = Wav {
    kind: 1,
    bits: 16,
    channels: 1,
    rate: 16_000,
};

pub(crate) fn wav(wav: &Wav, data: &[u8]) -> Vec<u8> {
    let Wav {
        kind,
        bits,
        channels,
        rate,
    } = *wav;
    let frame = channels * (bits / 8);
    let mut out = b"RIFF".to_vec();
    out.extend((36 + data.len() as u32).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0");
    out.extend([kind, channels].map(u16::to_le_bytes).as_flattened());
    out.extend(
        [rate, rate.wrapping_mul(frame.into())]
            .map(u32::to_le_bytes)
            .as_flattened(),
    );
    out.extend([frame, bits].map(u16::to_le_bytes).as_flattened());
    out.extend(b"data");
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    out
}

pub(crate) fn bytes(samples: &[i16]) -> Vec<u8> {
    samples.iter().flat_map(|x| x.to_le_bytes()).collect()
}

pub(crate) fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a file");
    path.display().to_string()
}

/// Runs `transcribe` with the model and `input` on standard input.
pub(crate) fn transcribe(args: &[&str], input: &[u8]) -> Run {
    let model = model();
    let begin = ["transcribe", "--model", &model, "--device", "virtual"];
    warpsmith_with(&[&begin[..], args].concat(), input)
}
