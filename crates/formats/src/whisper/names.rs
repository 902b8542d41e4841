//! The tensors of a Whisper model, by OpenAI's names.

use super::Dims;

/// Every tensor of a model of these sizes with its shape, slowest dimension first.
pub(super) fn all(dims: &Dims) -> Vec<(String, Vec<u64>)> {
    let d = u64::from(dims.n_audio_state);
    let mut list = Vec::new();
    let mut add = |name: String, shape: &[u64]| list.push((name, shape.to_vec()));
    add(
        "encoder.conv1.weight".into(),
        &[d, u64::from(dims.n_mels), 3],
    );
    add("encoder.conv1.bias".into(), &[d]);
    add("encoder.conv2.weight".into(), &[d, d, 3]);
    add("encoder.conv2.bias".into(), &[d]);
    add(
        "encoder.positional_embedding".into(),
        &[dims.n_audio_ctx.into(), d],
    );
    add("encoder.ln_post.weight".into(), &[d]);
    add("encoder.ln_post.bias".into(), &[d]);
    add(
        "decoder.token_embedding.weight".into(),
        &[dims.n_vocab.into(), d],
    );
    add(
        "decoder.positional_embedding".into(),
        &[dims.n_text_ctx.into(), d],
    );
    add("decoder.ln.weight".into(), &[d]);
    add("decoder.ln.bias".into(), &[d]);
    for (side, layers, attentions) in [
        ("encoder", dims.n_audio_layer, &["attn"][..]),
        ("decoder", dims.n_text_layer, &["attn", "cross_attn"][..]),
    ] {
        for layer in 0..layers {
            let block = format!("{side}.blocks.{layer}");
            for attention in attentions {
                for (part, biased) in [
                    ("query", true),
                    ("key", false),
                    ("value", true),
                    ("out", true),
                ] {
                    add(format!("{block}.{attention}.{part}.weight"), &[d, d]);
                    if biased {
                        add(format!("{block}.{attention}.{part}.bias"), &[d]);
                    }
                }
                add(format!("{block}.{attention}_ln.weight"), &[d]);
                add(format!("{block}.{attention}_ln.bias"), &[d]);
            }
            add(format!("{block}.mlp.0.weight"), &[4 * d, d]);
            add(format!("{block}.mlp.0.bias"), &[4 * d]);
            add(format!("{block}.mlp.2.weight"), &[d, 4 * d]);
            add(format!("{block}.mlp.2.bias"), &[d]);
            add(format!("{block}.mlp_ln.weight"), &[d]);
            add(format!("{block}.mlp_ln.bias"), &[d]);
        }
    }
    list
}
