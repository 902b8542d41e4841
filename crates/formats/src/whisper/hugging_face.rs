//! Hugging Face's names of Whisper's tensors, in OpenAI's.

/// OpenAI's name of the tensor that Hugging Face, or OpenAI, calls `name`.
pub(super) fn canonical(name: &str) -> Option<String> {
    let name = name.strip_prefix("model.").unwrap_or(name);
    let (side, rest) = name.split_once('.')?;
    if !matches!(side, "encoder" | "decoder") {
        return None;
    }
    if let Some(rest) = rest.strip_prefix("layers.") {
        let (layer, part) = rest.split_once('.')?;
        let layer: u32 = layer.parse().ok()?;
        return Some(format!("{side}.blocks.{layer}.{}", of_layer(part)?));
    }
    let ours = match (side, rest) {
        (_, "embed_positions.weight") => "positional_embedding",
        ("encoder", "layer_norm.weight") => "ln_post.weight",
        ("encoder", "layer_norm.bias") => "ln_post.bias",
        ("decoder", "layer_norm.weight") => "ln.weight",
        ("decoder", "layer_norm.bias") => "ln.bias",
        ("decoder", "embed_tokens.weight") => "token_embedding.weight",
        // conv1, conv2, and all of OpenAI's names
        (_, same) => same,
    };
    Some(format!("{side}.{ours}"))
}

/// Whether `name` is the output projection.
pub(super) fn is_head(name: &str) -> bool {
    matches!(name, "proj_out.weight" | "model.proj_out.weight")
}

/// A layer's part, without its layer.
fn of_layer(part: &str) -> Option<String> {
    let (stem, kind) = part.rsplit_once('.')?;
    let stem = match stem {
        "self_attn_layer_norm" => "attn_ln".to_owned(),
        "encoder_attn_layer_norm" => "cross_attn_ln".to_owned(),
        "final_layer_norm" => "mlp_ln".to_owned(),
        "fc1" => "mlp.0".to_owned(),
        "fc2" => "mlp.2".to_owned(),
        projection => {
            let (attention, projection) = projection.split_once('.')?;
            let attention = match attention {
                "self_attn" => "attn",
                "encoder_attn" => "cross_attn",
                _ => return None,
            };
            let projection = match projection {
                "q_proj" => "query",
                "k_proj" => "key",
                "v_proj" => "value",
                "out_proj" => "out",
                _ => return None,
            };
            format!("{attention}.{projection}")
        }
    };
    Some(format!("{stem}.{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_translated() {
        for (theirs, ours) in [
            ("model.encoder.conv1.weight", Some("encoder.conv1.weight")),
            (
                "encoder.embed_positions.weight",
                Some("encoder.positional_embedding"),
            ),
            (
                "model.encoder.layer_norm.bias",
                Some("encoder.ln_post.bias"),
            ),
            ("model.decoder.layer_norm.weight", Some("decoder.ln.weight")),
            (
                "model.decoder.embed_tokens.weight",
                Some("decoder.token_embedding.weight"),
            ),
            (
                "model.decoder.layers.3.encoder_attn.q_proj.bias",
                Some("decoder.blocks.3.cross_attn.query.bias"),
            ),
            (
                "model.decoder.layers.0.encoder_attn_layer_norm.bias",
                Some("decoder.blocks.0.cross_attn_ln.bias"),
            ),
            (
                "model.encoder.layers.11.fc2.weight",
                Some("encoder.blocks.11.mlp.2.weight"),
            ),
            (
                "encoder.blocks.1.attn.out.bias",
                Some("encoder.blocks.1.attn.out.bias"),
            ),
            ("model.encoder.layers.x.fc2.weight", None),
            ("model.encoder.layers.0.fc3", None),
            ("proj_out.weight", None),
            ("", None),
        ] {
            assert_eq!(canonical(theirs).as_deref(), ours, "{theirs}");
        }
    }
}
