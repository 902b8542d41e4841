//! Every container and codec gives the sound that was put in; what is not decoded is named.

use warpsmith_audio::{Error, Padding, Spectrogram};

use crate::{FLOAT, PCM, reference, samples, wav, window};

fn of(file: &str) -> Vec<f32> {
    let path = reference(&format!("audio/{file}"));
    let mut spectrogram = Spectrogram::of_file(&path, 80).expect("a sound");
    let seconds = samples("goforward").len() as f64 / 16_000.0;
    let off = spectrogram.seconds() - seconds;
    assert!((-0.001..0.1).contains(&off), "{file} is {off} s longer");
    window(&mut spectrogram, 0, Padding::Silence)
}

/// The mean difference of the lower `bins` bins over the length of the clip.
fn difference(a: &[f32], b: &[f32], bins: usize) -> f32 {
    let frames = samples("goforward").len() / 160;
    let rows = a.chunks(3000).zip(b.chunks(3000)).take(bins);
    let sum: f32 = rows
        .flat_map(|(a, b)| a[..frames].iter().zip(&b[..frames]))
        .map(|(a, b)| (a - b).abs())
        .sum();
    sum / (frames * bins) as f32
}

#[test]
fn lossless_files_are_exact() {
    assert_eq!(of("goforward.flac"), of("goforward.wav"));
}

#[test]
fn lossy_files_are_near() {
    let want = of("goforward.wav");
    for (file, bins, tolerance) in [
        ("goforward.mp3", 60, 0.04),
        ("goforward.ogg", 60, 0.05),
        ("goforward.m4a", 60, 0.05),
        ("goforward_44k_stereo.flac", 60, 0.03),
        ("goforward_8k_ulaw.wav", 55, 0.08),
        ("goforward.opus", 60, 0.08),
        ("goforward_silk.opus", 40, 0.10),
        ("goforward_60ms.opus", 40, 0.10),
        ("goforward.webm", 60, 0.08),
        ("goforward.mkv", 60, 0.06),
        ("goforward_ima.wav", 60, 0.06),
    ] {
        let off = difference(&of(file), &want, bins);
        assert!(off < tolerance, "{file}: {off}");
        // A shift of 10 ms would show.
        let mut shifted = want.clone();
        shifted.rotate_right(1);
        assert!(difference(&shifted, &want, bins) > tolerance, "{file}");
    }
}

#[test]
fn what_is_not_decoded_is_refused_by_name() {
    let header = |magic: &[u8], form: &[u8]| [magic, b"\0\0\0\0", form, b"fmt "].concat();
    for (bytes, want) in [
        (header(b"RIFX", b"WAVE"), "RIFX"),
        (b"riff\x2e\x91\xcf\x11\xa5\xd6\x28\xdb".to_vec(), "Wave64"),
        (wav(0x161, 16, 16_000, 1, &[0; 64]), "WMA"),
    ] {
        let error = Spectrogram::of_bytes(bytes, 80).err().expect("refused");
        let named = match &error {
            Error::Codec { name } => name.contains(want),
            Error::Container { .. } => want == "WMA",
            _ => false,
        };
        assert!(named, "{want}: {error}");
    }
}

#[test]
fn samples_of_each_width_are_one_sound() {
    let sound = samples("goforward");
    let want = window(
        &mut Spectrogram::of_samples(&sound, 80).expect("a sound"),
        0,
        Padding::Silence,
    );
    let wide = |bytes: usize| -> Vec<u8> {
        let whole = sound.iter().map(|x| (x * 32768.0) as i32 * 65536);
        whole
            .flat_map(|v| v.to_le_bytes()[4 - bytes..].to_vec())
            .collect()
    };
    let floats: Vec<u8> = sound.iter().flat_map(|x| x.to_le_bytes()).collect();
    for file in [
        wav(PCM, 16, 16_000, 1, &wide(2)),
        wav(PCM, 24, 16_000, 1, &wide(3)),
        wav(PCM, 32, 16_000, 1, &wide(4)),
        wav(FLOAT, 32, 16_000, 1, &floats),
    ] {
        let mut got = Spectrogram::of_bytes(file, 80).expect("a sound");
        assert_eq!(window(&mut got, 0, Padding::Silence), want);
    }
}

#[test]
fn channels_are_mixed_evenly() {
    let sound = samples("goforward");
    // Left, silence, twice the right: (l + 0 + 2 r) / 3 with both the sound is the sound.
    let data: Vec<u8> = sound
        .iter()
        .flat_map(|&x| [x, 0.0, 2.0 * x])
        .flat_map(f32::to_le_bytes)
        .collect();
    let file = wav(FLOAT, 32, 16_000, 3, &data);
    let mut got = Spectrogram::of_bytes(file, 80).expect("a sound");
    let got = window(&mut got, 0, Padding::Silence);
    let mut want = Spectrogram::of_samples(&sound, 80).expect("a sound");
    let want = window(&mut want, 0, Padding::Silence);
    assert!(difference(&got, &want, 80) < 1e-5);
}
