//! What a model is for is told from its beginning, in every format, and of nothing else.

use crate::{
    reference,
    whisper_files::{DIMS, model},
};
use std::{fs, path::Path};
use warpsmith_formats::{
    Kind,
    gguf::{Value, Writer},
    quant::WeightType,
};

fn check(path: &Path, want: Option<Kind>) {
    assert_eq!(Kind::of(path), want, "{}", path.display());
}

#[test]
fn the_models_of_the_reference_data_are_told_apart() {
    for name in ["tiny-llama2spm", "tiny-llama3", "tiny-qwen2"] {
        let path = reference("synth").join(format!("{name}.gguf"));
        check(&path, Some(Kind::Text));
    }
    check(&reference("whisper/synth/ggml-f16.bin"), Some(Kind::Speech));
    check(&reference("whisper/synth"), Some(Kind::Speech));
    let shared = reference("whisper/synth/model.safetensors");
    check(&shared, Some(Kind::Speech));
}

#[test]
fn whisper_is_whisper_in_each_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let writer = model(DIMS, WeightType::F16);
    let write = |name: &str, bytes: Vec<u8>| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
        fs::write(&path, bytes).expect("written");
        path
    };
    let ct2 = write("ct2/model.bin", writer.to_ct2().expect("a file"));
    let ggml = write("ggml/ggml-model.bin", writer.to_ggml());
    let (tensors, config) = writer.to_safetensors().expect("a file");
    let plain = write("hf/model.safetensors", tensors.clone());
    write("hf/config.json", config);
    let mut gguf = Writer::new();
    gguf.set("general.architecture", Value::from("whisper"));
    gguf.add("w", &[1], WeightType::F32, vec![0; 4]);
    let gguf = write("gguf/model.gguf", gguf.to_bytes().expect("a file"));
    let mut names = Writer::new();
    names.add("encoder.conv1.weight", &[1], WeightType::F32, vec![0; 4]);
    let names = write("names/x.gguf", names.to_bytes().expect("a file"));
    for path in [&ct2, &ggml, &plain, &gguf, &names] {
        check(path, Some(Kind::Speech));
    }
    for path in [&ct2, &ggml, &plain, &gguf] {
        check(path.parent().expect("a folder"), Some(Kind::Speech));
    }
    // The same weights of another model, told by its configuration alone.
    write("hf/config.json", br#"{"model_type": "qwen2"}"#.to_vec());
    check(&plain, Some(Kind::Text));
    write(
        "hf/config.json",
        br#"{"architectures": ["WhisperForConditionalGeneration"]}"#.to_vec(),
    );
    check(&plain, Some(Kind::Speech));
}

#[test]
fn what_tells_nothing_is_neither() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    check(path, None);
    check(&path.join("nothing.gguf"), None);
    for (name, bytes) in [
        ("empty.gguf", &b""[..]),
        ("cut.gguf", b"GGUF"),
        ("text.bin", b"hello, this is no model"),
        ("x.safetensors", b"\x02\0\0\0\0\0\0\0{}"),
        ("config.json", b"[1, 2]"),
    ] {
        fs::write(path.join(name), bytes).expect("written");
        check(&path.join(name), None);
    }
    fs::write(path.join("config.json"), b"{}").expect("written");
    check(&path.join("x.safetensors"), None);
    #[cfg(unix)]
    check(Path::new("/dev/zero"), None);
}
