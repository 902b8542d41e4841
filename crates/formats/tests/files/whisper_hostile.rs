//! Truncated, corrupted and hostile Whisper files: typed errors, never a panic.

use crate::bytes_of;
use warpsmith_formats::Error;
use warpsmith_formats::quant::{WeightType, check_finite};
use warpsmith_formats::whisper::{Dims, WhisperFile};

use crate::whisper_files::{DIMS, model};

/// The smallest model: files of a few kilobytes.
const SMALL: Dims = Dims {
    n_audio_state: 1,
    n_audio_head: 1,
    n_audio_layer: 1,
    n_text_state: 1,
    ..DIMS
};

fn ggml() -> Vec<u8> {
    model(SMALL, WeightType::F16).to_ggml()
}

fn ct2() -> Vec<u8> {
    model(SMALL, WeightType::F16).to_ct2().expect("written")
}

/// Parses, and reads all that a file that parses offers.
fn exercise(bytes: Vec<u8>, config: Option<&[u8]>) -> Result<(), Error> {
    let file = WhisperFile::parse(bytes, config)?;
    for tensor in file.tensors() {
        let data = bytes_of(|out| file.read(tensor, out));
        assert_eq!(data.len() as u64, tensor.bytes);
        drop(check_finite(&tensor.name, tensor.dtype, &data));
    }
    Ok(())
}

#[test]
fn every_truncation_is_an_error() {
    let (safetensors, config) = model(SMALL, WeightType::F16)
        .to_safetensors()
        .expect("written");
    let config = Some(&config[..]);
    for (bytes, config) in [(ggml(), None), (ct2(), None), (safetensors, config)] {
        exercise(bytes.clone(), config).expect("sound");
        for cut in 0..bytes.len() {
            assert!(
                exercise(bytes[..cut].to_vec(), config).is_err(),
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn every_byte_set_to_patterns_of_note_never_panics() {
    for bytes in [ggml(), ct2()] {
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1] {
                let mut bytes = bytes.clone();
                bytes[at] = value;
                drop(exercise(bytes, None));
            }
        }
    }
}

/// `bytes` with `with` in the place of what starts at `at`.
fn patched(mut bytes: Vec<u8>, at: usize, with: &[u8]) -> Error {
    bytes[at..at + with.len()].copy_from_slice(with);
    exercise(bytes, None).expect_err("hostile")
}

fn position(bytes: &[u8], needle: &[u8]) -> usize {
    bytes
        .windows(needle.len())
        .position(|w| w == needle)
        .expect("in the file")
}

#[test]
fn headers_of_ggml_are_checked() {
    for (field, value, want) in [
        (0, -1i32, "n_vocab"),
        (3, 0, "n_audio_head"),
        (4, i32::MAX, "n_audio_layer"),
        (7, 3, "n_text_head"),
        (6, 2, "n_text_state"),
    ] {
        let error = patched(ggml(), 4 + 4 * field, &value.to_le_bytes());
        let Error::Field { field, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(field, want);
    }
    let filters = 4 + 4 * 11;
    let error = patched(ggml(), filters, &4u32.to_le_bytes());
    assert!(matches!(error, Error::Field { .. }), "{error}");
    let error = patched(ggml(), filters + 4, &u32::MAX.to_le_bytes());
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    let tokens = filters + 8 + 4 * 6;
    let error = patched(ggml(), tokens, &u32::MAX.to_le_bytes());
    assert!(matches!(error, Error::Field { .. }), "{error}");
    let error = patched(ggml(), tokens + 4, &u32::MAX.to_le_bytes());
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
}

#[test]
fn tensors_of_ggml_are_checked() {
    let bytes = ggml();
    let name = position(&bytes, b"decoder.positional_embedding");
    // rank, name length, type, two dimensions
    let error = patched(ggml(), name - 20, &9u32.to_le_bytes());
    assert!(matches!(error, Error::Rank { found: 9, .. }), "{error}");
    let error = patched(ggml(), name - 16, &u32::MAX.to_le_bytes());
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    let error = patched(ggml(), name - 12, &18u32.to_le_bytes());
    let named = matches!(
        error,
        Error::TensorType {
            name: "IQ3_XXS",
            ..
        }
    );
    assert!(named, "{error}");
    let error = patched(ggml(), name - 8, &0u32.to_le_bytes());
    assert!(matches!(error, Error::ZeroDim { .. }), "{error}");
    let error = patched(ggml(), name - 8, &[0xff; 8]);
    assert!(
        matches!(error, Error::SizeOverflow { .. } | Error::Truncated { .. }),
        "{error}"
    );
    let error = patched(ggml(), name, &[0xff]);
    assert!(matches!(error, Error::Utf8 { .. }), "{error}");
    let error = patched(ggml(), name, b"x");
    assert!(matches!(error, Error::NoTensor { .. }), "{error}");

    let mut twice = ggml();
    let again = twice[name - 20..name + 28 + 6].to_vec();
    twice.extend(again);
    let error = exercise(twice, None).expect_err("twice");
    assert!(matches!(error, Error::DuplicateTensor { .. }), "{error}");
}

#[test]
fn old_quantised_layouts_are_refused_by_name() {
    let dims = Dims {
        n_audio_state: 32,
        n_text_state: 32,
        ..SMALL
    };
    let mut bytes = model(dims, WeightType::Q4_0).to_ggml();
    bytes[4 + 40..][..4].copy_from_slice(&1002u32.to_le_bytes());
    let error = exercise(bytes, None).expect_err("version 1");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn headers_of_ctranslate2_are_checked() {
    // version; length and text of the name; revision; number of variables
    for (at, with) in [(0, [5, 0, 0, 0]), (6, *b"Bert"), (18, [2, 0, 0, 0])] {
        let error = patched(ct2(), at, &with);
        assert!(matches!(error, Error::Field { .. }), "{error}");
    }
    for with in [u32::MAX, 10_000] {
        let error = patched(ct2(), 22, &with.to_le_bytes());
        assert!(matches!(error, Error::Truncated { .. }), "{error}");
    }
    let error = exercise([ct2(), vec![0]].concat(), None).expect_err("longer");
    assert!(matches!(error, Error::Field { .. }), "{error}");
}

#[test]
fn variables_of_ctranslate2_are_checked() {
    let text = b"decoder/position_encodings/encodings\0";
    let at = position(&ct2(), text) + text.len();
    // rank, two dimensions, type, size
    let error = patched(ct2(), at, &[200]);
    assert!(matches!(error, Error::Rank { found: 200, .. }), "{error}");
    let error = patched(ct2(), at + 9, &[9]);
    assert!(matches!(error, Error::ElementType { .. }), "{error}");
    let error = patched(ct2(), at + 9, &[1]);
    assert!(matches!(error, Error::Length { .. }), "{error}");
    let error = patched(ct2(), at + 1, &[0xff; 8]);
    assert!(
        matches!(error, Error::SizeOverflow { .. } | Error::Length { .. }),
        "{error}"
    );
    let error = patched(ct2(), at - 1, b"x");
    assert!(matches!(error, Error::Field { .. }), "{error}");

    let text = b"decoder/activation\0";
    let at = position(&ct2(), text) + text.len();
    let error = patched(ct2(), at + 6, &[0]);
    assert!(matches!(error, Error::Field { .. }), "{error}");
    let text = b"encoder/num_heads\0";
    let at = position(&ct2(), text) + text.len();
    let error = patched(ct2(), at + 6, &[0xff, 0xff]);
    assert!(matches!(error, Error::Field { .. }), "{error}");
}

#[test]
fn aliases_of_ctranslate2_are_checked() {
    let bytes = ct2();
    let alias = position(&bytes, b"decoder/projection/weight");
    let target = alias + b"decoder/projection/weight\0".len() + 2;
    let error = patched(ct2(), target, b"x");
    assert!(matches!(error, Error::NoTensor { .. }), "{error}");
    let error = patched(ct2(), alias, b"decoder/embeddings/weight");
    assert!(matches!(error, Error::DuplicateTensor { .. }), "{error}");
    // A name of the same length for the variable that the alias stands for.
    let mut other = ct2();
    other[target..][..25].copy_from_slice(b"decoder/layer_norm/gamma\0");
    other[target - 2] = 25;
    other.remove(target + 25);
    let error = exercise(other, None).expect_err("not tied");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn what_is_no_model_is_said_to_be_none() {
    for bytes in [&b""[..], b"RIFF", b"PK\x03\x04 a zip of a checkpoint"] {
        let error = exercise(bytes.to_vec(), None).expect_err("no model");
        assert!(matches!(error, Error::NotWhisper { .. }), "{error}");
    }
    let (bytes, _) = model(SMALL, WeightType::F16)
        .to_safetensors()
        .expect("written");
    let error = exercise(bytes.clone(), None).expect_err("no sizes");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    let error = exercise(bytes, Some(br#"{"d_model":1}"#)).expect_err("few sizes");
    assert!(matches!(error, Error::Field { .. }), "{error}");
}
