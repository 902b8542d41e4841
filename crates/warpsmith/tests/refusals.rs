//! Models and tokenizers that ask for what is not done: one line that names the file and the part.

mod common;

use common::{model, warpsmith};
use serde_json::{Map, Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;
use warpsmith::formats::gguf::{Gguf, Value as Meta, Writer};

/// A run that is refused by one line, in which all of `parts` stand.
fn check(args: &[&str], parts: &[&str]) {
    let run = warpsmith(args);
    assert_ne!(run.status, 0, "{args:?}");
    assert_eq!(run.out, "", "{args:?}");
    assert_eq!(
        run.err.trim_end().lines().count(),
        1,
        "{args:?}: {}",
        run.err
    );
    for part in parts {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
}

#[test]
fn odd_tokenizers_are_refused_by_file_and_part() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tests/tokenizers");
    for (file, part) in [
        ("fixed_length_0.json", "pre_tokenizer.length"),
        ("replace_empty.json", "normalizer.pattern.String"),
        ("subword_prefix.json", "model.merges[0]"),
        (
            "template_token.json",
            "post_processor.single[0].SpecialToken.id",
        ),
    ] {
        let path = folder.join(file).display().to_string();
        check(&["tokenize", "--model", &path, "ab"], &[file, part]);
    }
}

#[test]
fn a_model_with_a_part_that_is_not_done_is_refused_by_file_and_part() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("odd.gguf");
    let gguf = Gguf::open(Path::new(&model("tiny-llama3"))).expect("a model");
    let write = |key: Option<&str>, tensor: Option<&str>| {
        let mut writer = Writer::new();
        for (key, value) in gguf.metadata().iter() {
            writer.set(key, value.clone());
        }
        if let Some(key) = key {
            writer.set(key, Meta::F32(3.0));
        }
        let mut data = Vec::new();
        for info in gguf.tensors() {
            gguf.read(info, &mut data).expect("its bytes");
            writer.add(&info.name, &info.dims, info.dtype, data.clone());
            if info.name == "output_norm.weight"
                && let Some(tensor) = tensor
            {
                writer.add(tensor, &info.dims, info.dtype, data.clone());
            }
        }
        fs::write(&path, writer.to_bytes().expect("a sound file")).expect("a file");
    };
    let args = [
        "generate",
        "--model",
        path.to_str().expect("text"),
        "--device",
        "virtual",
        "-n",
        "4",
        "--temperature",
        "0",
        "--raw",
        "Hello",
    ];
    write(None, None);
    let made = warpsmith(&[&args[..], &["--json"]].concat()).json();
    assert!(made["ids"].is_array(), "{made}");
    write(Some("llama.final_logit_softcapping"), None);
    check(&args, &["odd.gguf", "llama.final_logit_softcapping is 3"]);
    write(None, Some("blk.0.post_attention_norm.weight"));
    check(
        &args,
        &["odd.gguf", "tensor `blk.0.post_attention_norm.weight`"],
    );
}

/// Writes a model of one layer; tensors are filled with their number in the list.
fn write_folder(folder: &Path, config: &Value) {
    let (mut header, mut data) = (Map::new(), Vec::<u8>::new());
    let layer = |part: &str| format!("model.layers.0.{part}.weight");
    for (at, (name, shape)) in [
        ("model.embed_tokens.weight".to_owned(), vec![4, 32]),
        ("model.norm.weight".to_owned(), vec![32]),
        ("lm_head.weight".to_owned(), vec![4, 32]),
        (layer("input_layernorm"), vec![32]),
        (layer("post_attention_layernorm"), vec![32]),
        (layer("self_attn.q_proj"), vec![32, 32]),
        (layer("self_attn.k_proj"), vec![32, 32]),
        (layer("self_attn.v_proj"), vec![32, 32]),
        (layer("self_attn.o_proj"), vec![32, 32]),
        (layer("mlp.gate_proj"), vec![32, 32]),
        (layer("mlp.up_proj"), vec![32, 32]),
        (layer("mlp.down_proj"), vec![32, 32]),
    ]
    .into_iter()
    .enumerate()
    {
        let start = data.len();
        for _ in 0..shape.iter().product::<usize>() {
            data.extend((0.01 * at as f32).to_le_bytes());
        }
        let offsets = [start, data.len()];
        header.insert(
            name,
            json!({"dtype": "F32", "shape": shape, "data_offsets": offsets}),
        );
    }
    let header = Value::Object(header).to_string();
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.into_bytes());
    out.extend(data);
    let tokenizer = json!({"version": "1.0", "added_tokens": [],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3}, "merges": []}});
    fs::write(folder.join("model.safetensors"), out).expect("a file");
    fs::write(folder.join("config.json"), config.to_string()).expect("a file");
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("a file");
}

#[test]
fn a_head_that_is_not_used_is_said() {
    let folder = TempDir::new().expect("a folder");
    let mut config = json!({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
        "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 4,
        "max_position_embeddings": 64, "tie_word_embeddings": true, "hidden_act": "silu"});
    let path = folder.path().display().to_string();
    let args = [
        "generate",
        "--model",
        &path,
        "--device",
        "virtual",
        "-n",
        "2",
        "--temperature",
        "0",
        "--raw",
        "ab",
    ];
    write_folder(folder.path(), &config);
    let run = warpsmith(&args);
    assert_eq!(run.status, 0, "{}", run.err);
    let said = run
        .err
        .lines()
        .filter(|line| line.starts_with("warning: `lm_head.weight` is not used"));
    assert_eq!(said.count(), 1, "{}", run.err);
    config["tie_word_embeddings"] = json!(false);
    write_folder(folder.path(), &config);
    let run = warpsmith(&args);
    assert!(!run.err.contains("lm_head"), "{}", run.err);
    run.ok();
    config["hidden_act"] = json!("gelu");
    write_folder(folder.path(), &config);
    check(&args, &[&path, "config.json: hidden_act is \"gelu\""]);
}
