//! Whisper models whose parts do not go together: each refused by the name of the part.

use crate::bytes_of;
use serde_json::{Value, json};
use warpsmith_formats::Error;
use warpsmith_formats::gguf::{self, Value as Meta};
use warpsmith_formats::quant::WeightType;
use warpsmith_formats::whisper::{Dims, WhisperFile};

use crate::whisper_files::{DIMS, model};

/// Three layers on either side.
const LAYERS: Dims = Dims {
    n_audio_layer: 3,
    n_text_layer: 3,
    ..DIMS
};

/// A model as GGUF or as safetensors, with some names changed, taken out or added.
struct File {
    tensors: Vec<(String, Vec<u64>, Vec<u8>)>,
    config: Value,
}

impl File {
    fn new(dims: Dims) -> File {
        let writer = model(dims, WeightType::F32);
        let (bytes, config) = writer.to_safetensors().expect("written");
        let file = WhisperFile::parse(bytes, Some(&config)).expect("sound");
        let tensors = file.tensors().map(|tensor| {
            let data = bytes_of(|out| file.read(tensor, out));
            (tensor.name.clone(), tensor.shape.clone(), data)
        });
        File {
            tensors: tensors.collect(),
            config: serde_json::from_slice(&config).expect("JSON"),
        }
    }

    fn rename(&mut self, from: &str, to: &str) {
        for (name, _, _) in &mut self.tensors {
            *name = name.replace(from, to);
        }
    }

    fn remove(&mut self, part: &str) {
        self.tensors.retain(|(name, _, _)| !name.contains(part));
    }

    fn zeros(&mut self, name: &str, shape: &[u64]) {
        let len = 4 * shape.iter().product::<u64>() as usize;
        self.tensors
            .push((name.to_owned(), shape.to_vec(), vec![0; len]));
    }

    fn gguf(&self) -> Result<WhisperFile, Error> {
        let mut writer = gguf::Writer::new();
        writer.set("general.architecture", Meta::from("whisper"));
        for (name, shape, data) in &self.tensors {
            let dims: Vec<u64> = shape.iter().rev().copied().collect();
            writer.add(name, &dims, WeightType::F32, data.clone());
        }
        WhisperFile::parse(writer.to_bytes().expect("written"), Some(&self.config()))
    }

    fn safetensors(&self) -> Result<WhisperFile, Error> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
        for (name, shape, bytes) in &self.tensors {
            let start = data.len();
            data.extend(bytes);
            let entry =
                json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
            header.insert(name.clone(), entry);
        }
        let header = Value::Object(header).to_string();
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.into_bytes());
        out.extend(data);
        WhisperFile::parse(out, Some(&self.config()))
    }

    fn config(&self) -> Vec<u8> {
        self.config.to_string().into_bytes()
    }
}

/// What is said of a file with a change, in both formats.
fn check(change: &dyn Fn(&mut File), want: [&str; 2]) {
    let mut file = File::new(LAYERS);
    change(&mut file);
    for (read, want) in [file.gguf(), file.safetensors()].into_iter().zip(want) {
        assert_eq!(read.expect_err("refused").to_string(), want);
    }
}

#[test]
fn what_is_sound_is_read() {
    let file = File::new(LAYERS);
    assert_eq!(file.gguf().expect("sound").dims(), &LAYERS);
    assert_eq!(file.safetensors().expect("sound").dims(), &LAYERS);
    // A bias that no softmax sees.
    let mut file = File::new(LAYERS);
    file.zeros("encoder.blocks.1.attn.key.bias", &[4]);
    file.zeros("decoder.blocks.1.cross_attn.key.bias", &[4]);
    assert_eq!(file.gguf().expect("sound").dims(), &LAYERS);
}

#[test]
fn a_gap_in_the_layers_and_layers_past_the_count_are_refused() {
    check(
        &|file| file.remove("encoder.blocks.1."),
        [
            "encoder_layers is 3 in the configuration, and 1 in the weights",
            "the file has no tensor encoder.blocks.1.attn.query.weight",
        ],
    );
    check(
        &|file| {
            file.remove("decoder.blocks.1.");
            file.config["decoder_layers"] = json!(1);
        },
        ["tensor decoder.blocks.2.attn.key.weight would not be used: there are 1 layers on its side, counted from 0, \
          without a gap"; 2],
    );
    check(
        &|file| file.config["decoder_layers"] = json!(2),
        [
            "decoder_layers is 2 in the configuration, and 3 in the weights",
            "tensor decoder.blocks.2.attn.key.weight would not be used: there are 2 layers on its side, counted from \
             0, without a gap",
        ],
    );
    check(
        &|file| file.rename("encoder.blocks.0.", "encoder.blocks.7."),
        [
            "encoder_layers is 3 in the configuration, and 0 in the weights",
            "the file has no tensor encoder.blocks.0.attn.query.weight",
        ],
    );
}

#[test]
fn a_tensor_of_no_part_is_refused() {
    for name in [
        "encoder.blocks.0.attn.query.scale",
        "decoder.blocks.0.mlp.1.weight",
        "encoder.blocks.5.attn.key.bias",
        "encoder.adapter.weight",
        "decoder.ln_extra.bias",
        "classifier.weight",
        "model.encoder.layers.0.fc3.weight",
    ] {
        let mut file = File::new(LAYERS);
        file.zeros(name, &[4]);
        for read in [file.gguf(), file.safetensors()] {
            let error = read.expect_err("refused");
            assert!(
                matches!(error, Error::UnusedTensor { .. }),
                "{name}: {error}"
            );
        }
    }
    // The other formats: a tensor behind the last one, a variable under another name.
    let writer = model(DIMS, WeightType::F32);
    let mut ggml = writer.to_ggml();
    for number in [1u32, 5, 0, 1] {
        ggml.extend(number.to_le_bytes());
    }
    ggml.extend(b"extra");
    ggml.extend([0u8; 4]);
    let error = WhisperFile::parse(ggml, None).expect_err("refused");
    assert!(
        matches!(&error, Error::UnusedTensor { tensor, .. } if tensor == "extra"),
        "{error}"
    );
    let mut ct2 = writer.to_ct2().expect("written");
    let name = b"decoder/layer_0/ffn/linear_0/bias\0";
    let at = ct2
        .windows(name.len())
        .position(|bytes| bytes == name)
        .expect("there");
    ct2[at + 20..][..6].copy_from_slice(b"LINEAR");
    let error = WhisperFile::parse(ct2, None).expect_err("refused");
    assert!(matches!(error, Error::UnusedTensor { .. }), "{error}");
}

#[test]
fn configurations_that_ask_for_something_else_are_refused() {
    for (key, value, want) in [
        (
            "activation_function",
            json!("relu"),
            "activation_function is \"relu\": expected \"gelu\"",
        ),
        (
            "model_type",
            json!("bart"),
            "model_type is \"bart\": expected \"whisper\"",
        ),
        (
            "scale_embedding",
            json!(true),
            "scale_embedding is true: expected false",
        ),
        (
            "is_encoder_decoder",
            json!(false),
            "is_encoder_decoder is false: expected true",
        ),
        (
            "quantization_config",
            json!({"bits": 8}),
            "quantization_config is not supported",
        ),
        (
            "suppress_tokens",
            json!([1, 99]),
            "a token in the list of suppressed ones is 99: expected less than n_vocab",
        ),
    ] {
        check(&|file| file.config[key] = value.clone(), [want; 2]);
    }
    for (key, value, found) in [
        ("num_mel_bins", 80, 3),
        ("max_source_positions", 7, 2),
        ("max_target_positions", 448, 3),
        ("vocab_size", 6, 5),
        ("decoder_ffn_dim", 17, 16),
    ] {
        let mut file = File::new(LAYERS);
        file.config[key] = json!(value);
        let error = file.gguf().expect_err("a contradiction").to_string();
        let want = format!("{key} is {value} in the configuration, and {found} in the weights");
        assert_eq!(error, want);
        assert!(file.safetensors().is_err(), "{key}");
    }
    check(
        &|file| file.config["encoder_attention_heads"] = json!(3),
        ["n_audio_head is 3: expected a divisor of n_audio_state"; 2],
    );
    let mut file = File::new(LAYERS);
    file.config["tie_word_embeddings"] = json!(false);
    let error = file.safetensors().expect_err("no projection");
    assert!(matches!(error, Error::NoTensor { .. }), "{error}");
    // What means openai-whisper's own list, and what is not said.
    let mut file = File::new(LAYERS);
    file.config["suppress_tokens"] = json!([-1, 2]);
    let read = file.safetensors().expect("sound");
    assert_eq!(read.settings().suppress, Some(vec![2]));
    assert!(read.settings().suppress_usual);
    file.config["suppress_tokens"] = json!([2]);
    assert!(!file.safetensors().expect("sound").settings().suppress_usual);
    file.config["suppress_tokens"] = Value::Null;
    assert_eq!(file.safetensors().expect("sound").settings().suppress, None);
}

#[test]
fn a_configuration_that_is_no_object_is_refused() {
    let (bytes, _) = model(DIMS, WeightType::F32)
        .to_safetensors()
        .expect("written");
    for config in [
        "[80, 1500]",
        "[]",
        "null",
        "7",
        "\"gelu\"",
        "{\"d_model\": [4]}",
    ] {
        let read = WhisperFile::parse(bytes.clone(), Some(config.as_bytes()));
        let error = read.expect_err("no configuration");
        assert!(matches!(error, Error::Json { .. }), "{config}: {error}");
    }
}
