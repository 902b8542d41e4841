//! Models, windows of mel, and what is compared.

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use warpsmith::{
    device::{Device, Selector},
    formats::whisper::WhisperFile,
    graph::{PersistentShape, Precision},
    models::{
        llama::Run,
        whisper::{Mode, Model, Rulebook, SessionOptions},
    },
};
use warpsmith_library::decoding::{Rules, Vocabulary};

pub(crate) fn reference(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("reference")
        .join(path)
}

pub(crate) fn json(path: &str) -> Value {
    let path = reference(path);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn floats(path: &str) -> Vec<f32> {
    let path = reference(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let numbers = bytes.as_chunks::<4>().0.iter();
    numbers.map(|b| f32::from_le_bytes(*b)).collect()
}

pub(crate) fn ids(value: &Value) -> Vec<u32> {
    let list = value.as_array().expect("a list of token ids");
    list.iter()
        .map(|id| id.as_u64().expect("a token id") as u32)
        .collect()
}

pub(crate) fn device() -> Device {
    Device::open(&Selector::virtual_gpu()).expect("a virtual GPU")
}

/// Where `cargo xtask fetch` puts a model.
pub(crate) fn folder(name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache =
        cache.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let path = cache
        .expect("a home folder")
        .join("warpsmith/models")
        .join(format!("whisper-{name}"));
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask fetch`",
        path.display()
    );
    path
}

pub(crate) fn model(name: &str) -> Arc<Model> {
    let file = WhisperFile::open(&folder(name)).expect("a Whisper model");
    Arc::new(Model::load(&device(), &file, None, &mut |_, _| {}).expect("its weights"))
}

/// A window of 30 s that begins with a clip of the reference data, a frame after the other.
pub(crate) fn window(clip: &str) -> Vec<f32> {
    let mel = floats(&format!("whisper/{clip}.mel.f32.bin"));
    let frames = mel.len() / 80;
    // The last frame is of silence, as are all later ones.
    let mut window = vec![mel[frames - 1]; 3000 * 80];
    for (bin, values) in mel.chunks(frames).enumerate() {
        for (frame, value) in values.iter().enumerate() {
            window[frame * 80 + bin] = *value;
        }
    }
    window
}

/// The ids of the two models of the reference data.
pub(crate) fn vocabulary(model: &Model) -> Vocabulary {
    let vocab = model.dims().n_vocab;
    let end = if vocab == 51864 { 50256 } else { 50257 };
    Vocabulary {
        vocab,
        end,
        timestamps: end + 107,
        // One second, in steps of 0.02 s.
        first_limit: 50,
    }
}

pub(crate) fn options(
    model: &Model,
    name: &str,
    rules: Rules,
    precision: Precision,
) -> SessionOptions {
    let vocabulary = vocabulary(model);
    let config = std::fs::read_to_string(folder(name).join("config.json")).expect("a config.json");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let mut suppress = ids(&config["suppress_ids"]);
    if rules == Rules::Timestamps {
        suppress.push(vocabulary.timestamps - 1);
    }
    SessionOptions {
        precision,
        run: Run::Replay,
        shape: PersistentShape::default(),
        rules: Rulebook {
            rules,
            vocabulary,
            suppress,
            suppress_first: ids(&config["suppress_ids_begin"]),
            no_speech: vocabulary.end + 105,
        },
        modes: vec![Mode::Samples(1)],
    }
}

/// `|got - want| / |want|`.
pub(crate) fn distance(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let square = |x: f64| x * x;
    let pairs = got.iter().zip(want);
    let error: f64 = pairs
        .map(|(g, w)| square(f64::from(*g) - f64::from(*w)))
        .sum();
    let norm: f64 = want.iter().map(|w| square(f64::from(*w))).sum();
    (error / norm).sqrt()
}
