//! Tensors of GGUF files.

use crate::remade::{File, refusal};

#[test]
fn a_tensor_that_no_layer_uses_is_refused_by_name() {
    for (name, dims) in [
        ("blk.0.ffn_up.bias", &[512][..]),
        ("blk.1.ffn_down.bias", &[256]),
        ("blk.0.ffn_gate.bias", &[512]),
        ("output.bias", &[1000]),
        ("blk.0.post_attention_norm.weight", &[256]),
        ("blk.0.post_ffw_norm.weight", &[256]),
        ("token_embd_norm.weight", &[256]),
        ("token_embd.bias", &[256]),
        ("output_norm.bias", &[256]),
        ("blk.0.attn_norm.bias", &[256]),
        ("blk.0.ffn_gate_inp.weight", &[256, 8]),
        ("blk.0.ffn_gate_exps.weight", &[256, 512, 2]),
        ("blk.0.attn_q_norm.weight", &[64]),
        ("blk.0.attn_sinks.weight", &[4]),
        ("blk.0.attn_q.weight.scale", &[1]),
        ("position_embd.weight", &[256, 2048]),
        ("blk.2.attn_norm.weight", &[256]),
        ("blk.00.attn_norm.weight", &[256]),
        ("a name of nothing", &[1]),
    ] {
        let said = refusal("tiny-llama3", |file| file.zeros(name, dims));
        assert!(
            said.starts_with(&format!("tensor `{name}` would not be used: ")),
            "{said}"
        );
    }
    // The output of an attention has no bias in a qwen2 model.
    let said = refusal("tiny-qwen2", |file| {
        file.zeros("blk.0.attn_output.bias", &[256])
    });
    assert!(
        said.starts_with("tensor `blk.0.attn_output.bias`"),
        "{said}"
    );
    // Frequencies that follow from the configuration change nothing.
    let mut file = File::of("tiny-llama3");
    file.zeros("blk.0.attn_rot_embd.weight", &[32]);
    file.load().expect("a model");
}

#[test]
fn a_part_that_is_not_there_is_never_made_up() {
    for name in [
        "token_embd.weight",
        "output_norm.weight",
        "blk.0.attn_norm.weight",
        "blk.1.ffn_norm.weight",
        "blk.0.attn_q.weight",
        "blk.1.attn_output.weight",
        "blk.2.ffn_down.weight",
        "blk.0.attn_q.bias",
        "blk.1.attn_k.bias",
        "blk.2.attn_v.bias",
    ] {
        let said = refusal("tiny-qwen2", |file| drop(file.take(name)));
        let want = format!("the file has no tensor `{name}`, which the model needs");
        assert_eq!(said, want);
    }
}

#[test]
fn biases_are_those_of_every_layer_or_of_none() {
    let parts = [("q", 256), ("k", 128), ("v", 128), ("output", 256)];
    let biased = |file: &mut File, left_out: &str| {
        for layer in 0..2 {
            for (part, len) in parts {
                let name = format!("blk.{layer}.attn_{part}.bias");
                if name != left_out && !(left_out == "output" && part == "output") {
                    file.zeros(&name, &[len]);
                }
            }
        }
    };
    for whole in ["", "output"] {
        let mut file = File::of("tiny-llama3");
        biased(&mut file, whole);
        file.load().expect("a model with biases");
    }
    for name in [
        "blk.0.attn_q.bias",
        "blk.1.attn_v.bias",
        "blk.1.attn_output.bias",
    ] {
        let said = refusal("tiny-llama3", |file| biased(file, name));
        let want = format!("the file has no tensor `{name}`, which the model needs");
        assert_eq!(said, want);
    }
}
