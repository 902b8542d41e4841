//! Damaged files: what is sound is heard at its time, and what is missing is named.

use warpsmith_audio::{Missing, Padding, Spectrogram};

use crate::{reference, samples, wav, window};

/// Twelve seconds: the clip four times.
fn long() -> Vec<f32> {
    samples("goforward").repeat(4)
}

/// The clip's bytes with a part of them overwritten.
fn overwritten(file: &str, part: std::ops::Range<f64>, with: fn(usize) -> u8) -> Vec<u8> {
    let mut bytes = std::fs::read(reference(&format!("audio/{file}"))).expect("reference data");
    let at = |share: f64| (bytes.len() as f64 * share) as usize;
    let (from, to) = (at(part.start), at(part.end));
    for (i, byte) in bytes[from..to].iter_mut().enumerate() {
        *byte = with(i);
    }
    bytes
}

fn zeros(_: usize) -> u8 {
    0
}

fn noise(i: usize) -> u8 {
    ((i as u32 + 1).wrapping_mul(2_654_435_761) >> 24) as u8
}

/// How far the last half second is from that of the whole clip, at best within a few frames.
fn tail_off(damaged: &mut Spectrogram, whole: &mut Spectrogram) -> f32 {
    let last = whole.frames() as usize - 50;
    let (got, want) = (
        window(damaged, 0, Padding::Silence),
        window(whole, 0, Padding::Silence),
    );
    let off = |shift: usize| {
        let mut sum = 0.0;
        for bin in 0..60 {
            for t in last..last + 40 {
                sum += (got[bin * 3000 + t + shift - 5] - want[bin * 3000 + t]).abs();
            }
        }
        sum / (60.0 * 40.0)
    };
    (0..=10).map(off).fold(f32::MAX, f32::min)
}

#[test]
fn damage_in_the_middle_is_named_and_what_follows_keeps_its_time() {
    for file in [
        "goforward.flac",
        "goforward.mp3",
        "goforward.ogg",
        "goforward.opus",
        "goforward.webm",
        "goforward.mkv",
        "goforward.m4a",
    ] {
        let whole = std::fs::read(reference(&format!("audio/{file}"))).expect("reference data");
        let mut whole = Spectrogram::of_bytes(whole, 80).expect("a sound");
        for with in [zeros as fn(usize) -> u8, noise] {
            let bytes = overwritten(file, 0.45..0.6, with);
            let mut damaged = Spectrogram::of_bytes(bytes, 80).expect("a sound");
            let missing = damaged.missing().to_vec();
            // Codecs without sums take some damage for sound.
            if file != "goforward.m4a" {
                assert!(!missing.is_empty(), "{file}");
            }
            for Missing { start, end, why } in &missing {
                let end = end.unwrap_or(2.8);
                assert!(
                    *start < end && end <= 2.9 && !why.is_empty(),
                    "{file}: {missing:?}"
                );
            }
            let off = damaged.seconds() - whole.seconds();
            assert!(off.abs() < 0.3, "{file}: {off} s, {missing:?}");
            let tail = tail_off(&mut damaged, &mut whole);
            assert!(tail < 0.2, "{file}: {tail}, {missing:?}");
        }
    }
}

#[test]
fn whole_files_miss_nothing() {
    for file in [
        "goforward.wav",
        "goforward.flac",
        "goforward.mp3",
        "goforward.ogg",
        "goforward.m4a",
        "goforward.opus",
        "goforward_silk.opus",
        "goforward_60ms.opus",
        "goforward.webm",
        "goforward.mkv",
        "goforward_ima.wav",
        "goforward_44k_stereo.flac",
        "goforward_8k_ulaw.wav",
    ] {
        let sound = Spectrogram::of_file(&reference(&format!("audio/{file}")), 80);
        let sound = sound.expect("a sound");
        assert_eq!(sound.missing(), [], "{file}");
    }
}

#[test]
fn a_file_cut_at_its_end_says_what_is_missing() {
    let all = long();
    let data: Vec<u8> = all
        .iter()
        .flat_map(|x| ((x * 32768.0) as i16).to_le_bytes())
        .collect();
    let file = wav(crate::PCM, 16, 16_000, 1, &data);
    // In the middle of a sample, too.
    for cut in [file.len() / 2, file.len() / 2 + 1] {
        let sound = Spectrogram::of_bytes(file[..cut].to_vec(), 80).expect("a sound");
        let [Missing { start, end, .. }] = sound.missing() else {
            panic!("{:?}", sound.missing());
        };
        assert!((start - sound.seconds()).abs() < 1e-3);
        assert_eq!(*end, Some(all.len() as f64 / 16_000.0));
    }
    for file in ["goforward.flac", "goforward.mp3", "goforward.webm"] {
        let bytes = std::fs::read(reference(&format!("audio/{file}"))).expect("reference data");
        let half = bytes[..bytes.len() / 2].to_vec();
        let sound = Spectrogram::of_bytes(half, 80).expect("a sound");
        let [Missing { start, end, .. }] = sound.missing() else {
            panic!("{file}: {:?}", sound.missing());
        };
        assert!((start - sound.seconds()).abs() < 0.1, "{file}: {start}");
        assert!(
            end.is_some_and(|end| (2.7..2.95).contains(&end)),
            "{file}: {end:?}"
        );
    }
}

/// An AIFF file of 16 bits in one channel, with its chunks in this order.
fn aiff(order: [&[u8; 4]; 2], sound: &[f32]) -> Vec<u8> {
    let mut chunks = Vec::new();
    for name in order {
        let body = match name {
            b"COMM" => {
                let mut body = vec![0, 1];
                body.extend((sound.len() as u32).to_be_bytes());
                body.extend([0, 16]);
                // 16 kHz in 80 bits.
                body.extend([0x40, 0x0C, 0xFA, 0, 0, 0, 0, 0, 0, 0]);
                body
            }
            _ => {
                let samples = sound.iter().map(|x| (x * 32768.0) as i16);
                let mut body = vec![0; 8];
                body.extend(samples.flat_map(i16::to_be_bytes));
                body
            }
        };
        chunks.extend(name);
        chunks.extend((body.len() as u32).to_be_bytes());
        chunks.extend(body);
    }
    let size = (4 + chunks.len() as u32).to_be_bytes();
    [&b"FORM"[..], &size, b"AIFF", &chunks].concat()
}

#[test]
fn an_aiff_file_cut_at_its_end_is_heard_as_far_as_it_goes() {
    let all = samples("goforward");
    let mut want = Spectrogram::of_samples(&all, 80).expect("a sound");
    let want = window(&mut want, 0, Padding::Silence);
    for order in [[b"COMM", b"SSND"], [b"SSND", b"COMM"]] {
        let mut whole = Spectrogram::of_bytes(aiff(order, &all), 80).expect("a sound");
        assert_eq!(window(&mut whole, 0, Padding::Silence), want);
        assert_eq!(whole.missing(), []);
    }
    let file = aiff([b"COMM", b"SSND"], &all);
    let half = 54 + all.len() / 2 * 2;
    // At a sample, in the middle of one, and before the first.
    for (cut, left) in [(half, all.len() / 2), (half + 1, all.len() / 2), (54, 0)] {
        for stream in [false, true] {
            let bytes = file[..cut].to_vec();
            let sound = match stream {
                false => Spectrogram::of_bytes(bytes, 80),
                true => Spectrogram::of_stream(std::io::Cursor::new(bytes), 80),
            };
            let mut sound = sound.expect("a sound");
            assert!(sound.reach(u64::MAX).expect("read"));
            let [Missing { start, end, why }] = sound.missing() else {
                panic!("{cut}: {:?}", sound.missing());
            };
            assert_eq!(*start, left as f64 / 16_000.0);
            assert_eq!(*end, Some(all.len() as f64 / 16_000.0));
            assert_eq!(why, "the file ends before its sound");
            let mut want = Spectrogram::of_samples(&all[..left], 80).expect("a sound");
            assert_eq!(
                window(&mut sound, 0, Padding::Silence),
                window(&mut want, 0, Padding::Silence)
            );
        }
    }
}

#[test]
fn a_wave_or_aiff_file_behind_another_is_named_by_its_place() {
    // An odd number of bytes is padded by some.
    let all = samples("goforward");
    let bytes: Vec<u8> = all.iter().map(|x| (x * 127.0 + 128.0) as u8).collect();
    let plain = wav(
        crate::PCM,
        8,
        16_000,
        1,
        &bytes[..bytes.len() - 1 + bytes.len() % 2],
    );
    let sounds = [plain, aiff([b"COMM", b"SSND"], &all)];
    for one in &sounds {
        for other in &sounds {
            for pad in [&b""[..], b"\0"] {
                let first = [&one[..], pad].concat();
                let mut whole = Spectrogram::of_bytes(first.clone(), 80).expect("a sound");
                assert_eq!(whole.missing(), []);
                let both = [&first[..], other].concat();
                let mut sound = Spectrogram::of_bytes(both, 80).expect("a sound");
                let [Missing { start, end, why }] = sound.missing() else {
                    panic!("{:?}", sound.missing());
                };
                let at = first.len();
                let want = format!("another file begins at byte {at}, which is not heard");
                assert_eq!((end, why), (&None, &want));
                assert_eq!(*start, whole.seconds());
                assert_eq!(
                    window(&mut sound, 0, Padding::Silence),
                    window(&mut whole, 0, Padding::Silence)
                );
            }
        }
    }
}

#[test]
fn a_sound_that_goes_on_in_another_stream_of_its_file_is_one() {
    for file in ["goforward.ogg", "goforward.opus"] {
        let bytes = std::fs::read(reference(&format!("audio/{file}"))).expect("reference data");
        let one = Spectrogram::of_bytes(bytes.clone(), 80).expect("a sound");
        let two = Spectrogram::of_bytes([&bytes[..], &bytes].concat(), 80).expect("a sound");
        let off = two.seconds() - 2.0 * one.seconds();
        assert!(off.abs() < 0.1, "{file}: {off}");
    }
}
