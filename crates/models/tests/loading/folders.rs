//! Folders with safetensors: the output head, biases, tokens, buffers of older programs.

use crate::remade::device;
use serde_json::{Map, Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;
use warpsmith_models::{
    Error,
    llama::{Bundle, Warning, warnings},
};

const WIDTH: u64 = 32;
const VOCAB: u64 = 8;

/// A model of one layer in a folder.
struct Folder {
    config: Value,
    /// Names and shapes; each tensor is filled with its number in the list.
    tensors: Vec<(String, Vec<u64>, f32)>,
}

impl Folder {
    fn new() -> Folder {
        let mut folder = Folder {
            config: json!({
                "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH,
                "intermediate_size": 2 * WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
                "num_key_value_heads": 1, "vocab_size": VOCAB, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
                "tie_word_embeddings": false, "bos_token_id": 0, "eos_token_id": 7,
            }),
            tensors: Vec::new(),
        };
        folder.add("model.embed_tokens.weight", &[VOCAB, WIDTH]);
        folder.add("model.norm.weight", &[WIDTH]);
        folder.add("lm_head.weight", &[VOCAB, WIDTH]);
        for (part, shape) in [
            ("input_layernorm", &[WIDTH][..]),
            ("post_attention_layernorm", &[WIDTH]),
            ("self_attn.q_proj", &[WIDTH, WIDTH]),
            ("self_attn.k_proj", &[WIDTH / 2, WIDTH]),
            ("self_attn.v_proj", &[WIDTH / 2, WIDTH]),
            ("self_attn.o_proj", &[WIDTH, WIDTH]),
            ("mlp.gate_proj", &[2 * WIDTH, WIDTH]),
            ("mlp.up_proj", &[2 * WIDTH, WIDTH]),
            ("mlp.down_proj", &[WIDTH, 2 * WIDTH]),
        ] {
            folder.add(&format!("model.layers.0.{part}.weight"), shape);
        }
        folder
    }

    fn add(&mut self, name: &str, shape: &[u64]) {
        let value = 0.01 * (self.tensors.len() + 1) as f32;
        self.tensors.push((name.to_owned(), shape.to_vec(), value));
    }

    fn remove(&mut self, name: &str) {
        self.tensors.retain(|(known, _, _)| known != name);
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.config[key] = value.into();
    }

    fn write(&self, folder: &Path) {
        let (mut header, mut data) = (Map::new(), Vec::new());
        for (name, shape, value) in &self.tensors {
            let start = data.len();
            let len: u64 = shape.iter().product();
            (0..len).for_each(|_| data.extend(value.to_le_bytes()));
            let offsets = [start, data.len()];
            header.insert(
                name.clone(),
                json!({ "dtype": "F32", "shape": shape, "data_offsets": offsets }),
            );
        }
        let header = Value::Object(header).to_string();
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.into_bytes());
        out.extend(data);
        let vocab: Map<String, Value> = "abcdefgh"
            .chars()
            .zip(0..)
            .map(|(c, id)| (c.to_string(), json!(id)))
            .collect();
        let tokenizer = json!({ "version": "1.0", "added_tokens": [],
            "model": { "type": "BPE", "vocab": vocab, "merges": [] } });
        fs::write(folder.join("model.safetensors"), out).expect("a file");
        fs::write(folder.join("config.json"), self.config.to_string()).expect("a file");
        fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("a file");
    }

    fn load_with(&self, more: &[(&str, Value)]) -> Result<Bundle, Error> {
        let folder = TempDir::new().expect("a folder");
        self.write(folder.path());
        for (name, json) in more {
            fs::write(folder.path().join(name), json.to_string()).expect("a file");
        }
        Bundle::load(&device(), folder.path(), &mut |_, _| {})
    }

    fn load(&self) -> Result<Bundle, Error> {
        self.load_with(&[])
    }

    /// What is said of it without loading it.
    fn warnings(&self) -> Vec<Warning> {
        let folder = TempDir::new().expect("a folder");
        self.write(folder.path());
        let file = folder.path().join("model.safetensors");
        let said = warnings(folder.path()).expect("readable");
        assert_eq!(warnings(&file).expect("readable"), said);
        said
    }

    fn refusal(&self) -> String {
        self.load().expect_err("a refusal").to_string()
    }
}

fn changed(change: impl FnOnce(&mut Folder)) -> Folder {
    let mut folder = Folder::new();
    change(&mut folder);
    folder
}

#[test]
fn the_output_head_is_what_the_configuration_says() {
    Folder::new().load().expect("a head of its own");
    let said = changed(|folder| folder.remove("lm_head.weight")).refusal();
    assert_eq!(
        said,
        "the file has no tensor `lm_head.weight`, which the model needs"
    );
    let tied = changed(|folder| {
        folder.set("tie_word_embeddings", true);
        folder.remove("lm_head.weight");
    });
    let bundle = tied.load().expect("a tied head");
    assert_eq!(bundle.model.warnings(), []);
    assert_eq!(tied.warnings(), []);
    let same = changed(|folder| {
        folder.set("tie_word_embeddings", true);
        folder.tensors[2].2 = folder.tensors[0].2;
    });
    assert_eq!(same.warnings(), []);
    let same = same.load().expect("a tied head, written twice");
    assert_eq!(same.model.warnings(), []);
    assert_eq!(same.model.bytes(), bundle.model.bytes());
    let differs = changed(|folder| folder.set("tie_word_embeddings", true));
    let said = differs.warnings();
    let differs = differs.load().expect("a tied head");
    let want = Warning::HeadUnused {
        head: "lm_head.weight".into(),
        embedding: "model.embed_tokens.weight".into(),
    };
    assert_eq!(differs.model.warnings(), [want]);
    assert_eq!(said, differs.model.warnings());
    // Of a model that is not run here nothing is followed.
    let other = changed(|folder| {
        folder.set("tie_word_embeddings", true);
        folder.set("model_type", "mamba");
    });
    assert_eq!(other.warnings(), []);
    assert_eq!(differs.model.bytes(), bundle.model.bytes());
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_named_and_a_link_to_a_file_is_that_file() {
    use std::{os::unix::fs::symlink, process::Command};
    let refused = |make: &dyn Fn(&Path)| {
        let folder = TempDir::new().expect("a folder");
        Folder::new().write(folder.path());
        make(folder.path());
        let refused = Bundle::load(&device(), folder.path(), &mut |_, _| {});
        refused.expect_err("a refusal").to_string()
    };
    let names = [
        "config.json",
        "tokenizer.json",
        "generation_config.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "model.safetensors",
        "model.safetensors.index.json",
    ];
    for name in names {
        let said = refused(&|folder| {
            let _ = fs::remove_file(folder.join(name));
            symlink("blobs/nothing", folder.join(name)).expect("a link");
        });
        let want = format!("{name}: is a link to blobs/nothing, which is not there");
        assert!(said.ends_with(&want), "{said}");
        for kind in ["folder", "link to a folder", "pipe"] {
            let said = refused(&|folder| {
                let path = folder.join(name);
                let _ = fs::remove_file(&path);
                match kind {
                    "folder" => fs::create_dir(&path).expect("a folder"),
                    "pipe" => {
                        let made = Command::new("mkfifo").arg(&path).status();
                        assert!(made.expect("mkfifo").success());
                    }
                    _ => symlink(".", &path).expect("a link"),
                }
            });
            let want = format!("{name}: expected a regular file");
            assert!(said.ends_with(&want), "{kind}: {said}");
        }
    }
    // A shard that an index lists.
    let said = refused(&|folder| {
        let index =
            json!({ "weight_map": { "model.norm.weight": "model-00001-of-00001.safetensors" } });
        let file = folder.join("model.safetensors.index.json");
        fs::write(file, index.to_string()).expect("a file");
        let shard = folder.join("model-00001-of-00001.safetensors");
        symlink("../blobs/nothing", shard).expect("a link");
    });
    let want =
        "model-00001-of-00001.safetensors: is a link to ../blobs/nothing, which is not there";
    assert!(said.ends_with(want), "{said}");
    // As the cache of a hub has them.
    let folder = TempDir::new().expect("a folder");
    let blobs = TempDir::new().expect("a folder");
    Folder::new().write(blobs.path());
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        symlink(blobs.path().join(name), folder.path().join(name)).expect("a link");
    }
    Bundle::load(&device(), folder.path(), &mut |_, _| {}).expect("a model");
}

#[test]
fn biases_are_what_the_configuration_says() {
    let all = [
        ("q", WIDTH),
        ("k", WIDTH / 2),
        ("v", WIDTH / 2),
        ("o", WIDTH),
    ];
    let name = |part: &str| format!("model.layers.0.self_attn.{part}_proj.bias");
    let biased = |parts: &[(&str, u64)], says: bool| {
        changed(|folder| {
            folder.set("attention_bias", says);
            parts
                .iter()
                .for_each(|(part, len)| folder.add(&name(part), &[*len]));
        })
    };
    biased(&all, true).load().expect("four biases");
    biased(&[], false).load().expect("no biases");
    for (left, _) in all {
        let parts: Vec<_> = all.into_iter().filter(|(part, _)| *part != left).collect();
        let want = format!(
            "the file has no tensor `{}`, which the model needs",
            name(left)
        );
        assert_eq!(biased(&parts, true).refusal(), want);
    }
    let said = biased(&all[..1], false).refusal();
    assert!(
        said.starts_with(&format!("tensor `{}` would not be used", name("q"))),
        "{said}"
    );
}

#[test]
fn tensors_of_no_part_are_refused_and_buffers_of_frequencies_are_not() {
    for name in [
        "model.layers.0.mlp.up_proj.bias",
        "model.layers.1.input_layernorm.weight",
        "model.layers.0.self_attn.q_norm.weight",
        "model.layers.0.block_sparse_moe.gate.weight",
        "model.layers.0.self_attn.q_proj.qweight",
        "model.layers.0.self_attn.q_proj.weight_scale",
        "model.layers.1.self_attn.rotary_emb.inv_freq",
        "model.norm.bias",
        "lm_head.bias",
        "score.weight",
        "vision_tower.weight",
    ] {
        let said = changed(|folder| folder.add(name, &[WIDTH])).refusal();
        assert!(
            said.starts_with(&format!("tensor `{name}` would not be used")),
            "{said}"
        );
    }
    let older = changed(|folder| {
        folder.add("model.layers.0.self_attn.rotary_emb.inv_freq", &[WIDTH / 4]);
        folder.add("model.rotary_emb.inv_freq", &[WIDTH / 4]);
    });
    older.load().expect("a model");
}

#[test]
fn tokens_and_sizes_are_compared_with_the_vocabulary() {
    for (key, value, want) in [
        (
            "eos_token_id",
            json!(8),
            "config.json: eos_token_id is 8, expected a token, less than 8",
        ),
        (
            "bos_token_id",
            json!(9),
            "config.json: bos_token_id is 9, expected a token, less than 8",
        ),
        (
            "pad_token_id",
            json!([8]),
            "config.json: pad_token_id is 8, expected a token, less than 8",
        ),
        (
            "vocab_size",
            json!(9),
            "tensor `model.embed_tokens.weight` is [8, 32], expected [9, 32] (slowest dimension first)",
        ),
        (
            "num_attention_heads",
            json!(3),
            "unsupported: 3 heads over a width of 32, expected a divisor of it",
        ),
        (
            "num_hidden_layers",
            json!(2),
            "the file has no tensor `model.layers.1.input_layernorm.weight`, which the model needs",
        ),
    ] {
        let said = changed(|folder| folder.set(key, value)).refusal();
        assert_eq!(said, want, "{key}");
    }
    let said = changed(|folder| {
        folder.set("vocab_size", 7);
        folder.set("eos_token_id", 6);
    });
    assert_eq!(
        said.refusal(),
        "unsupported: a tokenizer of 8 tokens for a model of 7"
    );
    // The tokens that end a text are those of both files.
    let generation = ("generation_config.json", json!({ "eos_token_id": [3, 5] }));
    let bundle = Folder::new().load_with(&[generation]).expect("a model");
    assert_eq!(bundle.tokenizer.end_of_generation(), [3, 5, 7]);
    for name in [
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
    ] {
        let said = Folder::new()
            .load_with(&[(name, json!([7]))])
            .expect_err("a list")
            .to_string();
        assert!(
            said.ends_with(&format!("{name}: expected an object")),
            "{said}"
        );
    }
    let generation = ("generation_config.json", json!({ "eos_token_id": [3, 50] }));
    let said = Folder::new()
        .load_with(&[generation])
        .expect_err("50 is none")
        .to_string();
    assert_eq!(
        said,
        "generation_config.json: eos_token_id is 50, expected a token, less than 8"
    );
}
