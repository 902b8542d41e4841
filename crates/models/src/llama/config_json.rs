//! Hugging Face's `config.json` of a Llama-type model: every setting is read, or refused unless it changes nothing.

use super::{
    config::{Biases, Config, Head, unsupported},
    rope::RopeScaling,
};
use crate::{
    Error,
    settings::{Fact, Known, Neutral, numbers},
};
use serde_json::{Map, Value};
use warpsmith_library::rope::Pairing;

/// What the configuration is made from, or what is looked at beside it.
const READ: &[&str] = &[
    "architectures",
    "attention_bias",
    "auto_map",
    "bos_token_id",
    "eos_token_id",
    "head_dim",
    "hidden_size",
    "intermediate_size",
    "layer_types",
    "max_position_embeddings",
    "model_type",
    "no_rope_layers",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "pad_token_id",
    "pruned_heads",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "sliding_window",
    "tie_word_embeddings",
    "use_sliding_window",
    "vocab_size",
];

/// How a model was trained and saved, what other tasks need, and defaults of samplers, which are set by options here.
/// Settings that begin with an underscore are of that sort too.
const IDLE: &[&str] = &[
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attn_implementation",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "cls_token_id",
    "cross_attention_hidden_size",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "finetuning_task",
    "gradient_checkpointing",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "initializer_range",
    "is_decoder",
    "is_llama_config",
    "keys_to_ignore_at_inference",
    "label2id",
    "length_penalty",
    "license",
    "mask_token_id",
    "max_length",
    "max_new_tokens",
    "max_sequence_length",
    "max_window_layers",
    "min_length",
    "model_max_length",
    "name_or_path",
    "neftune_noise_alpha",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "seq_length",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "use_flash_attention",
    "use_flash_attn",
];

/// Settings that are done only where they change nothing.
fn neutral(config: &Config) -> Vec<(&'static str, Neutral)> {
    let head = f64::from(config.head_dim);
    let none = || numbers(&[0.0]);
    let one = || numbers(&[1.0]);
    let scale = || numbers(&[1.0 / head.sqrt()]);
    let no = || Neutral::Bool(false);
    let activation = || Neutral::Texts(&["silu", "swish"]);
    let normed = || Neutral::Bool(config.norms_heads());
    vec![
        ("add_cross_attention", no()),
        ("alibi", no()),
        ("attention_multiplier", scale()),
        ("attention_scale", scale()),
        ("attn_logit_softcapping", Neutral::Absent),
        ("attn_scale", scale()),
        ("clip_qkv", Neutral::Absent),
        ("compression_config", Neutral::Absent),
        ("embedding_multiplier", one()),
        ("encoder_no_repeat_ngram_size", none()),
        ("final_logit_softcapping", Neutral::Absent),
        ("hidden_act", activation()),
        ("hidden_activation", activation()),
        ("is_causal", Neutral::Bool(true)),
        ("is_encoder_decoder", no()),
        ("logit_scale", one()),
        ("logits_scaling", one()),
        ("mlp_bias", no()),
        ("moe_num_experts", none()),
        ("n_routed_experts", none()),
        ("n_shared_experts", none()),
        ("no_repeat_ngram_size", none()),
        ("num_experts", none()),
        ("num_experts_per_tok", none()),
        ("num_local_experts", none()),
        ("num_nextn_predict_layers", none()),
        ("parallel_attn", no()),
        ("partial_rotary_factor", one()),
        ("qk_layernorm", normed()),
        ("qk_norm", normed()),
        ("qkv_bias", Neutral::Bool(config.architecture == "qwen2")),
        ("quantization", Neutral::Absent),
        ("quantization_config", Neutral::Absent),
        ("query_pre_attn_scalar", numbers(&[head])),
        ("residual_multiplier", one()),
        ("rope_interleaved", no()),
        ("rotary_pct", one()),
        ("scale_embeddings", no()),
        ("use_bidirectional_attention", no()),
        ("use_mrope", no()),
        ("use_parallel_residual", no()),
        ("use_qk_norm", normed()),
    ]
}

/// A kind of model: its name, the class that runs it, and what its configurations leave out.
struct Kind {
    name: &'static str,
    class: &'static str,
    kv_heads: Option<u32>,
    head_dim: Option<u32>,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "llama",
        class: "LlamaForCausalLM",
        kv_heads: None,
        head_dim: None,
    },
    Kind {
        name: "qwen2",
        class: "Qwen2ForCausalLM",
        kv_heads: Some(32),
        head_dim: None,
    },
    Kind {
        name: "qwen3",
        class: "Qwen3ForCausalLM",
        kv_heads: Some(32),
        head_dim: Some(128),
    },
];

/// The fields of a `config.json`.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    /// A field that is there and not null.
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn refuse(&self, key: &str, want: &str) -> Error {
        let found = self.0.get(key).map_or(Fact::Absent, Fact::of_json);
        Error::Setting {
            key: format!("config.json: {key}"),
            found: found.to_string(),
            want: want.to_owned(),
        }
    }

    fn integer(&self, key: &str) -> Result<Option<u32>, Error> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
        let want = "a whole number below 2^32";
        number.map_or_else(|| Err(self.refuse(key, want)), |number| Ok(Some(number)))
    }

    fn required(&self, key: &str) -> Result<u32, Error> {
        self.integer(key)?
            .ok_or_else(|| self.refuse(key, "a whole number below 2^32"))
    }

    fn truth(&self, key: &str) -> Result<bool, Error> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(_) => Err(self.refuse(key, "true or false")),
        }
    }

    fn kind(&self) -> Result<&'static Kind, Error> {
        let name = self.get("model_type").and_then(Value::as_str);
        let kind = KINDS.iter().find(|kind| Some(kind.name) == name);
        let kind =
            kind.ok_or_else(|| self.refuse("model_type", "\"llama\", \"qwen2\" or \"qwen3\""))?;
        let classes = match self.get("architectures") {
            None => return Ok(kind),
            Some(Value::Array(classes)) => classes,
            Some(_) => return Err(self.refuse("architectures", "a list of names")),
        };
        // Early checkpoints spell the first one in its own way.
        let known = |class: &Value| {
            let class = class.as_str();
            class == Some(kind.class) || kind.name == "llama" && class == Some("LLaMAForCausalLM")
        };
        match classes.iter().all(known) {
            true => Ok(kind),
            false => Err(self.refuse("architectures", &format!("[{:?}]", kind.class))),
        }
    }

    /// Settings of several values, and those that others make idle.
    fn check_compound(&self) -> Result<(), Error> {
        if let Some(Value::Object(classes)) = self.get("auto_map")
            && classes.keys().any(|class| class.starts_with("AutoModel"))
        {
            let want = "no model class: one of the folder's own may compute something else";
            return Err(self.refuse("auto_map", want));
        }
        let all = |key: &str, want: &str, good: &dyn Fn(&Value) -> bool| match self.get(key) {
            None => Ok(()),
            Some(Value::Array(values)) if values.iter().all(good) => Ok(()),
            Some(_) => Err(self.refuse(key, want)),
        };
        let full = |value: &Value| value.as_str() == Some("full_attention");
        all("layer_types", "\"full_attention\" in each layer", &full)?;
        let rotated = |value: &Value| value.as_u64() == Some(1);
        all("no_rope_layers", "1 for each layer", &rotated)?;
        match self.get("pruned_heads") {
            None => {}
            Some(Value::Object(heads)) if heads.is_empty() => {}
            Some(_) => return Err(self.refuse("pruned_heads", "none")),
        }
        if self.truth("use_sliding_window")? {
            return Err(self.refuse("use_sliding_window", "false"));
        }
        // Qwen's configurations have a window that this switch turns off.
        let switched = self.get("use_sliding_window").is_some() || self.kind()?.name != "llama";
        if !switched && self.get("sliding_window").is_some() {
            return Err(self.refuse("sliding_window", "no such setting"));
        }
        Ok(())
    }
}

impl Config {
    /// From a Hugging Face `config.json`.
    ///
    /// # Errors
    /// A missing or unusable setting, one that asks for what is not done here, one that is not known: each by name.
    pub fn from_json(json: &Value) -> Result<Config, Error> {
        let Value::Object(map) = json else {
            return Err(unsupported("config.json: expected an object".to_owned()));
        };
        let fields = Fields(map);
        let kind = fields.kind()?;
        let (heads, width, context) = (
            fields.required("num_attention_heads")?,
            fields.required("hidden_size")?,
            fields.required("max_position_embeddings")?,
        );
        let head_dim = match fields.integer("head_dim")?.or(kind.head_dim) {
            Some(head_dim) => head_dim,
            None => Config::shared_width(width, heads)?,
        };
        let scalings = ["rope_scaling", "rope_parameters"]
            .map(|key| fields.get(key).map(|value| (key, value)));
        let scaling = match scalings {
            [None, None] => None,
            [Some(scaling), None] | [None, Some(scaling)] => Some(scaling),
            // Both come where a newer program wrote the older name too.
            [Some(older), Some(newer)] if older.1 == newer.1 => Some(newer),
            [Some(_), Some(_)] => {
                return Err(fields.refuse("rope_scaling", "the same as `rope_parameters`"));
            }
        };
        let rope_scaling = match scaling {
            None => RopeScaling::None,
            Some((key, value)) => RopeScaling::from_json(key, value, context)?,
        };
        let number = |key: &str, value: Option<&Value>, default: f64| match value {
            None => Ok(default),
            Some(value) => value.as_f64().ok_or_else(|| fields.refuse(key, "a number")),
        };
        let inner = scaling.and_then(|(_, value)| value.get("rope_theta"));
        let theta = inner
            .filter(|theta| !theta.is_null())
            .or_else(|| fields.get("rope_theta"));
        let config = Config {
            architecture: kind.name.to_owned(),
            layers: fields.required("num_hidden_layers")?,
            width,
            feed_forward: fields.required("intermediate_size")?,
            heads,
            kv_heads: fields
                .integer("num_key_value_heads")?
                .or(kind.kv_heads)
                .unwrap_or(heads),
            head_dim,
            vocab: fields.required("vocab_size")?,
            context,
            eps: number("rms_norm_eps", fields.get("rms_norm_eps"), 1e-6)? as f32,
            rope_base: number("rope_theta", theta, 10_000.0)?,
            rope_dims: head_dim,
            pairing: Pairing::Halves,
            rope_scaling,
            head: match fields.truth("tie_word_embeddings")? {
                true => Head::Embedding,
                false => Head::Own,
            },
            biases: match (kind.name, fields.truth("attention_bias")?) {
                ("qwen2", _) => Biases::QueryKeyValue,
                (_, true) => Biases::All,
                (_, false) => Biases::None,
            },
        };
        config.validate()?;
        fields.check_compound()?;
        let known = Known {
            read: READ,
            idle: IDLE,
            neutral: neutral(&config),
        };
        for (key, value) in map.iter().filter(|(key, _)| !key.starts_with('_')) {
            known.check(key, &format!("config.json: {key}"), &Fact::of_json(value))?;
        }
        Ok(config)
    }
}
