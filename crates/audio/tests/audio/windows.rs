//! Windows at any frame, of files and of streams.

use warpsmith_audio::{Error, Padding, Pcm, SampleType, Spectrogram, Window};

use crate::{reference, samples, window};

#[test]
fn the_length_is_the_sounds() {
    let spectrogram = Spectrogram::of_samples(&samples("goforward"), 80).expect("a sound");
    let len = samples("goforward").len();
    assert_eq!(spectrogram.frames(), len as u64 / 160);
    assert_eq!(spectrogram.seconds(), len as f64 / 16000.0);
}

#[test]
fn windows_are_columns_of_the_whole_in_any_order() {
    let path = reference("audio/jfk.wav");
    let mut file = Spectrogram::of_file(&path, 80).expect("a sound");
    let mut stream = Spectrogram::of_samples(&samples("jfk"), 80).expect("a sound");
    let whole = window(&mut stream, 0, Padding::Zero);
    // Forward, backward, inside, past the end.
    for first in [0u64, 730, 1090, 12, 1100, 5000, 400] {
        for spectrogram in [&mut file, &mut stream] {
            let got = window(spectrogram, first, Padding::Zero);
            for (row, want) in got.chunks(3000).zip(whole.chunks(3000)) {
                for (t, &got) in row.iter().enumerate() {
                    let want = want.get(first as usize + t).copied().unwrap_or(0.0);
                    assert_eq!(got, want, "first {first} frame {t}");
                }
            }
        }
    }
}

#[test]
fn padding_starts_at_the_end_of_the_clip_or_of_the_sound() {
    let mut spectrogram = Spectrogram::of_samples(&samples("goforward"), 80).expect("a sound");
    let frames = spectrogram.frames() as usize;
    let silence = spectrogram.silence();
    let zero = window(&mut spectrogram, 0, Padding::Zero);
    assert!(zero[..frames].iter().all(|&x| x != 0.0));
    assert!(zero[frames..3000].iter().all(|&x| x == 0.0));
    let silent = window(&mut spectrogram, 0, Padding::Silence);
    assert_eq!(silent[..frames], zero[..frames]);
    assert!(silent[frames + 3..3000].iter().all(|&x| x == silence));

    let clip = Window {
        first: 10,
        frames: 50,
        end: 30,
        padding: Padding::Zero,
    };
    let mut out = vec![0.0; 80 * 50];
    spectrogram.window(clip, &mut out).expect("a window");
    assert_eq!(out[..20], zero[10..30]);
    assert!(out[20..50].iter().all(|&x| x == 0.0));

    let error = spectrogram.window(clip, &mut out[1..]).expect_err("short");
    assert!(matches!(error, Error::Length { want: 4000, .. }), "{error}");
}

#[test]
fn raw_samples_are_the_sound_of_the_file() {
    let bytes = std::fs::read(reference("audio/goforward.wav")).expect("reference data");
    let want = window(
        &mut Spectrogram::of_bytes(bytes.clone(), 80).expect("a sound"),
        0,
        Padding::Silence,
    );
    let mono = Pcm {
        sample: SampleType::S16,
        rate: 16_000,
        channels: 1,
    };
    let raw = std::io::Cursor::new(bytes[44..].to_vec());
    let mut got = Spectrogram::of_pcm(raw, mono, 80).expect("a sound");
    assert_eq!(window(&mut got, 0, Padding::Silence), want);

    // Both channels the same, in floats, through a pipe that gives a few bytes at a time.
    let twice: Vec<u8> = samples("goforward")
        .iter()
        .flat_map(|x| [x.to_le_bytes(); 2].concat())
        .collect();
    let stereo = Pcm {
        sample: SampleType::F32,
        rate: 16_000,
        channels: 2,
    };
    let mut got = Spectrogram::of_pcm(Drip(twice.into()), stereo, 80).expect("a sound");
    assert_eq!(window(&mut got, 0, Padding::Silence), want);
}

/// Gives seven bytes at a time.
struct Drip(std::collections::VecDeque<u8>);

impl std::io::Read for Drip {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min(7);
        std::io::Read::read(&mut self.0, &mut out[..len])
    }
}

#[test]
fn a_long_sound_goes_through_the_scratch_file() {
    // Five minutes of 80 bins are more than stays in memory.
    let len = 5 * 60 * 16_000;
    let tone = |i: usize| ((i % 16_000) as f32 * 0.05).sin() * 0.1;
    let samples: Vec<f32> = (0..len).map(tone).collect();
    let mut spectrogram = Spectrogram::of_samples(&samples, 80).expect("a sound");
    assert_eq!(spectrogram.frames(), 30_000);
    let late = window(&mut spectrogram, 24_000, Padding::Zero);
    let early = window(&mut spectrogram, 12_000, Padding::Zero);
    // The sound repeats each second, that is each 100 frames.
    assert_eq!(late, early);
    assert!(late.iter().any(|&x| x > 0.5));
}
