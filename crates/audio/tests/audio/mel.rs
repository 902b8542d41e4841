//! Mel filters and spectrograms are those of openai-whisper.

use warpsmith_audio::{FREQUENCIES, Padding, Spectrogram, filters};

use crate::{floats, reference, samples, window};

#[test]
fn filters_are_the_reference_ones() {
    for n_mels in [80, 128] {
        let want = floats(&format!("whisper/mel_filters_{n_mels}x201.f32.bin"));
        let got = filters(n_mels);
        assert_eq!(want.len(), n_mels * FREQUENCIES);
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!((got - want).abs() < 1e-8, "{n_mels} {i}: {got} {want}");
        }
    }
}

/// The clip's spectrogram, padded with silence, is `file` and then `pad` everywhere.
fn check(clip: &str, n_mels: usize, file: &str, pad: f32) {
    let want = floats(file);
    let frames = want.len() / n_mels;
    let path = reference(&format!("audio/{clip}.wav"));
    let mut of_file = Spectrogram::of_file(&path, n_mels).expect("a sound");
    let mut of_samples = Spectrogram::of_samples(&samples(clip), n_mels).expect("a sound");
    for spectrogram in [&mut of_file, &mut of_samples] {
        let got = window(spectrogram, 0, Padding::Silence);
        let mut worst = 0f32;
        for (row, want) in got.chunks(3000).zip(want.chunks(frames)) {
            for (t, got) in row.iter().enumerate() {
                let want = want.get(t).copied().unwrap_or(pad);
                worst = worst.max((got - want).abs());
            }
        }
        assert!(worst < 5e-5, "{clip}: {worst}");
    }
}

#[test]
fn spectrograms_of_80_bins_are_the_reference_ones() {
    let index = std::fs::read(reference("audio/index.json")).expect("reference data");
    let index: serde_json::Value = serde_json::from_slice(&index).expect("JSON");
    for clip in ["jfk", "ss0870", "ss0880", "goforward"] {
        let mel = &index[clip]["mel"];
        let file = mel["file"].as_str().expect("a file");
        check(
            clip,
            80,
            file,
            mel["pad_value"].as_f64().expect("a number") as f32,
        );
    }
}

#[test]
fn a_spectrogram_of_128_bins_is_the_reference_one() {
    let about = std::fs::read(reference("whisper/goforward.mel128.json")).expect("reference data");
    let about: serde_json::Value = serde_json::from_slice(&about).expect("JSON");
    let pad = about["pad_value"].as_f64().expect("a number") as f32;
    check("goforward", 128, "whisper/goforward.mel128.f32.bin", pad);
}
