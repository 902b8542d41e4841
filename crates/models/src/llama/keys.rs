//! The keys of a GGUF file that may change what a Llama-type model computes.

use super::config::Config;
use crate::{
    Error,
    settings::{Fact, Known, Neutral, numbers},
};
use warpsmith_formats::gguf::Metadata;

/// What the configuration is made from, without the architecture in front.
const READ: &[&str] = &[
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_rms_epsilon",
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.type",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "vocab_size",
];

/// How a model was trained, or what else its hidden states are used for. Converters once wrote of every model that its
/// residuals are parallel; those of these architectures never are.
const IDLE: &[&str] = &[
    "pooling_type",
    "rope.scaling.finetuned",
    "use_parallel_residual",
];

/// The layouts of quantised weights are of this version.
const QUANTIZATION_VERSION: f64 = 2.0;

/// Keys that are done only where they change nothing; most are 0 where a converter writes what a model does not have.
fn neutral(config: &Config) -> Vec<(&'static str, Neutral)> {
    let head = f64::from(config.head_dim);
    let none = || numbers(&[0.0]);
    let factor = || numbers(&[0.0, 1.0]);
    vec![
        ("attention.causal", Neutral::Bool(true)),
        ("attention.clamp_kqv", none()),
        ("attention.max_alibi_bias", none()),
        ("attention.relative_buckets_count", none()),
        ("attention.scale", numbers(&[0.0, 1.0 / head.sqrt()])),
        ("attention.shared_kv_layers", none()),
        ("attention.sliding_window", none()),
        ("attention.temperature_length", none()),
        ("attention.temperature_scale", none()),
        ("attention.value_length", numbers(&[head])),
        ("attn_logit_softcapping", none()),
        ("embedding_length_out", numbers(&[config.width.into()])),
        ("embedding_scale", factor()),
        ("expert_chunk_feed_forward_length", none()),
        ("expert_count", none()),
        ("expert_feed_forward_length", none()),
        ("expert_gating_func", none()),
        ("expert_group_count", none()),
        ("expert_group_used_count", none()),
        ("expert_shared_count", none()),
        ("expert_shared_feed_forward_length", none()),
        ("expert_used_count", none()),
        ("expert_weights_norm", Neutral::Bool(false)),
        ("expert_weights_scale", factor()),
        ("final_logit_softcapping", none()),
        ("hidden_activation", Neutral::Texts(&["silu", "swish"])),
        ("leading_dense_block_count", none()),
        ("logit_scale", factor()),
        ("n_deepstack_layers", none()),
        ("nextn_predict_layers", none()),
        ("rescale_every_n_layers", none()),
        ("residual_scale", factor()),
        ("rope.scaling.attn_factor", numbers(&[1.0])),
        ("rope.scaling.yarn_attn_factor", numbers(&[1.0])),
        ("rope.scaling.yarn_ext_factor", numbers(&[1.0])),
        ("rope.scaling.yarn_log_multiplier", none()),
        ("router_logit_softcapping", none()),
        ("swin_norm", Neutral::Bool(false)),
        // How rows of queries and keys lie; every file of this architecture has them so.
        (
            "tensor_data_layout",
            Neutral::Texts(&["Meta AI original pth"]),
        ),
    ]
}

/// Refuses keys whose values the configuration does not express.
///
/// # Errors
/// The key, what it is and what it may be.
pub(super) fn check(metadata: &Metadata, config: &Config) -> Result<(), Error> {
    let known = Known {
        read: READ,
        idle: IDLE,
        neutral: neutral(config),
    };
    let prefix = format!("{}.", config.architecture);
    for (key, value) in metadata.iter() {
        if let Some(name) = key.strip_prefix(&prefix) {
            known.check(name, key, &Fact::of_gguf(value))?;
        }
    }
    let general = Known {
        read: &[],
        idle: &[],
        neutral: vec![
            ("general.type", Neutral::Texts(&["model"])),
            (
                "general.quantization_version",
                numbers(&[QUANTIZATION_VERSION]),
            ),
        ],
    };
    for (key, _) in &general.neutral {
        let found = metadata.value(key).map_or(Fact::Absent, Fact::of_gguf);
        general.check(key, key, &found)?;
    }
    Ok(())
}
