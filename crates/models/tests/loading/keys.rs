//! Keys of GGUF files.

use crate::remade::{File, refusal};
use warpsmith_formats::gguf::{Gguf, Metadata, Value};
use warpsmith_models::{
    llama::{Config, RopeScaling},
    tokenizer::Tokenizer,
};

/// A key with a value that would change the output is refused by its name; with the neutral one the model is the same.
fn check(key: &str, wrong: Value, neutral: &[Value]) {
    let said = refusal("tiny-llama3", |file| file.set(key, wrong.clone()));
    assert!(said.starts_with(&format!("{key} is ")), "{key}: {said}");
    let same = config(&File::of("tiny-llama3"), true);
    for value in neutral {
        let mut file = File::of("tiny-llama3");
        file.set(key, value.clone());
        assert_eq!(config(&file, true), same, "{key} {value:?}");
    }
}

fn config(file: &File, factors: bool) -> Config {
    let metadata = Metadata::from_pairs(file.pairs.clone()).expect("each key once");
    Config::from_gguf(&metadata, factors).expect("a configuration")
}

#[test]
fn keys_that_change_the_output_are_refused_unless_they_are_neutral() {
    let f = Value::F32;
    let u = Value::U32;
    for (key, wrong, neutral) in [
        ("expert_count", u(8), vec![u(0)]),
        ("expert_used_count", u(2), vec![u(0)]),
        ("expert_shared_count", u(1), vec![u(0)]),
        ("leading_dense_block_count", u(1), vec![u(0)]),
        (
            "attention.sliding_window",
            u(128),
            vec![u(0), Value::I64(0)],
        ),
        ("attn_logit_softcapping", f(50.0), vec![f(0.0)]),
        ("final_logit_softcapping", f(3.0), vec![f(0.0)]),
        ("router_logit_softcapping", f(3.0), vec![f(0.0)]),
        ("logit_scale", f(0.5), vec![f(0.0), f(1.0)]),
        ("residual_scale", f(0.22), vec![f(0.0), f(1.0)]),
        ("embedding_scale", f(12.0), vec![f(0.0), f(1.0)]),
        (
            "attention.scale",
            f(0.5),
            vec![f(0.0), f(0.125), Value::F64(0.125)],
        ),
        ("attention.clamp_kqv", f(8.0), vec![f(0.0)]),
        ("attention.max_alibi_bias", f(8.0), vec![f(0.0)]),
        ("attention.value_length", u(32), vec![u(64)]),
        ("attention.temperature_length", u(8192), vec![u(0)]),
        (
            "attention.causal",
            Value::Bool(false),
            vec![Value::Bool(true)],
        ),
        (
            "hidden_activation",
            Value::from("gelu"),
            vec![Value::from("silu")],
        ),
        (
            "tensor_data_layout",
            Value::from("other"),
            vec![Value::from("Meta AI original pth")],
        ),
        ("rope.scaling.attn_factor", f(0.5), vec![f(1.0)]),
        ("rope.scaling.yarn_ext_factor", f(0.5), vec![f(1.0)]),
        ("rope.scaling.yarn_log_multiplier", f(0.1), vec![f(0.0)]),
        ("nextn_predict_layers", u(1), vec![u(0)]),
        ("swin_norm", Value::Bool(true), vec![Value::Bool(false)]),
        // A value of another type is no neutral one, and a list is none either.
        ("expert_count", Value::Bool(false), vec![]),
        (
            "attention.sliding_window",
            Value::from(vec![0i32, 128]),
            vec![Value::from(Vec::<i32>::new())],
        ),
        // Keys that nobody has heard of.
        (
            "rope.dimension_sections",
            Value::from(vec![1i32; 4]),
            vec![],
        ),
        ("full_attention_interval", u(4), vec![]),
        ("attention.layer_norm_epsilon", f(1e-5), vec![]),
        ("nonsense", Value::from("text"), vec![]),
    ] {
        check(&format!("llama.{key}"), wrong, &neutral);
    }
    check(
        "general.type",
        Value::from("adapter"),
        &[Value::from("model")],
    );
    check("general.quantization_version", u(1), &[u(2)]);
    // What other programs note, and what other architectures' keys say, is nothing to this one.
    let mut file = File::of("tiny-llama3");
    let same = config(&file, true);
    file.set("quantize.imatrix.entries_count", u(7));
    file.set("qwen2.expert_count", u(7));
    file.set("llama.rope.scaling.finetuned", Value::Bool(true));
    file.set("llama.use_parallel_residual", Value::Bool(true));
    file.set("general.sampling.temp", f(0.7));
    assert_eq!(config(&file, true), same);
}

#[test]
fn sizes_that_do_not_go_together_are_refused_with_both_numbers() {
    for (key, value, want) in [
        (
            "attention.head_count",
            3,
            "unsupported: 3 heads over a width of 256, expected a divisor of it",
        ),
        (
            "attention.head_count_kv",
            3,
            "unsupported: 4 heads over 3 key heads, expected a multiple",
        ),
        (
            "vocab_size",
            999,
            "tensor `token_embd.weight` is [1000, 256], expected [999, 256] (slowest dimension first)",
        ),
        (
            "feed_forward_length",
            256,
            "tensor `blk.0.ffn_gate.weight` is [512, 256], expected [256, 256] (slowest dimension first)",
        ),
        (
            "block_count",
            3,
            "the file has no tensor `blk.2.attn_norm.weight`, which the model needs",
        ),
        (
            "block_count",
            1,
            "tensor `blk.1.attn_norm.weight` would not be used: the model has 1 layers, counted from 0",
        ),
    ] {
        let key = format!("llama.{key}");
        let said = refusal("tiny-llama3", |file| file.set(&key, Value::U32(value)));
        assert_eq!(said, want, "{key} {value}");
    }
}

#[test]
fn the_older_key_of_linear_stretching_is_the_newer_one() {
    let stretched = |set: &[(&str, Value)]| {
        let mut file = File::of("tiny-llama2spm");
        for (key, value) in set {
            file.set(&format!("llama.rope.{key}"), value.clone());
        }
        let config = config(&file, false);
        file.load().expect("a model");
        config.rope_scaling
    };
    let four = RopeScaling::Linear { factor: 4.0 };
    let linear = || Value::from("linear");
    for set in [
        vec![("scale_linear", Value::F32(4.0))],
        vec![("scaling.factor", Value::F32(4.0))],
        vec![
            ("scaling.type", linear()),
            ("scaling.factor", Value::F32(4.0)),
        ],
        vec![
            ("scaling.type", linear()),
            ("scale_linear", Value::F32(4.0)),
        ],
    ] {
        assert_eq!(stretched(&set), four, "{set:?}");
    }
    for set in [
        vec![("scale_linear", Value::F32(1.0))],
        vec![("scaling.factor", Value::F32(0.0))],
        vec![
            ("scaling.type", Value::from("none")),
            ("scaling.factor", Value::F32(4.0)),
        ],
    ] {
        assert_eq!(stretched(&set), RopeScaling::None, "{set:?}");
    }
    for (key, value, want) in [
        (
            "scaling.type",
            Value::from("longrope"),
            "llama.rope.scaling.type is \"longrope\", which is not supported: expected \"none\", \"linear\" or \"yarn\"",
        ),
        (
            "scaling.type",
            Value::from("yarn"),
            "metadata key llama.rope.scaling.original_context_length is missing: expected a value of type u32",
        ),
        (
            "scaling.factor",
            Value::F32(f32::NAN),
            "unsupported: rope scaling number NaN, expected a positive number",
        ),
    ] {
        let said = refusal("tiny-llama2spm", |file| {
            file.set(&format!("llama.rope.{key}"), value);
        });
        assert_eq!(said, want);
    }
    let said = refusal("tiny-llama3", |file| {
        file.set("llama.rope.scaling.factor", Value::F32(4.0));
    });
    assert_eq!(
        said,
        "unsupported: rotary factors of the file's own beside Linear { factor: 4.0 }"
    );
}

#[test]
fn tokenizer_keys_that_change_how_text_is_cut_are_refused() {
    let tokenizer = |name: &str, key: &str, value: Value| {
        let mut file = File::of(name);
        file.set(&format!("tokenizer.ggml.{key}"), value);
        let gguf = Gguf::parse(file.to_bytes()).expect("a sound file");
        Tokenizer::from_gguf(gguf.metadata())
    };
    for (key, wrong, neutral) in [
        ("add_sep_token", Value::Bool(true), Value::Bool(false)),
        (
            "remove_extra_whitespaces",
            Value::Bool(true),
            Value::Bool(false),
        ),
        (
            "precompiled_charsmap",
            Value::from(vec![1i32]),
            Value::from(Vec::<i32>::new()),
        ),
        (
            "suppress_tokens",
            Value::from(vec![1i32]),
            Value::from(Vec::<i32>::new()),
        ),
        ("fim_pre_token_id", Value::U32(1000), Value::U32(999)),
        ("padding_token_id", Value::U32(u32::MAX), Value::U32(0)),
        ("add_space_prefix", Value::Bool(true), Value::Bool(false)),
    ] {
        tokenizer("tiny-llama3", key, neutral).expect("a neutral value");
        let said = tokenizer("tiny-llama3", key, wrong)
            .expect_err("refused")
            .to_string();
        assert!(
            said.starts_with(&format!("tokenizer.ggml.{key} is ")),
            "{said}"
        );
    }
    let said = tokenizer("tiny-llama3", "normalizer.lowercase", Value::Bool(true))
        .expect_err("nobody knows it")
        .to_string();
    assert!(
        said.starts_with("tokenizer.ggml.normalizer.lowercase is true"),
        "{said}"
    );
    let mut file = File::of("tiny-llama3");
    file.pairs.retain(|(key, _)| key != "tokenizer.ggml.pre");
    let metadata = Metadata::from_pairs(file.pairs).expect("each key once");
    let said = Tokenizer::from_gguf(&metadata)
        .expect_err("made up")
        .to_string();
    assert_eq!(
        said,
        "the tokenizer lacks tokenizer.ggml.pre, which says where text is cut into words"
    );
}
