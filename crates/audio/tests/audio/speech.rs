//! What is no speech is left out, and times stay those of the sound.

use warpsmith_audio::{Edge, Padding, Spectrogram, Speech, Wanted};

use crate::{FLOAT, samples, wav, window};

fn wanted(speech: Speech) -> Wanted {
    Wanted {
        n_mels: 80,
        speech: Some(speech),
    }
}

/// Five seconds of faint noise, the clip, eight seconds of noise, the clip, three seconds of noise.
fn sound() -> Vec<f32> {
    let mut state = 1u32;
    let mut noise = |seconds: usize| -> Vec<f32> {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..seconds * 16_000).map(|_| next() * 2e-3).collect()
    };
    let clip = samples("goforward");
    [noise(5), clip.clone(), noise(8), clip, noise(3)].concat()
}

#[test]
fn silence_is_left_out_of_files_and_streams_alike() {
    let sound = sound();
    let bytes: Vec<u8> = sound.iter().flat_map(|x| x.to_le_bytes()).collect();
    let file = wav(FLOAT, 32, 16_000, 1, &bytes);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sound.wav");
    std::fs::write(&path, &file).expect("written");
    let speech = Speech::default();
    let mut got = Spectrogram::of_file(&path, wanted(speech)).expect("a sound");
    // Twice 2.8 s, with 0.4 s before and after each.
    let left = got.frames();
    assert!((480..=780).contains(&left), "{left}");
    assert_eq!(got.seconds(), sound.len() as f64 / 16_000.0);
    let begin = got.time(0.0, Edge::Start);
    assert!((4.5..5.6).contains(&begin), "{begin}");
    let second = got.time(left as f64 / 200.0 + 0.2, Edge::Start);
    assert!(second > 15.0, "{second}");
    let end = got.time(left as f64 / 100.0, Edge::End);
    assert!((17.5..19.6).contains(&end), "{end}");

    let stream = std::io::Cursor::new(file.clone());
    let mut live = Spectrogram::of_stream(stream, wanted(speech)).expect("a sound");
    assert!(live.reach(u64::MAX).expect("read"));
    assert_eq!(live.frames(), left);
    let want = window(&mut got, 0, Padding::Zero);
    assert_eq!(window(&mut live, 0, Padding::Zero), want);

    // What is kept has the values that it has in the whole.
    let mut whole = Spectrogram::of_file(&path, 80).expect("a sound");
    let first = (begin * 100.0).round() as u64;
    let same = window(&mut whole, first, Padding::Zero);
    for bin in 0..80 {
        let at = bin * 3000 + 100;
        assert_eq!(same[at..at + 100], want[at..at + 100], "{bin}");
    }
}

#[test]
fn settings_decide_how_much_is_left() {
    let sound = sound();
    let bytes: Vec<u8> = sound.iter().flat_map(|x| x.to_le_bytes()).collect();
    let frames = |speech: Speech| {
        let file = std::io::Cursor::new(wav(FLOAT, 32, 16_000, 1, &bytes));
        let mut sound = Spectrogram::of_stream(file, wanted(speech)).expect("a sound");
        sound.reach(u64::MAX).expect("read");
        sound.frames()
    };
    let normal = frames(Speech::default());
    let pad = |pad_ms| {
        frames(Speech {
            pad_ms,
            ..Speech::default()
        })
    };
    assert!(pad(0) < normal && normal < pad(1000));
    let long = Speech {
        min_silence_ms: 60_000,
        ..Speech::default()
    };
    assert!(frames(long) > 1300);
    let never = Speech {
        threshold: 1.0,
        ..Speech::default()
    };
    assert!(frames(never) < normal);
    let all = Speech {
        threshold: 0.0,
        ..Speech::default()
    };
    assert_eq!(frames(all), sound.len() as u64 / 160);
}
