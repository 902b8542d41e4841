//! WAV files with headers as writers leave them.

use warpsmith_audio::{Error, Missing, Padding, Spectrogram};

use crate::{PCM, samples, wav, window};

fn clip() -> Vec<u8> {
    let samples = samples("goforward");
    let each = samples
        .iter()
        .flat_map(|x| ((x * 32768.0) as i16).to_le_bytes());
    each.collect()
}

/// A chunk of a RIFF file, padded as it should be.
fn chunk(name: &[u8; 4], size: u32, data: &[u8]) -> Vec<u8> {
    let mut out = [&name[..], &size.to_le_bytes(), data].concat();
    out.resize(out.len().next_multiple_of(2), 0);
    out
}

fn format(tag: u16, more: &[u8]) -> Vec<u8> {
    let mut out = tag.to_le_bytes().to_vec();
    out.extend([1, 0, 0x80, 0x3E, 0, 0, 0, 0x7D, 0, 0, 2, 0, 16, 0]);
    out.extend(more);
    let size = out.len() as u32;
    chunk(b"fmt ", size, &out)
}

fn riff(name: &[u8; 4], size: u32, chunks: &[&[u8]]) -> Vec<u8> {
    [&name[..], &size.to_le_bytes(), b"WAVE", &chunks.concat()].concat()
}

fn check(name: &str, file: Vec<u8>, missing: bool) {
    let data = clip();
    let plain = wav(PCM, 16, 16_000, 1, &data);
    let mut want = Spectrogram::of_bytes(plain, 80).expect("a sound");
    let mut got = Spectrogram::of_bytes(file, 80).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(got.seconds(), want.seconds(), "{name}");
    assert_eq!(
        window(&mut got, 0, Padding::Silence),
        window(&mut want, 0, Padding::Silence),
        "{name}"
    );
    assert_eq!(
        !got.missing().is_empty(),
        missing,
        "{name}: {:?}",
        got.missing()
    );
}

#[test]
fn sizes_that_are_wrong_or_unknown_do_not_matter() {
    let data = clip();
    let len = data.len() as u32;
    let plain = format(PCM, &[]);
    for size in [0, 36, 100, 36 + len, 0x7FFF_FFFF, u32::MAX] {
        let file = riff(b"RIFF", size, &[&plain, &chunk(b"data", len, &data)]);
        check(&format!("RIFF {size:#x}"), file, false);
    }
    // What programs write that cannot go back: the whole rest is sound.
    for size in [
        0,
        0x7FFF_0000,
        0x7FFF_F000,
        0x7FFF_FFDB,
        0x7FFF_FFFF,
        0x8000_0000,
        u32::MAX - 36,
        u32::MAX,
    ] {
        let file = riff(b"RIFF", size, &[&plain, &chunk(b"data", size, &data)]);
        check(&format!("data {size:#x}"), file, false);
    }
    // A size beyond the file is a file that was cut.
    let file = riff(
        b"RIFF",
        len,
        &[&plain, &chunk(b"data", len + 32_000, &data)],
    );
    let sound = Spectrogram::of_bytes(file.clone(), 80).expect("a sound");
    let [Missing { start, end, .. }] = sound.missing() else {
        panic!("{:?}", sound.missing());
    };
    assert_eq!(end.map(|end| end - start), Some(1.0));
    check("cut", file, true);
}

#[test]
fn chunks_before_and_after_the_samples_are_passed_over() {
    let data = clip();
    let len = data.len() as u32;
    let sound = chunk(b"data", len, &data);
    let plain = format(PCM, &[]);
    let odd = chunk(b"LIST", 17, b"INFOISFT\x05\0\0\0abcde");
    let nested = chunk(b"LIST", 31, b"INFOISFT\xff\xff\xff\x7fa lie about a size\0");
    let bext = chunk(b"bext", 602, &[7; 602]);
    let junk = chunk(b"JUNK", 28, &[0; 28]);
    let extended = {
        let guid = b"\x01\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71";
        format(0xFFFE, &[&b"\x16\0\x10\0\x04\0\0\0"[..], guid].concat())
    };
    for (name, chunks) in [
        ("an odd list", vec![&odd[..], &plain, &sound]),
        ("a list between", vec![&plain, &odd, &sound]),
        ("a list that lies", vec![&plain, &nested, &sound]),
        ("a list behind", vec![&plain, &sound, &odd]),
        ("a broadcast chunk", vec![&junk, &bext, &plain, &sound]),
        ("an extended format", vec![&extended, &sound]),
        ("a longer format", vec![&format(PCM, &[0; 4]), &sound]),
    ] {
        check(name, riff(b"RIFF", 0, &chunks), false);
    }
    let mut wide = [0u8; 28];
    wide[8..16].copy_from_slice(&u64::from(len).to_le_bytes());
    let wide = chunk(b"ds64", 28, &wide);
    for name in [b"RF64", b"BW64"] {
        let sound = chunk(b"data", u32::MAX, &data);
        let file = riff(name, u32::MAX, &[&wide, &plain, &sound, &odd]);
        check("64 bits", file, false);
    }
}

#[test]
fn files_without_a_format_or_samples_say_so() {
    let plain = format(PCM, &[]);
    for (file, why) in [
        (
            riff(b"RIFF", 0, &[&chunk(b"data", 4, &[0; 4]), &plain]),
            "format",
        ),
        (riff(b"RIFF", 0, &[&plain]), "no samples"),
        (
            riff(b"RIFF", 0, &[&plain, &chunk(b"LIST", 1 << 30, &[0; 4])]),
            "no samples",
        ),
        (b"RIFF\0\0\0\0WAVE".to_vec(), "no samples"),
    ] {
        let error = Spectrogram::of_bytes(file, 80).err().expect("refused");
        let Error::Container { reason } = &error else {
            panic!("{error}");
        };
        assert!(reason.contains(why), "{error}");
    }
}
