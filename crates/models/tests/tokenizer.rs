//! Token ids and chat texts equal those of the reference engines, on their files.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpsmith_formats::gguf::Gguf;
use warpsmith_models::chat::{ChatTemplate, GenerationPrompt, Message};
use warpsmith_models::tokenizer::{Special, Tokenizer};

fn reference(file: &str) -> PathBuf {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../suite/reference"
    ))
    .join(file)
}

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> T {
    let path = reference(file);
    let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// SmolLM2, from `WARPSMITH_SMOLLM2` or where `cargo xtask fetch` puts it.
fn smollm2() -> Gguf {
    let path = match std::env::var_os("WARPSMITH_SMOLLM2") {
        Some(path) => PathBuf::from(path),
        None => std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
            .expect("HOME is set")
            .join("warpsmith/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    };
    Gguf::open(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask fetch`", path.display()))
}

#[derive(Deserialize)]
struct Vector {
    text: String,
    ids: Vec<u32>,
    ids_no_special: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct Prompt {
    text: String,
    messages: Option<Vec<Message>>,
    ids: Vec<u32>,
}

const PROMPTS: [&str; 6] = [
    "chat_sky",
    "chat_unicode",
    "raw_france",
    "raw_long",
    "raw_python",
    "raw_space",
];

#[test]
fn smollm2_gives_the_reference_ids() {
    let tokenizer = Tokenizer::from_gguf(smollm2().metadata()).unwrap();
    let vectors: Vec<Vector> = read("llm/tokenizer.json");
    assert!(vectors.len() > 200);
    for Vector {
        text,
        ids,
        ids_no_special,
    } in vectors
    {
        assert_eq!(
            tokenizer.encode(&text, Special::Parse).unwrap(),
            ids,
            "{text:?}"
        );
        let plain = ids_no_special.unwrap_or(ids);
        assert_eq!(
            tokenizer.encode(&text, Special::Plain).unwrap(),
            plain,
            "{text:?}"
        );
        assert_eq!(tokenizer.decode(&plain).unwrap(), text);
    }
    for name in PROMPTS {
        let prompt: Prompt = read(&format!("llm/{name}.json"));
        assert_eq!(
            tokenizer.encode(&prompt.text, Special::Parse).unwrap(),
            prompt.ids,
            "{name}"
        );
    }
}

#[test]
fn smollm2_stops_where_its_authors_stop() {
    let tokenizer = Tokenizer::from_gguf(smollm2().metadata()).unwrap();
    let ends: Vec<u32> = (0..tokenizer.vocab_len() as u32)
        .filter(|&id| tokenizer.is_end_of_generation(id))
        .collect();
    assert_eq!(ends, [0, 2]);
    assert_eq!((tokenizer.bos(), tokenizer.eos()), (Some(1), Some(2)));
    assert_eq!(tokenizer.vocab_len(), 49152);
    assert_eq!(tokenizer.piece(2), Some("<|im_end|>"));
}

#[test]
fn smollm2_renders_the_reference_chats() {
    let gguf = smollm2();
    let tokenizer = Tokenizer::from_gguf(gguf.metadata()).unwrap();
    let template = ChatTemplate::from_gguf(gguf.metadata(), &tokenizer);
    let mut chats = 0;
    for name in PROMPTS {
        let prompt: Prompt = read(&format!("llm/{name}.json"));
        if let Some(messages) = prompt.messages {
            let text = template.render(&messages, GenerationPrompt::Add).unwrap();
            assert_eq!(text, prompt.text, "{name}");
            chats += 1;
        }
    }
    assert_eq!(chats, 2);
}

#[derive(Deserialize)]
struct Synthetic {
    prompts: std::collections::BTreeMap<String, SyntheticPrompt>,
    tokenizer_vectors: Vec<SyntheticVector>,
}

#[derive(Deserialize)]
struct SyntheticPrompt {
    text: String,
    ids: Vec<u32>,
    truncated: bool,
}

#[derive(Deserialize)]
struct SyntheticVector {
    text: String,
    ids_llamacpp: Vec<u32>,
    ids_reference_library: Option<Vec<u32>>,
}

#[test]
fn synthetic_models_give_the_reference_ids() {
    for name in ["tiny-llama2spm", "tiny-llama3", "tiny-qwen2"] {
        let gguf = Gguf::open(&reference(&format!("synth/{name}.gguf"))).unwrap();
        let tokenizer = Tokenizer::from_gguf(gguf.metadata()).unwrap();
        let synthetic: Synthetic = read(&format!("synth/{name}.json"));
        assert!(!synthetic.tokenizer_vectors.is_empty() && !synthetic.prompts.is_empty());
        for vector in synthetic.tokenizer_vectors {
            let want = vector.ids_reference_library.unwrap_or(vector.ids_llamacpp);
            let got = tokenizer.encode(&vector.text, Special::Plain).unwrap();
            assert_eq!(got, want, "{name}: {:?}", vector.text);
        }
        for (
            prompt,
            SyntheticPrompt {
                text,
                ids,
                truncated,
            },
        ) in synthetic.prompts
        {
            let mut got = tokenizer.encode(&text, Special::Parse).unwrap();
            if truncated {
                got.truncate(ids.len());
            }
            assert_eq!(got, ids, "{name}: {prompt}");
        }
    }
}
