//! Settings of `config.json`.

use serde_json::{Value, json};
use warpsmith_models::llama::{Biases, Config, Head, RopeScaling};

fn llama() -> Value {
    json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 320,
        "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
        "tie_word_embeddings": false, "bos_token_id": 318, "eos_token_id": 319, "torch_dtype": "float32",
    })
}

fn with(changes: &Value) -> Value {
    let mut config = llama();
    let (Value::Object(config), Value::Object(changes)) = (&mut config, changes) else {
        panic!("objects");
    };
    config.extend(changes.clone());
    Value::Object(config.clone())
}

#[test]
fn settings_that_change_the_output_are_refused_by_name_unless_they_are_neutral() {
    let same = Config::from_json(&llama()).expect("a configuration");
    for (key, wrong, neutral) in [
        (
            "hidden_act",
            json!("gelu"),
            vec![json!("silu"), json!("swish"), Value::Null],
        ),
        ("mlp_bias", json!(true), vec![json!(false)]),
        (
            "partial_rotary_factor",
            json!(0.5),
            vec![json!(1.0), json!(1)],
        ),
        (
            "quantization_config",
            json!({"quant_method": "gptq", "bits": 4}),
            vec![Value::Null],
        ),
        ("quantization", json!({"group_size": 64, "bits": 4}), vec![]),
        (
            "architectures",
            json!(["LlamaForSequenceClassification"]),
            vec![json!(["LLaMAForCausalLM"]), Value::Null],
        ),
        (
            "architectures",
            json!(["LlamaForCausalLM", "Qwen2ForCausalLM"]),
            vec![],
        ),
        ("architectures", json!("LlamaForCausalLM"), vec![]),
        ("model_type", json!("gemma2"), vec![]),
        ("model_type", json!(1), vec![]),
        ("num_local_experts", json!(8), vec![json!(0), Value::Null]),
        ("num_experts", json!(64), vec![]),
        ("n_routed_experts", json!(64), vec![]),
        ("num_experts_per_tok", json!(2), vec![]),
        ("sliding_window", json!(4096), vec![Value::Null]),
        ("use_sliding_window", json!(true), vec![json!(false)]),
        ("use_sliding_window", json!("no"), vec![]),
        (
            "layer_types",
            json!(["full_attention", "sliding_attention"]),
            vec![json!(["full_attention"])],
        ),
        ("no_rope_layers", json!([1, 0]), vec![json!([1, 1])]),
        ("final_logit_softcapping", json!(30.0), vec![Value::Null]),
        ("attn_logit_softcapping", json!(50.0), vec![]),
        ("logit_scale", json!(0.0625), vec![json!(1.0)]),
        ("logits_scaling", json!(8.0), vec![json!(1)]),
        ("residual_multiplier", json!(0.22), vec![json!(1.0)]),
        ("embedding_multiplier", json!(12.0), vec![json!(1.0)]),
        (
            "attention_multiplier",
            json!(0.0078),
            vec![json!(1.0 / 32f64.sqrt())],
        ),
        ("query_pre_attn_scalar", json!(256), vec![json!(32)]),
        ("attn_scale", json!(0.1), vec![]),
        ("rope_interleaved", json!(true), vec![json!(false)]),
        ("is_causal", json!(false), vec![json!(true)]),
        ("is_encoder_decoder", json!(true), vec![json!(false)]),
        ("use_bidirectional_attention", json!(true), vec![]),
        ("use_qk_norm", json!(true), vec![json!(false)]),
        ("qkv_bias", json!(true), vec![json!(false)]),
        ("pruned_heads", json!({"0": [1]}), vec![json!({})]),
        (
            "auto_map",
            json!({"AutoModelForCausalLM": "modeling.Own"}),
            vec![json!({"AutoConfig": "configuration.Own"})],
        ),
        ("use_mrope", json!(true), vec![json!(false)]),
        (
            "attention_bias",
            json!("yes"),
            vec![json!(false), Value::Null],
        ),
        (
            "tie_word_embeddings",
            json!(1),
            vec![json!(false), Value::Null],
        ),
        ("num_hidden_layers", json!(-1), vec![]),
        ("num_hidden_layers", json!("two"), vec![]),
        ("hidden_size", Value::Null, vec![]),
        ("vocab_size", json!(4_294_967_296_u64), vec![]),
        ("rms_norm_eps", json!("1e-5"), vec![]),
        ("a_setting_of_tomorrow", json!(true), vec![Value::Null]),
        // What does not touch the output may be anything.
        ("attention_dropout", json!("x"), vec![json!(0.5), json!(0)]),
        ("pretraining_tp", json!("x"), vec![json!(2)]),
        ("_name_or_path", json!("x"), vec![json!("/a/path")]),
    ] {
        let free = ["attention_dropout", "pretraining_tp", "_name_or_path"].contains(&key);
        let refused = Config::from_json(&with(&json!({ key: wrong })));
        if !free {
            let said = refused.expect_err(key).to_string();
            assert!(
                said.starts_with(&format!("config.json: {key} is ")),
                "{key}: {said}"
            );
        }
        for value in neutral {
            let config = Config::from_json(&with(&json!({ key: value })));
            assert_eq!(config.expect(key), same, "{key} {value}");
        }
    }
}

#[test]
fn a_configuration_that_is_no_object_is_refused() {
    for json in [json!([]), json!(null), json!("llama"), json!(7), json!({})] {
        assert!(Config::from_json(&json).is_err(), "{json}");
    }
}

#[test]
fn rotary_settings_are_read_whole_or_refused() {
    let scaling = |value: Value| {
        let config = Config::from_json(&with(&json!({ "rope_scaling": value })));
        config.map(|config| config.rope_scaling)
    };
    let yarn = |magnitude| RopeScaling::Yarn {
        factor: 4.0,
        original: 64.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        magnitude,
    };
    for (value, want) in [
        (Value::Null, RopeScaling::None),
        (json!({"rope_type": "default"}), RopeScaling::None),
        (
            json!({"type": "linear", "factor": 2.0}),
            RopeScaling::Linear { factor: 2.0 },
        ),
        (
            json!({"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192}),
            RopeScaling::Llama3 {
                factor: 32.0,
                low: 1.0,
                high: 4.0,
                original: 8192.0,
            },
        ),
        (
            json!({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}),
            yarn(1.0 + 0.1 * 4f64.ln()),
        ),
        (
            json!({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.5}),
            yarn(1.5),
        ),
    ] {
        assert_eq!(scaling(value.clone()).expect("known"), want, "{value}");
    }
    for (value, named) in [
        (
            json!({"type": "dynamic", "factor": 2.0}),
            "rope_scaling.rope_type",
        ),
        (
            json!({"rope_type": "longrope", "short_factor": [1.0]}),
            "rope_scaling.rope_type",
        ),
        (json!({"type": 7}), "rope_scaling.rope_type"),
        (json!({"type": "linear"}), "rope_scaling.factor"),
        (
            json!({"type": "linear", "factor": "2"}),
            "rope_scaling.factor",
        ),
        (
            json!({"type": "linear", "factor": -2.0}),
            "rope scaling number -2",
        ),
        (
            json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}),
            "rope_scaling.original_max_position_embeddings",
        ),
        (
            json!({"type": "yarn", "factor": 4.0, "mscale": 0.7}),
            "rope_scaling.mscale",
        ),
        (
            json!({"type": "yarn", "factor": 4.0, "truncate": false}),
            "rope_scaling.truncate",
        ),
        (
            json!({"rope_type": "default", "factor": 2.0}),
            "rope_scaling.factor",
        ),
        (
            json!({"full_attention": {"rope_type": "default"}}),
            "rope_scaling.full_attention",
        ),
        (json!([1]), "`rope_scaling`"),
    ] {
        let said = scaling(value.clone()).expect_err("refused").to_string();
        assert!(said.contains(named), "{value}: {said}");
    }
    // The newer name of it, which has the base too.
    let newer = json!({ "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}, "rope_theta": null });
    let config = Config::from_json(&with(&newer)).expect("known");
    assert_eq!(
        (config.rope_scaling, config.rope_base),
        (RopeScaling::Linear { factor: 2.0 }, 5e5)
    );
    let both =
        json!({ "rope_scaling": null, "rope_parameters": {"rope_type": "linear", "factor": 2.0} });
    let config = Config::from_json(&with(&both)).expect("known");
    assert_eq!(config.rope_scaling, RopeScaling::Linear { factor: 2.0 });
    let contrary = json!({ "rope_scaling": {"type": "linear", "factor": 4.0},
        "rope_parameters": {"rope_type": "linear", "factor": 2.0} });
    let said = Config::from_json(&with(&contrary))
        .expect_err("contrary")
        .to_string();
    assert!(said.contains("rope_parameters"), "{said}");
}

/// Settings as the published models have them.
#[test]
fn configurations_of_published_models_are_accepted() {
    let published = [
        (
            "SmolLM2-135M-Instruct",
            Head::Embedding,
            Biases::None,
            json!({
            "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 1,
            "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
            "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "mlp_bias": false,
            "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
            "pad_token_id": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false,
            "rope_scaling": null, "rope_theta": 100000, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
            "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16", "fp16": "float16"}},
            "transformers_version": "4.42.3", "use_cache": true, "vocab_size": 49152}),
        ),
        (
            "Llama-3.2-1B-Instruct",
            Head::Embedding,
            Biases::None,
            json!({
            "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
            "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "head_dim": 64, "hidden_act": "silu",
            "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
            "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32,
            "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
            "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                "original_max_position_embeddings": 8192, "rope_type": "llama3"},
            "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
            "transformers_version": "4.45.0.dev0", "use_cache": true, "vocab_size": 128256}),
        ),
        (
            "TinyLlama-1.1B",
            Head::Own,
            Biases::None,
            json!({
            "_name_or_path": "/data/tiny_llama", "architectures": ["LlamaForCausalLM"], "bos_token_id": 1,
            "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
            "intermediate_size": 5632, "max_position_embeddings": 2048, "model_type": "llama",
            "num_attention_heads": 32, "num_hidden_layers": 22, "num_key_value_heads": 4, "pad_token_id": 0,
            "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null, "tie_word_embeddings": false,
            "torch_dtype": "float32", "transformers_version": "4.31.0.dev0", "use_cache": true, "vocab_size": 32000}),
        ),
        (
            "Qwen2.5-0.5B-Instruct",
            Head::Embedding,
            Biases::QueryKeyValue,
            json!({
            "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
            "eos_token_id": 151645, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02,
            "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 21,
            "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
            "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true,
            "torch_dtype": "bfloat16", "transformers_version": "4.43.1", "use_cache": true,
            "use_sliding_window": false, "vocab_size": 151936}),
        ),
        (
            "DeepSeek-R1-Distill-Qwen-1.5B",
            Head::Own,
            Biases::QueryKeyValue,
            json!({
            "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
            "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 1536, "initializer_range": 0.02,
            "intermediate_size": 8960, "max_position_embeddings": 131072, "max_window_layers": 21,
            "model_type": "qwen2", "num_attention_heads": 12, "num_hidden_layers": 28, "num_key_value_heads": 2,
            "rms_norm_eps": 1e-06, "rope_theta": 10000, "sliding_window": 4096, "tie_word_embeddings": false,
            "torch_dtype": "bfloat16", "transformers_version": "4.44.0", "use_cache": true, "use_mrope": false,
            "use_sliding_window": false, "vocab_size": 151936}),
        ),
        (
            "Qwen3-0.6B",
            Head::Embedding,
            Biases::None,
            json!({
            "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
            "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu",
            "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
            "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3",
            "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
            "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true,
            "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true,
            "use_sliding_window": false, "vocab_size": 151936}),
        ),
        (
            "Qwen3-0.6B as transformers 5 writes it",
            Head::Embedding,
            Biases::None,
            json!({
            "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
            "bos_token_id": 151643, "dtype": "bfloat16", "eos_token_id": 151645, "head_dim": 128,
            "hidden_act": "silu", "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 3072,
            "layer_types": ["full_attention", "full_attention"], "max_position_embeddings": 40960,
            "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 2,
            "num_key_value_heads": 8, "pad_token_id": null, "rms_norm_eps": 1e-06,
            "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"}, "sliding_window": null,
            "tie_word_embeddings": true, "transformers_version": "5.0.0", "use_cache": true,
            "use_sliding_window": false, "vocab_size": 151936}),
        ),
    ];
    for (name, head, biases, json) in published {
        let config = Config::from_json(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((config.head, config.biases), (head, biases), "{name}");
    }
}
