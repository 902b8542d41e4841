//! safetensors: what another library wrote, and what is broken.

use std::path::Path;

use crate::bytes_of;
use ::safetensors::tensor::{Dtype, TensorView, serialize};
use warpsmith_formats::Error;
use warpsmith_formats::quant::{WeightType, check_finite};
use warpsmith_formats::safetensors::Safetensors;

fn file(tensors: &[(&str, Dtype, &[usize], &[u8])]) -> Vec<u8> {
    let views = tensors.iter().map(|(name, dtype, shape, data)| {
        let view = TensorView::new(*dtype, shape.to_vec(), data).expect("sizes agree");
        (name.to_string(), view)
    });
    serialize(views, None).expect("sound")
}

/// A file of this header and so many bytes of data.
fn raw(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

#[test]
fn names_shapes_types_and_bytes_come_back() {
    let (a, b, c): (Vec<u8>, Vec<u8>, Vec<u8>) =
        ((0..24).collect(), (50..62).collect(), (90..92).collect());
    let bytes = file(&[
        ("a", Dtype::F32, &[2, 3], &a),
        ("b", Dtype::F16, &[6], &b),
        ("c", Dtype::BF16, &[1, 1], &c),
    ]);
    let file = Safetensors::parse(bytes).expect("sound");
    assert_eq!(file.tensors().len(), 3);
    for (name, shape, dtype, data) in [
        ("a", vec![2, 3], WeightType::F32, &a),
        ("b", vec![6], WeightType::F16, &b),
        ("c", vec![1, 1], WeightType::BF16, &c),
    ] {
        let tensor = file.tensor(name).expect("there");
        assert_eq!((&tensor.shape, tensor.dtype), (&shape, dtype));
        let found = bytes_of(|out| file.read(tensor, out));
        assert_eq!(&found, data);
        check_finite(&tensor.name, tensor.dtype, &found).expect("finite");
    }
    assert_eq!(file.tensor("d"), None);
}

#[test]
fn broken_headers_are_refused() {
    let refused = |header: &str, data| Safetensors::parse(raw(header, data)).expect_err("broken");
    let entry = r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#;
    Safetensors::parse(raw(&format!(r#"{{"a":{entry}}}"#), 8)).expect("sound");

    let error = refused(
        r#"{"ids":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#,
        8,
    );
    assert_eq!(
        error.to_string(),
        "tensor ids has element type I64: expected F32, F16 or BF16"
    );
    let error = refused(&format!(r#"{{"a":{entry},"a":{entry}}}"#), 8);
    assert!(
        error.to_string().contains("\"a\" is given twice"),
        "{error}"
    );
    let error = refused(&format!(r#"{{"a":{entry}}}"#), 7);
    assert!(
        matches!(
            error,
            Error::OutOfFile {
                bytes: 8,
                available: 7,
                ..
            }
        ),
        "{error}"
    );
    let error = refused(
        r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#,
        8,
    );
    assert!(matches!(error, Error::OutOfFile { .. }), "{error}");
    for (header, data) in [
        // Bytes after the last tensor, a gap, a shape that disagrees, a shape that overflows.
        (format!(r#"{{"a":{entry}}}"#), 9),
        (
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#.to_owned(),
            8,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}"#.to_owned(),
            8,
        ),
        (
            r#"{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}"#
                .to_owned(),
            8,
        ),
    ] {
        let error = refused(&header, data);
        assert!(
            matches!(error, Error::Safetensors { .. }),
            "{header}: {error}"
        );
    }
    let error = refused("{\"a\":", 0);
    assert!(matches!(error, Error::Json { .. }), "{error}");
    let error = Safetensors::parse(u64::MAX.to_le_bytes().to_vec()).expect_err("no header");
    assert!(
        matches!(
            error,
            Error::Truncated {
                needed: u64::MAX,
                left: 0,
                ..
            }
        ),
        "{error}"
    );
    assert!(Safetensors::parse(vec![0; 7]).is_err());
}

#[test]
fn truncations_and_altered_bytes_never_panic() {
    let data: Vec<u8> = (0..24).collect();
    let bytes = file(&[
        ("a", Dtype::F32, &[2, 2], &data[..16]),
        ("b", Dtype::F16, &[4], &data[16..]),
    ]);
    for cut in 0..bytes.len() {
        assert!(
            Safetensors::parse(bytes[..cut].to_vec()).is_err(),
            "cut at {cut}"
        );
    }
    for at in 0..bytes.len() {
        for value in [0, b'9', b'-', b'"', b'{', b'[', 0x80, 0xff, bytes[at] ^ 1] {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            if let Ok(file) = Safetensors::parse(bytes) {
                for tensor in file.tensors() {
                    let data = bytes_of(|out| file.read(tensor, out));
                    assert_eq!(data.len() as u64, tensor.bytes);
                }
            }
        }
    }
}

fn write_shards(folder: &Path, index: &str) {
    let shard = |name: &str, at: u8| file(&[(name, Dtype::F16, &[2], &[at, 0, at, 0])]);
    std::fs::write(folder.join("one.safetensors"), shard("a", 1)).expect("written");
    std::fs::write(folder.join("two.safetensors"), shard("b", 2)).expect("written");
    std::fs::write(folder.join("model.safetensors.index.json"), index).expect("written");
}

#[test]
fn a_sharded_folder_reads_as_one_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let index = r#"{"metadata":{"total_size":8},
                    "weight_map":{"b":"two.safetensors","a":"one.safetensors"}}"#;
    write_shards(folder.path(), index);
    let model = Safetensors::open(folder.path()).expect("sound");
    assert_eq!(model.tensors().len(), 2);
    let b = model.tensor("b").expect("there");
    assert_eq!(bytes_of(|out| model.read(b, out)), [2, 0, 2, 0]);
    assert_ne!(b.shard, model.tensor("a").expect("there").shard);
    let one = Safetensors::open(&folder.path().join("one.safetensors")).expect("sound");
    assert_eq!(one.tensors().len(), 1);
}

#[test]
fn broken_indices_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = Safetensors::open(folder.path()).expect_err("empty");
    assert!(matches!(error, Error::EmptyFolder { .. }), "{error}");
    let refused = |index: &str| {
        write_shards(folder.path(), index);
        match Safetensors::open(folder.path()).expect_err("broken") {
            Error::InFile { error, .. } => *error,
            other => other,
        }
    };
    let error = refused(r#"{"weight_map":{"a":"two.safetensors"}}"#);
    assert!(
        matches!(&error, Error::MissingTensor { tensor, .. } if tensor == "a"),
        "{error}"
    );
    let error = refused(r#"{"weight_map":{"a":"three.safetensors"}}"#);
    assert!(matches!(error, Error::Io { .. }), "{error}");
    for shard in ["../one.safetensors", "/etc/hosts", "", "..", "a\\\\b"] {
        let error = refused(&format!(r#"{{"weight_map":{{"a":"{shard}"}}}}"#));
        assert!(matches!(error, Error::ShardName { .. }), "{error}");
    }
    let error = refused(r#"{"weight_map":{"a":"one.safetensors","a":"two.safetensors"}}"#);
    assert!(matches!(error, Error::Json { .. }), "{error}");
    let error = refused("[]");
    assert!(matches!(error, Error::Json { .. }), "{error}");
}
