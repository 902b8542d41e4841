//! Truncated, corrupted and hostile GGUF files: typed errors, never a panic.

use crate::bytes_of;
use warpsmith_formats::Error;
use warpsmith_formats::gguf::{Array, Gguf, Value, Writer};
use warpsmith_formats::quant::{WeightType, check_finite, random_blocks};

/// A file with a value of every kind and two tensors.
fn small() -> Vec<u8> {
    let mut w = Writer::new();
    w.set("general.architecture", Value::from("llama"));
    w.set("n", Value::from(3u32));
    w.set("yes", Value::from(true));
    w.set("x", Value::F64(0.25));
    w.set("tokens", Value::from(vec!["a".to_owned(), "é".to_owned()]));
    w.set("kinds", Value::from(vec![1i32, 2, 3]));
    w.set("flags", Value::Array(Array::Bool(vec![true, false])));
    let nested = Array::Array(vec![Array::U8(vec![1, 2]), Array::U16(vec![])]);
    w.set("nested", Value::Array(nested));
    w.add(
        "w",
        &[64, 3],
        WeightType::Q4_1,
        random_blocks(WeightType::Q4_1, 1, 6),
    );
    w.add(
        "b",
        &[5],
        WeightType::F32,
        random_blocks(WeightType::F32, 2, 5),
    );
    w.to_bytes().expect("sound")
}

/// Parses, and reads all that a file that parses offers.
fn exercise(bytes: Vec<u8>) -> Result<(), Error> {
    let file = Gguf::parse(bytes)?;
    for tensor in file.tensors() {
        let data = bytes_of(|out| file.read(tensor, out));
        assert_eq!(data.len() as u64, tensor.bytes);
        drop(check_finite(&tensor.name, tensor.dtype, &data));
    }
    Ok(())
}

fn position(bytes: &[u8], needle: &[u8]) -> usize {
    bytes
        .windows(needle.len())
        .position(|w| w == needle)
        .expect("in the file")
}

/// The error of the small file with `with` written over what follows `after` by `skip` bytes.
fn patched(after: &[u8], skip: usize, with: &[u8]) -> Error {
    let mut bytes = small();
    let at = position(&bytes, after) + after.len() + skip;
    bytes[at..at + with.len()].copy_from_slice(with);
    exercise(bytes).expect_err("hostile")
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = small();
    exercise(bytes.clone()).expect("sound");
    for cut in 0..bytes.len() {
        assert!(exercise(bytes[..cut].to_vec()).is_err(), "cut at {cut}");
    }
}

#[test]
fn every_byte_set_to_every_bit_pattern_of_note_never_panics() {
    let bytes = small();
    for at in 0..bytes.len() {
        for value in [
            0,
            1,
            9,
            0x20,
            0x7f,
            0x80,
            0xff,
            bytes[at] ^ 1,
            bytes[at] ^ 0x80,
        ] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            drop(exercise(bytes));
        }
    }
}

#[test]
fn random_flips_never_panic() {
    let bytes = small();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for _ in 0..20_000 {
        let mut bytes = bytes.clone();
        for _ in 0..1 + next(4) {
            let at = next(bytes.len());
            bytes[at] ^= 1 << next(8);
        }
        drop(exercise(bytes));
    }
}

#[test]
fn hostile_lengths_anywhere_are_refused_without_allocating_them() {
    let bytes = small();
    for hostile in [
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        1 << 61,
        1 << 40,
        1 << 32,
        u64::MAX - 31,
    ] {
        for at in 0..bytes.len() - 8 {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&hostile.to_le_bytes());
            drop(exercise(bytes));
        }
        for count in [8, 16] {
            let mut bytes = bytes.clone();
            bytes[count..count + 8].copy_from_slice(&hostile.to_le_bytes());
            assert!(matches!(exercise(bytes), Err(Error::Truncated { .. })));
        }
    }
}

#[test]
fn versions_and_byte_orders_are_named() {
    let version = |v: u32| {
        let mut bytes = small();
        bytes[4..8].copy_from_slice(&v.to_le_bytes());
        exercise(bytes)
    };
    version(2).expect("version 2 has the same layout");
    assert!(matches!(version(1), Err(Error::Version { found: 1 })));
    assert!(matches!(version(4), Err(Error::Version { found: 4 })));
    assert!(matches!(
        version(3 << 24),
        Err(Error::BigEndian { version: 3 })
    ));
    assert_eq!(
        exercise(b"GGML1234".to_vec())
            .expect_err("magic")
            .to_string(),
        "expected the magic bytes \"GGUF\", found [47, 47, 4d, 4c]"
    );
}

#[test]
fn broken_values_are_named_by_their_key() {
    let error = patched(b"tokens", 4 + 4 + 8 + 8 + 1 + 8, &[0xff]);
    assert!(
        matches!(&error, Error::Utf8 { what, .. } if what == "tokens[1]"),
        "{error}"
    );
    let error = patched(b"flags", 4 + 4 + 8 + 1, &[2]);
    assert!(
        matches!(&error, Error::Bool { what, found: 2 } if what == "flags[1]"),
        "{error}"
    );
    let error = patched(b"yes", 0, &13u32.to_le_bytes());
    assert!(
        matches!(&error, Error::ValueType { key, found: 13 } if key == "yes"),
        "{error}"
    );
    let error = patched(b"kinds", 4, &99u32.to_le_bytes());
    assert!(
        matches!(&error, Error::ValueType { key, found: 99 } if key == "kinds"),
        "{error}"
    );
    let error = patched(b"kinds", 8, &u64::MAX.to_le_bytes());
    assert!(
        matches!(&error, Error::Truncated { what, .. } if what == "kinds"),
        "{error}"
    );
    let error = patched(b"\x03\0\0\0\0\0\0\0ye", 0, b"\xff");
    assert!(
        matches!(&error, Error::Utf8 { what, .. } if what == "metadata key number 2"),
        "{error}"
    );
}

/// The length, the name and the rank of tensor `w`, which its dimensions follow.
const W: &[u8] = b"\x01\0\0\0\0\0\0\0w\x02\0\0\0";
/// The same of tensor `b`.
const B: &[u8] = b"\x01\0\0\0\0\0\0\0b\x01\0\0\0";
const TYPE: usize = 16;
const OFFSET: usize = 20;

#[test]
fn broken_tensors_are_named() {
    let dim = |at: usize, dim: u64| patched(W, 8 * at, &dim.to_le_bytes());
    let w = |tensor: &String| tensor == "w";
    let error = dim(1, 0);
    assert!(
        matches!(&error, Error::ZeroDim { tensor, .. } if w(tensor)),
        "{error}"
    );
    let error = dim(0, 65);
    assert!(
        matches!(&error, Error::RowLength { tensor, row_len: 65, .. } if w(tensor)),
        "{error}"
    );
    for huge in [1 << 58, 1 << 63, u64::MAX] {
        let error = dim(1, huge);
        assert!(
            matches!(&error, Error::SizeOverflow { tensor, .. } if w(tensor)),
            "{error}"
        );
    }
    let error = dim(1, 4000);
    assert!(
        matches!(&error, Error::OutOfFile { tensor, .. } if w(tensor)),
        "{error}"
    );

    let error = patched(W, TYPE, &16u32.to_le_bytes());
    assert_eq!(
        error.to_string(),
        "tensor w has weight type 16 (IQ2_XXS), which is not supported"
    );
    let error = patched(W, TYPE, &1000u32.to_le_bytes());
    assert!(
        matches!(
            &error,
            Error::TensorType {
                id: 1000,
                name: "unknown",
                ..
            }
        ),
        "{error}"
    );

    let error = patched(W, OFFSET, &8u64.to_le_bytes());
    assert!(
        matches!(
            &error,
            Error::Misaligned {
                offset: 8,
                alignment: 32,
                ..
            }
        ),
        "{error}"
    );
    for far in [1 << 20, u64::MAX - 31, 1 << 63] {
        let error = patched(W, OFFSET, &far.to_le_bytes());
        assert!(
            matches!(&error, Error::OutOfFile { offset, .. } if *offset == far),
            "{error}"
        );
    }
    // `w` has 120 bytes, so `b` may start at 128.
    let error = patched(B, 8 + 4, &96u64.to_le_bytes());
    assert!(
        matches!(&error, Error::Overlap { first, second } if first == "w" && second == "b"),
        "{error}"
    );

    let rank = &W[..9];
    for found in [0u32, 5, u32::MAX] {
        let error = patched(rank, 0, &found.to_le_bytes());
        assert!(
            matches!(&error, Error::Rank { found: f, .. } if *f == found),
            "{error}"
        );
    }
    let error = patched(W, OFFSET + 8 + 8, b"w");
    assert!(
        matches!(&error, Error::DuplicateTensor { tensor } if tensor == "w"),
        "{error}"
    );
}

#[test]
fn a_key_given_twice_is_refused() {
    let error = patched(b"\x01\0\0\0\0\0\0\0", 0, b"x");
    assert!(
        matches!(&error, Error::DuplicateKey { key } if key == "x"),
        "{error}"
    );
}

#[test]
fn alignments_that_cannot_be_are_refused() {
    for (value, found) in [(0u32, 0), (4, 4), (48, 48)] {
        let mut w = Writer::new();
        w.set("general.alignment", Value::U32(64));
        let mut bytes = w.to_bytes().expect("sound");
        let at = bytes.len() - 4;
        bytes[at..].copy_from_slice(&value.to_le_bytes());
        assert!(matches!(Gguf::parse(bytes), Err(Error::Alignment { found: f }) if f == found));
    }
    let mut w = Writer::new();
    w.set("general.alignment", Value::from("32"));
    assert!(matches!(
        w.to_bytes(),
        Err(Error::WrongType { want: "u32", .. })
    ));
}

#[test]
fn arrays_nested_too_deep_are_refused() {
    // Array of array of ..., each with one element, as deep as the file is long.
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(b"k");
    bytes.extend(9u32.to_le_bytes());
    for _ in 0..100_000 {
        bytes.extend(9u32.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
    }
    assert!(matches!(
        exercise(bytes),
        Err(Error::Depth { limit: 4, .. })
    ));

    let deep = (0..5).fold(Array::U8(vec![1]), |array, _| Array::Array(vec![array]));
    let mut w = Writer::new();
    w.set("k", Value::Array(deep));
    assert!(matches!(w.to_bytes(), Err(Error::Depth { limit: 4, .. })));
}

#[test]
fn weights_that_are_not_finite_are_named() {
    let mut w = Writer::new();
    let mut data = random_blocks(WeightType::Q4_1, 1, 6);
    data[4 * 20 + 3] = 0x7c;
    w.add("w", &[64, 3], WeightType::Q4_1, data);
    let file = Gguf::parse(w.to_bytes().expect("sound")).expect("sound");
    let tensor = &file.tensors()[0];
    let data = bytes_of(|out| file.read(tensor, out));
    let error = check_finite(&tensor.name, tensor.dtype, &data).expect_err("planted");
    assert!(
        matches!(&error, Error::NonFinite { tensor, index: 128, .. } if tensor == "w"),
        "{error}"
    );
}
