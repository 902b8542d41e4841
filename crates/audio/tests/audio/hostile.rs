//! Empty, silent, clipped, damaged and absurd sounds: a defined result or a typed error.

use std::path::Path;

use warpsmith_audio::{Error, Padding, Pcm, SampleType, Spectrogram};

use crate::{FLOAT, PCM, reference, wav, window};

#[test]
fn the_shortest_sounds_have_no_frames() {
    for len in [0, 1, 159] {
        let mut spectrogram = Spectrogram::of_samples(&vec![0.5; len], 80).expect("a sound");
        assert_eq!(spectrogram.frames(), 0, "{len}");
        let mel = window(&mut spectrogram, 0, Padding::Zero);
        assert!(mel.iter().all(|&x| x == 0.0));
        let mel = window(&mut spectrogram, 0, Padding::Silence);
        assert!(mel.iter().all(|x| x.is_finite()));
        let file = wav(FLOAT, 32, 44_100, 1, &0.5f32.to_le_bytes().repeat(len));
        let spectrogram = Spectrogram::of_bytes(file, 80).expect("a sound");
        assert_eq!(spectrogram.frames(), 0, "{len}");
    }
}

#[test]
fn silence_is_even() {
    let mut spectrogram = Spectrogram::of_samples(&[0.0; 16_000], 80).expect("a sound");
    // The loudest value is 1e-10, and so is all: (-10 + 4) / 4.
    assert_eq!(spectrogram.silence(), -1.5);
    let mel = window(&mut spectrogram, 0, Padding::Silence);
    assert!(mel.iter().all(|&x| x == -1.5));
}

#[test]
fn clipped_and_too_loud_sounds_are_finite() {
    let square: Vec<f32> = (0..16_000)
        .map(|i| if i % 200 < 100 { 1.0 } else { -1.0 })
        .collect();
    for scale in [1.0, 40.0, 1e6] {
        let loud: Vec<f32> = square.iter().map(|x| x * scale).collect();
        let mut spectrogram = Spectrogram::of_samples(&loud, 80).expect("a sound");
        let mel = window(&mut spectrogram, 0, Padding::Silence);
        assert!(mel.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn a_sample_that_is_no_number_or_absurd_is_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        for rate in [16_000, 44_100] {
            let mut sound = vec![0.1f32; 70_000];
            sound[69_000] = bad;
            let data: Vec<u8> = sound.iter().flat_map(|x| x.to_le_bytes()).collect();
            let error = Spectrogram::of_bytes(wav(FLOAT, 32, rate, 1, &data), 80);
            let error = error.err().expect("refused");
            assert!(matches!(error, Error::Sample { at: 69_000, .. }), "{error}");
        }
    }
}

#[test]
fn rates_and_channels_out_of_range_are_refused() {
    let pcm = |rate, channels| Pcm {
        sample: SampleType::S16,
        rate,
        channels,
    };
    for rate in [0, 999, 768_001, u32::MAX] {
        let error = Spectrogram::of_pcm(std::io::empty(), pcm(rate, 1), 80).err();
        assert!(matches!(error, Some(Error::Rate { .. })), "{error:?}");
    }
    for channels in [0, 65] {
        let error = Spectrogram::of_pcm(std::io::empty(), pcm(16_000, channels), 80).err();
        assert!(matches!(error, Some(Error::Channels { .. })), "{error:?}");
    }
    for rate in [0, 500] {
        let error = Spectrogram::of_bytes(wav(PCM, 16, rate, 1, &[0; 64]), 80).err();
        let named = matches!(error, Some(Error::Rate { found, .. }) if found == rate);
        assert!(named, "{error:?}");
    }
    let error = Spectrogram::of_samples(&[0.0], 0).err();
    assert!(matches!(error, Some(Error::Length { .. })), "{error:?}");
}

#[test]
fn samples_that_end_midway_are_refused() {
    let pcm = Pcm {
        sample: SampleType::S16,
        rate: 16_000,
        channels: 2,
    };
    let error = Spectrogram::of_pcm(std::io::Cursor::new(vec![0; 4 * 1000 + 3]), pcm, 80).err();
    assert!(
        matches!(error, Some(Error::Partial { left: 3, want: 4 })),
        "{error:?}"
    );
}

#[test]
fn files_that_are_no_sound_are_named() {
    let error = Spectrogram::of_file(Path::new("no/such/file.wav"), 80).err();
    assert!(matches!(error, Some(Error::Open { .. })), "{error:?}");
    let error = Spectrogram::of_file(&reference("audio"), 80).err();
    assert!(matches!(error, Some(Error::Open { .. })), "{error:?}");
    for path in ["audio/index.json", "whisper/mel_filters_80x201.f32.bin"] {
        let error = Spectrogram::of_file(&reference(path), 80).err();
        assert!(matches!(error, Some(Error::InFile { .. })), "{error:?}");
    }
    let error = Spectrogram::of_bytes(Vec::new(), 80).err();
    assert!(matches!(error, Some(Error::Container { .. })), "{error:?}");
}

#[test]
fn files_cut_short_give_what_is_there_or_an_error() {
    for file in ["wav", "flac", "mp3", "ogg", "m4a"] {
        let path = reference(&format!("audio/goforward.{file}"));
        let bytes = std::fs::read(path).expect("reference data");
        let whole = Spectrogram::of_bytes(bytes.clone(), 80).expect("a sound");
        let mut some = 0;
        for part in 1..8 {
            let cut = bytes[..bytes.len() * part / 8].to_vec();
            if let Ok(short) = Spectrogram::of_bytes(cut, 80) {
                assert!(short.frames() <= whole.frames(), "{file} {part}");
                some += usize::from(short.frames() > 0);
            }
        }
        // An MP4 file's tables stand at its end.
        assert!(some >= 3 || file == "m4a", "{file}: {some}");
    }
}

#[test]
fn damaged_files_never_panic() {
    for file in ["wav", "flac", "mp3", "ogg", "m4a", "opus"] {
        let path = reference(&format!("audio/goforward.{file}"));
        let bytes = std::fs::read(path).expect("reference data");
        let mut state = 9u32;
        for _ in 0..12 {
            let mut bytes = bytes.clone();
            for _ in 0..8 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (state >> 8) as usize % bytes.len().min(4096);
                bytes[at] = state as u8;
            }
            drop(Spectrogram::of_bytes(bytes, 80));
        }
    }
}
