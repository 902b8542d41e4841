//! What a model is for, by a look at its beginning: before anything of it is loaded.

use crate::{gguf::Gguf, object::Object};
use serde::Deserialize;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text that goes on with text.
    Text,
    /// Whisper: speech to text.
    Speech,
}

/// A configuration larger than this is not one of ours.
const MAX_CONFIG: u64 = 64 << 20;
/// Bytes in which CTranslate2 names what it is: a version, a length, the name.
const HEAD: u64 = 64;
/// What it calls Whisper.
const CT2_NAME: &[u8] = b"WhisperSpec";

/// The parts of a config.json that tell.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    #[serde(default)]
    architectures: Vec<String>,
}

impl Kind {
    /// What the model at `path` is for, a file or a folder; `None` where that cannot be told, or nothing can be read. Costs
    /// the header of a GGUF file, of others a few bytes and `config.json`.
    pub fn of(path: &Path) -> Option<Kind> {
        if path.is_dir() {
            let own = config(path.join("config.json"));
            let names = ["model.bin", "ggml-model.bin", "model.gguf"];
            return own.or_else(|| names.iter().find_map(|name| file(&path.join(name))));
        }
        file(path)
    }
}

fn file(path: &Path) -> Option<Kind> {
    // What is no plain file may never end, or never begin.
    if !path.is_file() {
        return None;
    }
    let mut head = Vec::new();
    File::open(path)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    if head.starts_with(crate::gguf::MAGIC) {
        return gguf(path);
    }
    let whisper = |part: &[u8]| part.windows(CT2_NAME.len()).any(|name| name == CT2_NAME);
    if head.starts_with(&crate::whisper::GGML_MAGIC) || whisper(&head) {
        return Some(Kind::Speech);
    }
    match path.extension()?.to_str()? {
        "safetensors" | "json" => config(path.with_file_name("config.json")),
        _ => None,
    }
}

fn gguf(path: &Path) -> Option<Kind> {
    let file = Gguf::open(path).ok()?;
    let named = file.metadata().opt_str("general.architecture").ok()?;
    let encodes = |name: &str| file.tensor(name).is_some();
    let speech = named == Some("whisper")
        || encodes("encoder.conv1.weight")
        || encodes("model.encoder.conv1.weight");
    Some(if speech { Kind::Speech } else { Kind::Text })
}

fn config(path: PathBuf) -> Option<Kind> {
    let size = path.metadata().ok().filter(|found| found.is_file())?.len();
    if size > MAX_CONFIG {
        return None;
    }
    let Object(config): Object<Config> = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let speech = |name: &str| name.to_ascii_lowercase().starts_with("whisper");
    let named = config.model_type.iter().chain(&config.architectures);
    let mut named = named.peekable();
    named.peek()?;
    Some(if named.any(|name| speech(name)) {
        Kind::Speech
    } else {
        Kind::Text
    })
}
