//! What `inspect` shows of a model, and what it says of files that are not as they should be.

mod common;

use common::{Run, model, reference, warpsmith};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A run that fails with these words in its one line.
fn refused(run: Run, words: &[&str]) {
    assert_eq!(run.status, 1, "{} {}", run.out, run.err);
    assert_eq!(run.err.trim_end().lines().count(), 1, "{}", run.err);
    for word in words {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
}

/// A safetensors file of such tensors, each filled with one value.
fn safetensors(tensors: &[(&str, &[usize], f32)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape, value) in tensors {
        let start = data.len();
        let len = shape.iter().product();
        data.extend(std::iter::repeat_n(value.to_le_bytes(), len).flatten());
        let offsets = [start, data.len()];
        let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": offsets });
        header.insert((*name).to_owned(), entry);
    }
    let header = Value::Object(header).to_string();
    let len = (header.len() as u64).to_le_bytes();
    [&len[..], header.as_bytes(), &data].concat()
}

#[test]
fn inspect_says_what_in_a_model_is_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |head: f32, tied: bool| {
        let tensors = [
            ("model.embed_tokens.weight", &[8, 32][..], 1.0),
            ("lm_head.weight", &[8, 32], head),
        ];
        let config = json!({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
            "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
            "vocab_size": 8, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": tied,
        });
        let at = |name: &str| folder.path().join(name);
        fs::write(at("model.safetensors"), safetensors(&tensors)).expect("written");
        fs::write(at("config.json"), config.to_string()).expect("written");
    };
    let path = text(folder.path());
    for (head, tied) in [(1.0, true), (2.0, false)] {
        write(head, tied);
        let run = warpsmith(&["inspect", &path]);
        assert_eq!(run.err, "");
        assert_eq!(
            warpsmith(&["inspect", "--json", &path]).json()["warnings"],
            json!([])
        );
    }
    write(2.0, true);
    let file = text(&folder.path().join("model.safetensors"));
    let want = "`lm_head.weight` is not used: it differs from `model.embed_tokens.weight`, which is the output head too \
                by `tie_word_embeddings` in config.json";
    for path in [&path, &file] {
        let json = warpsmith(&["inspect", "--json", path]).json();
        assert_eq!(json["warnings"], json!([want]));
        // Warnings are for quiet runs too.
        let run = warpsmith(&["--quiet", "inspect", path]);
        assert_eq!(run.err, format!("warning: {want}\n"));
        assert!(run.ok().starts_with("safetensors"));
    }
}

#[cfg(unix)]
#[test]
fn inspect_names_a_link_to_nothing() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in [
        "config.json",
        "model.safetensors",
        "model.gguf",
        "other.gguf",
    ] {
        fs::write(at("model.safetensors"), safetensors(&[("x", &[1], 1.0)])).expect("written");
        if name != "config.json" {
            fs::remove_file(at("model.safetensors")).expect("removed");
        }
        symlink("nothing", at(name)).expect("a link");
        let words = [name, "is a link to nothing, which is not there"];
        refused(warpsmith(&["inspect", &text(folder.path())]), &words);
        fs::remove_file(at(name)).expect("removed");
    }
}

#[test]
fn inspect_shows_every_kind_of_file_that_others_take() {
    let folder = tempfile::tempdir().expect("a folder");
    let tokenizer = folder.path().join("tokenizer.json");
    let parts = json!({
        "version": "1.0",
        "added_tokens": [{ "id": 1, "content": "<s>", "special": true }],
        "model": { "type": "BPE", "vocab": { "h": 0 }, "merges": [] },
    });
    fs::write(&tokenizer, parts.to_string()).expect("written");
    for (path, format, key, tensors) in [
        (
            model("tiny-llama3").into(),
            "GGUF version 3",
            "llama.block_count",
            true,
        ),
        (
            reference("whisper/synth/ggml-f16.bin"),
            "Whisper as ggml has it",
            "n_mels",
            true,
        ),
        (reference("whisper/synth"), "safetensors", "d_model", true),
        (
            reference("whisper/synth/model.safetensors"),
            "safetensors",
            "d_model",
            true,
        ),
        (tokenizer, "tokenizer.json", "special_tokens", false),
        (folder.path().into(), "tokenizer.json", "model.vocab", false),
    ] {
        let path: std::path::PathBuf = path;
        let shown = warpsmith(&["inspect", &text(&path)]).ok();
        let json = warpsmith(&["inspect", "--json", &text(&path)]).json();
        assert!(shown.starts_with(format) && shown.contains(key), "{shown}");
        assert_eq!(json["format"], format);
        assert!(
            !json["metadata"][key].is_null(),
            "{key}: {}",
            json["metadata"]
        );
        let count = json["tensors"].as_array().expect("a list").len();
        assert_eq!(count > 0, tensors, "{}", path.display());
    }
    let gguf = folder.path().join("one.gguf");
    fs::copy(model("tiny-llama3"), &gguf).expect("copied");
    let shown = warpsmith(&["inspect", &text(folder.path())]).ok();
    assert!(shown.starts_with("GGUF version 3"), "{shown}");
    fs::copy(&gguf, folder.path().join("two.gguf")).expect("copied");
    refused(
        warpsmith(&["inspect", &text(folder.path())]),
        &["2 GGUF files"],
    );
    let odd = folder.path().join("odd.json");
    fs::write(&odd, "[1]").expect("written");
    refused(
        warpsmith(&["inspect", &text(&odd)]),
        &["expected an object"],
    );
    fs::write(&odd, "{\"a\": {\"b\": 1}}").expect("written");
    assert!(
        warpsmith(&["inspect", &text(&odd)])
            .ok()
            .contains("a (1 keys)")
    );
    refused(warpsmith(&["inspect", "nothing.gguf"]), &["nothing.gguf"]);
}
