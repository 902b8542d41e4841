//! Whisper models in each format: the same tensors under the same names.

use std::path::Path;

use crate::bytes_of;
use warpsmith_formats::Error;
use warpsmith_formats::quant::{WeightType, check_finite, random_blocks};
use warpsmith_formats::whisper::{Dims, Format, MelFilters, WhisperFile, Writer};

/// More text layers than audio layers would tell them apart; so does an odd vocabulary.
pub(crate) const DIMS: Dims = Dims {
    n_mels: 3,
    n_audio_ctx: 2,
    n_audio_state: 4,
    n_audio_head: 2,
    n_audio_layer: 2,
    n_text_ctx: 3,
    n_text_state: 4,
    n_text_head: 1,
    n_text_layer: 1,
    n_vocab: 5,
};

/// A model of random weights, matrices of `dtype`.
pub(crate) fn model(dims: Dims, dtype: WeightType) -> Writer {
    let mut seed = 0;
    let mut writer = Writer::new(dims, |_, shape| {
        seed += 1;
        let row = *shape.last().expect("has dimensions");
        let plain = shape.len() != 2 || !row.is_multiple_of(dtype.block_len() as u64);
        let dtype = if plain { WeightType::F32 } else { dtype };
        let elements: u64 = shape.iter().product();
        let blocks = elements as usize / dtype.block_len();
        (dtype, random_blocks(dtype, seed, blocks))
    })
    .expect("sound");
    writer.tokens = [&b"a"[..], b"\xff", b" the"].map(<[u8]>::to_vec).to_vec();
    writer.mel_filters = MelFilters {
        n_mels: dims.n_mels,
        n_freqs: 2,
        values: (0..dims.n_mels * 2).map(|i| i as f32).collect(),
    };
    writer
}

fn tensors(file: &WhisperFile) -> Vec<(String, Vec<u64>, WeightType, Vec<u8>)> {
    file.tensors()
        .map(|t| {
            (
                t.name.clone(),
                t.shape.clone(),
                t.dtype,
                bytes_of(|out| file.read(t, out)),
            )
        })
        .collect()
}

#[test]
fn each_format_gives_the_same_tensors() {
    let writer = model(DIMS, WeightType::F16);
    let ggml = WhisperFile::parse(writer.to_ggml(), None).expect("ggml");
    assert_eq!((ggml.format(), ggml.dims()), (Format::Ggml, &DIMS));
    let want = tensors(&ggml);
    // 11 outside layers, 15 for each encoder layer, 24 for each decoder layer.
    assert_eq!(want.len(), 11 + 2 * 15 + 24);

    let ct2 = WhisperFile::parse(writer.to_ct2().expect("written"), None).expect("CTranslate2");
    assert_eq!((ct2.format(), ct2.dims()), (Format::CTranslate2, &DIMS));
    assert_eq!(tensors(&ct2), want);

    let (bytes, config) = writer.to_safetensors().expect("written");
    let safetensors = WhisperFile::parse(bytes, Some(&config)).expect("safetensors");
    assert_eq!(safetensors.dims(), &DIMS);
    assert_eq!(tensors(&safetensors), want);
}

#[test]
fn what_a_ggml_file_carries_is_given() {
    let writer = model(DIMS, WeightType::F32);
    let file = WhisperFile::parse(writer.to_ggml(), None).expect("sound");
    assert_eq!(file.settings().tokens.as_ref(), Some(&writer.tokens));
    assert_eq!(
        file.settings().mel_filters.as_ref(),
        Some(&writer.mel_filters)
    );
    assert_eq!(file.settings().tokenizer_json, None);
}

#[test]
fn quantised_matrices_keep_their_blocks() {
    let dims = Dims {
        n_audio_state: 32,
        n_text_state: 32,
        ..DIMS
    };
    for dtype in [
        WeightType::Q4_0,
        WeightType::Q5_0,
        WeightType::Q5_1,
        WeightType::Q8_0,
    ] {
        let file = WhisperFile::parse(model(dims, dtype).to_ggml(), None).expect("sound");
        let query = file.tensor("decoder.blocks.0.cross_attn.query.weight");
        let query = query.expect("in every model");
        assert_eq!((query.dtype, &query.shape[..]), (dtype, &[32, 32][..]));
        let data = bytes_of(|out| file.read(query, out));
        assert_eq!(data.len(), 32 * dtype.block_bytes());
        check_finite(&query.name, query.dtype, &data).expect("finite");
    }
}

#[test]
fn a_name_that_no_model_has_is_an_error() {
    let file = WhisperFile::parse(model(DIMS, WeightType::F16).to_ggml(), None).expect("sound");
    let error = file.tensor("encoder.blocks.2.mlp.0.weight");
    let error = error.expect_err("two layers only");
    assert!(matches!(error, Error::NoTensor { .. }), "{error}");
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn a_folder_is_read_with_what_lies_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let error = WhisperFile::open(folder.path()).expect_err("empty");
    assert!(matches!(error, Error::EmptyFolder { .. }), "{error}");

    let writer = model(DIMS, WeightType::F16);
    write(&at("model.bin"), &writer.to_ct2().expect("written"));
    write(
        &at("config.json"),
        br#"{"alignment_heads":[[0,1],[2,3]],"suppress_ids":[3,4],"lang_ids":[1]}"#,
    );
    write(&at("vocabulary.txt"), "a\n\u{120}b\n<|en|>\n".as_bytes());
    let file = WhisperFile::open(folder.path()).expect("sound");
    assert_eq!(file.dims(), &DIMS);
    assert_eq!(file.settings().alignment_heads, Some(vec![[0, 1], [2, 3]]));
    assert_eq!(file.settings().suppress, Some(vec![3, 4]));
    let tokens = [&b"a"[..], b" b", b"<|en|>"].map(<[u8]>::to_vec);
    assert_eq!(file.settings().tokens, Some(tokens.to_vec()));

    write(&at("tokenizer.json"), b"{}");
    let file = WhisperFile::open(&at("model.bin")).expect("sound");
    assert_eq!(file.settings().tokenizer_json, Some(b"{}".to_vec()));
    assert_eq!(file.settings().tokens, None);

    write(&at("config.json"), b"{");
    let error = WhisperFile::open(folder.path()).expect_err("no JSON");
    assert!(matches!(error, Error::InFile { .. }), "{error}");
}

#[test]
fn safetensors_take_generation_settings_and_shards() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (bytes, config) = model(DIMS, WeightType::BF16)
        .to_safetensors()
        .expect("written");
    write(&at("a.safetensors"), &bytes);
    write(&at("config.json"), &config);
    write(
        &at("generation_config.json"),
        br#"{"alignment_heads":[[0,0]],"suppress_tokens":[3]}"#,
    );
    let one = WhisperFile::open(&at("a.safetensors")).expect("sound");
    let names: serde_json::Map<String, serde_json::Value> = one
        .tensors()
        .map(|t| (t.name.clone(), "a.safetensors".into()))
        .collect();
    let index = serde_json::json!({ "weight_map": names }).to_string();
    write(&at("model.safetensors.index.json"), index.as_bytes());
    let sharded = WhisperFile::open(folder.path()).expect("sound");
    assert_eq!(tensors(&sharded), tensors(&one));
    assert_eq!(sharded.settings().alignment_heads, Some(vec![[0, 0]]));
    assert_eq!(sharded.settings().suppress, Some(vec![3]));
}

/// A pipe, a folder or a link to nothing in the place of a file is an error, as the model may be another without it.
#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_a_file_is_not_passed_over() {
    let (bytes, config) = model(DIMS, WeightType::F16)
        .to_safetensors()
        .expect("written");
    for name in [
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "vocabulary.txt",
        "model.bin",
    ] {
        for kind in ["folder", "link", "pipe"] {
            let folder = tempfile::tempdir().expect("a folder");
            let at = |name: &str| folder.path().join(name);
            write(&at("model.safetensors"), &bytes);
            write(&at("config.json"), &config);
            WhisperFile::open(folder.path()).expect("sound");
            if name == "config.json" {
                std::fs::remove_file(at(name)).expect("removed");
            }
            match kind {
                "folder" => std::fs::create_dir(at(name)).expect("made"),
                "link" => std::os::unix::fs::symlink("nowhere", at(name)).expect("made"),
                _ => {
                    let made = std::process::Command::new("mkfifo").arg(at(name)).status();
                    assert!(made.expect("mkfifo").success());
                }
            }
            let error = WhisperFile::open(folder.path())
                .expect_err(kind)
                .to_string();
            let named = error.contains(&at(name).display().to_string());
            assert!(named, "{kind} {name}: {error}");
        }
    }
}

/// Hugging Face's name of what OpenAI calls `name`, for the parts that these tests rename.
fn theirs(name: &str) -> String {
    let renamed = [
        ("blocks", "layers"),
        ("cross_attn.", "encoder_attn."),
        ("mlp.0", "fc1"),
        ("mlp.2", "fc2"),
        ("mlp_ln", "final_layer_norm"),
        ("token_embedding", "embed_tokens"),
        ("positional_embedding", "embed_positions.weight"),
    ];
    renamed
        .iter()
        .fold(format!("model.{name}"), |name, (a, b)| name.replace(a, b))
        .replace("cross_attn_ln", "encoder_attn_layer_norm")
        .replace(".attn_ln", ".self_attn_layer_norm")
        .replace(".attn.", ".self_attn.")
        .replace("query", "q_proj")
        .replace("key", "k_proj")
        .replace("value", "v_proj")
        .replace("attn.out", "attn.out_proj")
        .replace("ln_post", "layer_norm")
        .replace("decoder.ln.", "decoder.layer_norm.")
}

#[test]
fn gguf_files_of_either_names_are_read() {
    let plain = WhisperFile::parse(model(DIMS, WeightType::F16).to_ggml(), None).expect("sound");
    let config = br#"{"encoder_attention_heads":2,"decoder_attention_heads":1}"#;
    for rename in [str::to_owned as fn(&str) -> String, theirs] {
        let mut writer = warpsmith_formats::gguf::Writer::new();
        for tensor in plain.tensors() {
            let dims: Vec<u64> = tensor.shape.iter().rev().copied().collect();
            let name = rename(&tensor.name);
            writer.add(
                &name,
                &dims,
                tensor.dtype,
                bytes_of(|out| plain.read(tensor, out)),
            );
        }
        let bytes = writer.to_bytes().expect("written");
        let file = WhisperFile::parse(bytes.clone(), Some(config)).expect("sound");
        assert_eq!((file.format(), file.dims()), (Format::Gguf, &DIMS));
        assert_eq!(tensors(&file), tensors(&plain));
        // Without a configuration heads are of 64, and this width has none.
        let error = WhisperFile::parse(bytes, None).expect_err("how many heads");
        assert!(matches!(error, Error::Field { .. }), "{error}");
    }
}

#[test]
fn an_output_projection_has_to_be_the_embedding() {
    let plain = WhisperFile::parse(model(DIMS, WeightType::F16).to_ggml(), None).expect("sound");
    let embedding = plain.tensor("decoder.token_embedding.weight");
    let embedding = embedding.expect("in every model");
    let with_head = |head: Vec<u8>| {
        let mut writer = warpsmith_formats::gguf::Writer::new();
        for tensor in plain.tensors() {
            let dims: Vec<u64> = tensor.shape.iter().rev().copied().collect();
            writer.add(
                &tensor.name,
                &dims,
                tensor.dtype,
                bytes_of(|out| plain.read(tensor, out)),
            );
        }
        writer.add("proj_out.weight", &[4, 5], WeightType::F16, head);
        let config = br#"{"encoder_attention_heads":2,"decoder_attention_heads":1}"#;
        WhisperFile::parse(writer.to_bytes().expect("written"), Some(config))
    };
    let mut head = bytes_of(|out| plain.read(embedding, out));
    assert_eq!(
        tensors(&with_head(head.clone()).expect("tied")),
        tensors(&plain)
    );
    head[7] ^= 1;
    let error = with_head(head).expect_err("another matrix");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}
