//! Three files that gguf-py wrote: every key counted, chosen keys and tensors by value.

use std::collections::BTreeMap;

use warpsmith_formats::gguf::Gguf;
use warpsmith_formats::quant::WeightType::{self, *};
use warpsmith_formats::quant::check_finite;

use crate::{bytes_of, reference};

struct Expected {
    file: &'static str,
    architecture: &'static str,
    keys: usize,
    data_start: u64,
    tokens: (usize, &'static str),
    types: &'static [(WeightType, usize)],
    /// Name, dimensions, type, offset in the data section.
    tensors: &'static [(&'static str, &'static [u64], WeightType, u64)],
}

fn check(want: &Expected) -> Gguf {
    let path = reference("synth").join(want.file);
    let file = Gguf::open(&path).expect("a sound file");
    assert_eq!(file.version(), 3);
    let metadata = file.metadata();
    assert_eq!(metadata.len(), want.keys);
    assert_eq!(
        metadata.iter().next().map(|(key, _)| key),
        Some("general.architecture")
    );
    assert_eq!(
        metadata.str("general.architecture").expect("there"),
        want.architecture
    );
    let tokens = metadata.strings("tokenizer.ggml.tokens").expect("there");
    assert_eq!(
        (tokens.len(), tokens[tokens.len() - 1].as_str()),
        want.tokens
    );
    let kinds = metadata.i32s("tokenizer.ggml.token_type").expect("there");
    assert_eq!(kinds.len(), tokens.len());

    let mut types = BTreeMap::new();
    for tensor in file.tensors() {
        *types.entry(tensor.dtype).or_insert(0) += 1;
        let data = bytes_of(|out| file.read(tensor, out));
        assert_eq!(data.len() as u64, tensor.bytes);
        assert_eq!(tensor.rows() * tensor.row_len(), tensor.elements());
        check_finite(&tensor.name, tensor.dtype, &data).expect("finite weights");
    }
    assert_eq!(types, want.types.iter().copied().collect());
    for (name, dims, dtype, offset) in want.tensors {
        let tensor = file.tensor(name).expect("listed");
        assert_eq!(
            (tensor.dims.as_slice(), tensor.dtype),
            (*dims, *dtype),
            "{name}"
        );
        assert_eq!(tensor.offset, want.data_start + offset, "{name}");
        assert_eq!(
            Some(tensor.bytes),
            dtype.bytes_of(dims.iter().product()),
            "{name}"
        );
    }
    let names: Vec<&str> = file.tensors().iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names[0], want.tensors[0].0);
    assert_eq!(names.last(), want.tensors.last().map(|t| &t.0));
    file
}

#[test]
fn tiny_llama2spm_reads_as_it_was_written() {
    let file = check(&Expected {
        file: "tiny-llama2spm.gguf",
        architecture: "llama",
        keys: 24,
        data_start: 20992,
        tokens: (900, "Z"),
        types: &[
            (F32, 7),
            (F16, 2),
            (Q4_0, 4),
            (Q4_1, 2),
            (Q5_0, 1),
            (Q5_1, 1),
            (Q8_0, 3),
            (IQ4NL, 1),
        ],
        tensors: &[
            ("token_embd.weight", &[128, 900], F16, 0),
            ("blk.0.attn_q.weight", &[128, 128], Q4_0, 231424),
            ("blk.1.ffn_down.weight", &[352, 128], Q4_1, 557824),
            ("output.weight", &[128, 900], F32, 586496),
        ],
    });
    let scores = file
        .metadata()
        .f32s("tokenizer.ggml.scores")
        .expect("there");
    assert_eq!(scores[898..], [-639.0, -640.0]);
    assert_eq!(file.metadata().f32("llama.rope.freq_base").ok(), Some(1e4));
    assert_eq!(
        file.metadata().bool("tokenizer.ggml.add_eos_token").ok(),
        Some(false)
    );
}

#[test]
fn tiny_llama3_reads_as_it_was_written() {
    let file = check(&Expected {
        file: "tiny-llama3.gguf",
        architecture: "llama",
        keys: 21,
        data_start: 28288,
        tokens: (1000, "<|eot_id|>"),
        types: &[(F32, 6), (Q8_0, 1), (Q4K, 7), (Q5K, 3), (Q6K, 4)],
        tensors: &[
            ("token_embd.weight", &[256, 1000], Q8_0, 0),
            ("blk.0.attn_q.weight", &[256, 256], Q4K, 274048),
            ("blk.1.ffn_down.weight", &[512, 256], Q4K, 974464),
            ("rope_freqs.weight", &[32], F32, 1049216),
        ],
    });
    let merges = file
        .metadata()
        .strings("tokenizer.ggml.merges")
        .expect("there");
    assert_eq!((merges.len(), merges[738].as_str()), (739, "Ġ V"));
    assert_eq!(
        file.metadata().u64("llama.attention.head_count_kv").ok(),
        Some(2)
    );
}

#[test]
fn tiny_qwen2_reads_as_it_was_written() {
    let file = check(&Expected {
        file: "tiny-qwen2.gguf",
        architecture: "qwen2",
        keys: 21,
        data_start: 29504,
        tokens: (1000, "<|im_end|>"),
        types: &[
            (F32, 16),
            (F16, 1),
            (BF16, 1),
            (Q4_0, 1),
            (Q4_1, 1),
            (Q5_0, 1),
            (Q5_1, 1),
            (Q8_0, 1),
            (Q2K, 1),
            (Q3K, 1),
            (Q4K, 4),
            (Q5K, 3),
            (Q6K, 4),
            (IQ4NL, 1),
            (IQ4XS, 1),
            (MXFP4, 1),
        ],
        tensors: &[
            ("token_embd.weight", &[256, 1000], Q6K, 0),
            ("blk.0.attn_q.weight", &[256, 256], Q4K, 212064),
            ("blk.2.attn_v.bias", &[64], F32, 1378144),
            ("output.weight", &[256, 1000], Q6K, 1379424),
        ],
    });
    let template = file
        .metadata()
        .str("tokenizer.chat_template")
        .expect("there");
    assert!(template.starts_with("{% for message in messages %}"));
}
