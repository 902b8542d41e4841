//! Streams that are read once: files by what their first bytes tell, raw samples, window after window.

use std::io::{Cursor, Read};

use warpsmith_audio::{Error, Padding, Spectrogram, Window};

use crate::{reference, samples, window};

/// The clip in a file, through a reader that cannot go back.
struct Once(Cursor<Vec<u8>>);

impl Read for Once {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min(777);
        self.0.read(&mut out[..len])
    }
}

#[test]
fn a_stream_is_the_sound_of_the_file() {
    for file in [
        "goforward.wav",
        "goforward.flac",
        "goforward.mp3",
        "goforward.ogg",
        "goforward.m4a",
        "goforward.opus",
        "goforward.webm",
        "goforward.mkv",
        "goforward_8k_ulaw.wav",
    ] {
        let path = reference(&format!("audio/{file}"));
        let bytes = std::fs::read(&path).expect("reference data");
        let mut want = Spectrogram::of_file(&path, 80).expect("a sound");
        let mut got = Spectrogram::of_stream(Once(Cursor::new(bytes)), 80).expect("a sound");
        assert!(got.reach(u64::MAX).expect("read"), "{file}");
        assert_eq!(got.seconds(), want.seconds(), "{file}");
        assert_eq!(got.frames(), want.frames(), "{file}");
        assert_eq!(
            window(&mut got, 0, Padding::Silence),
            window(&mut want, 0, Padding::Silence),
            "{file}"
        );
    }
}

#[test]
fn raw_samples_are_read_no_further_than_they_are_wanted() {
    let sound: Vec<f32> = samples("jfk").repeat(6);
    let bytes: Vec<u8> = sound
        .iter()
        .flat_map(|x| ((x * 32768.0) as i16).to_le_bytes())
        .collect();
    // A minute and more, and a byte that is no sample.
    let all = bytes.len() as u64;
    let counter = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    struct Counted(Once, std::sync::Arc<std::sync::atomic::AtomicU64>);
    impl Read for Counted {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let read = self.0.read(out)?;
            self.1
                .fetch_add(read as u64, std::sync::atomic::Ordering::SeqCst);
            Ok(read)
        }
    }
    let stream = Counted(
        Once(Cursor::new([bytes, vec![1]].concat())),
        counter.clone(),
    );
    let mut got = Spectrogram::of_stream(stream, 80).expect("a sound");
    assert!(!got.reach(3000).expect("read"));
    let read = counter.load(std::sync::atomic::Ordering::SeqCst);
    assert!(read < all / 2 + 200_000, "{read} of {all}");
    let mut want = Spectrogram::of_samples(&sound, 80).expect("a sound");
    let first = window(&mut got, 0, Padding::Zero);
    assert_eq!(first, window(&mut want, 0, Padding::Zero));
    let later = window(&mut got, 2950, Padding::Zero);
    assert_eq!(later, window(&mut want, 2950, Padding::Zero));
    let mut out = vec![0.0; 80 * 10];
    let passed = Window {
        first: 0,
        frames: 10,
        end: u64::MAX,
        padding: Padding::Zero,
    };
    let error = got.window(passed, &mut out).expect_err("gone");
    assert!(matches!(error, Error::Passed { asked: 0, .. }), "{error}");
    assert!(got.reach(u64::MAX).expect("read"));
    assert_eq!(got.frames(), want.frames());
}
