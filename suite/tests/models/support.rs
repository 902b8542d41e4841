//! Reference data, sessions, and what is compared.

use serde_json::Value;
use std::path::{Path, PathBuf};
use warpsmith::{
    device::{Device, Selector},
    graph::Precision,
    models::llama::{Bundle, Session, SessionOptions},
};

pub(crate) fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("reference")
}

pub(crate) fn json(path: &str) -> Value {
    let path = reference().join(path);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn floats(path: &str) -> Vec<f32> {
    let path = reference().join(path);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect()
}

pub(crate) fn ids(value: &Value) -> Vec<u32> {
    let list = value.as_array().expect("a list of token ids");
    list.iter()
        .map(|id| id.as_u64().expect("a token id") as u32)
        .collect()
}

pub(crate) fn load(path: &Path) -> Bundle {
    let device = Device::open(&Selector::virtual_gpu()).expect("a virtual GPU");
    Bundle::load(&device, path, &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn session(bundle: &Bundle, precision: Precision) -> Session {
    let options = SessionOptions {
        context: 2048,
        precision,
        ..SessionOptions::default()
    };
    Session::new(&bundle.model, &options).expect("a session")
}

pub(crate) struct Difference {
    pub(crate) most: f32,
    pub(crate) rms: f64,
    pub(crate) cosine: f64,
}

pub(crate) fn difference(got: &[f32], want: &[f32]) -> Difference {
    assert_eq!(got.len(), want.len());
    let pairs = || {
        got.iter()
            .zip(want)
            .map(|(g, w)| (f64::from(*g), f64::from(*w)))
    };
    let dot: f64 = pairs().map(|(g, w)| g * w).sum();
    let norm = |f: fn((f64, f64)) -> f64| pairs().map(f).map(|x| x * x).sum::<f64>().sqrt();
    Difference {
        most: got
            .iter()
            .zip(want)
            .map(|(g, w)| (g - w).abs())
            .fold(0.0, f32::max),
        rms: (pairs().map(|(g, w)| (g - w) * (g - w)).sum::<f64>() / got.len() as f64).sqrt(),
        cosine: dot / (norm(|(g, _)| g) * norm(|(_, w)| w)),
    }
}

/// Greedy tokens equal the reference up to a step whose top two are nearer than `margin`.
pub(crate) fn check_greedy(
    session: &mut Session,
    tokens: &[u32],
    margins: &[f64],
    margin: f64,
    what: &str,
) {
    let mut next = session.sample().expect("a token");
    for (step, want) in tokens.iter().enumerate() {
        if next != *want {
            let found = margins.get(step).copied().unwrap_or(0.0);
            assert!(
                found < margin,
                "{what}: step {step} is {next}, expected {want}, margin {found}"
            );
            return;
        }
        if step + 1 < tokens.len() {
            next = session.step().expect("a step");
        }
    }
}

pub(crate) fn margins(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default()
}
