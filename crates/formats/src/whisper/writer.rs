//! Writing Whisper models in each format, for synthetic models and tests.

use std::collections::BTreeMap;

use super::{Dims, MelFilters, names};
use crate::Error;
use crate::quant::WeightType;

/// A model to be written: sizes, and every tensor by OpenAI's name.
#[derive(Clone, Debug)]
pub struct Writer {
    dims: Dims,
    tensors: BTreeMap<String, Tensor>,
    /// The tokens of a ggml file.
    pub tokens: Vec<Vec<u8>>,
    /// The mel filters of a ggml file.
    pub mel_filters: MelFilters,
}

#[derive(Clone, Debug)]
struct Tensor {
    shape: Vec<u64>,
    dtype: WeightType,
    data: Vec<u8>,
}

impl Writer {
    /// A model whose tensors `fill` gives, from a name and a shape, slowest dimension first.
    ///
    /// # Errors
    /// Sizes that no model has, and [`Error::Length`] for bytes that are not what the shape asks for.
    pub fn new(
        dims: Dims,
        mut fill: impl FnMut(&str, &[u64]) -> (WeightType, Vec<u8>),
    ) -> Result<Writer, Error> {
        dims.check()?;
        let mut tensors = BTreeMap::new();
        for (name, shape) in names::all(&dims) {
            let (dtype, data) = fill(&name, &shape);
            let fastest_first: Vec<u64> = shape.iter().rev().copied().collect();
            let want = crate::gguf::tensor_bytes(&name, &fastest_first, dtype)?;
            if want != data.len() as u64 {
                return Err(Error::Length {
                    what: format!("data of tensor {name}"),
                    want,
                    found: data.len() as u64,
                });
            }
            let tensor = Tensor { shape, dtype, data };
            tensors.insert(name, tensor);
        }
        Ok(Writer {
            dims,
            tensors,
            tokens: Vec::new(),
            mel_filters: MelFilters {
                n_mels: dims.n_mels,
                n_freqs: 0,
                values: Vec::new(),
            },
        })
    }

    /// The file of whisper.cpp.
    pub fn to_ggml(&self) -> Vec<u8> {
        let mut out = super::ggml::MAGIC.to_vec();
        for (_, size) in self.dims.fields() {
            out.extend(size.to_le_bytes());
        }
        // The type of the file is for people; the version of its layouts is not.
        out.extend(2001u32.to_le_bytes());
        out.extend(self.mel_filters.n_mels.to_le_bytes());
        out.extend(self.mel_filters.n_freqs.to_le_bytes());
        out.extend(self.mel_filters.values.iter().flat_map(|v| v.to_le_bytes()));
        out.extend((self.tokens.len() as u32).to_le_bytes());
        for token in &self.tokens {
            out.extend((token.len() as u32).to_le_bytes());
            out.extend(token);
        }
        for (name, tensor) in &self.tensors {
            let mut dims: Vec<u64> = tensor.shape.iter().rev().copied().collect();
            if name.contains(".conv") && dims.len() == 1 {
                dims.insert(0, 1);
            }
            out.extend((dims.len() as u32).to_le_bytes());
            out.extend((name.len() as u32).to_le_bytes());
            out.extend(tensor.dtype.ggml_id().to_le_bytes());
            out.extend(dims.iter().flat_map(|&dim| (dim as u32).to_le_bytes()));
            out.extend(name.as_bytes());
            out.extend(&tensor.data);
        }
        out
    }

    /// The `model.bin` of CTranslate2; biases of keys are zero.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for types that it does not have.
    pub fn to_ct2(&self) -> Result<Vec<u8>, Error> {
        let mut variables: BTreeMap<String, (Vec<u64>, u8, Vec<u8>)> = BTreeMap::new();
        let scalar = |kind: u8, data: &[u8]| (Vec::new(), kind, data.to_vec());
        let heads = [
            ("encoder", self.dims.n_audio_head),
            ("decoder", self.dims.n_text_head),
        ];
        for (side, heads) in heads {
            let heads = i16::try_from(heads).map_err(|_| Error::Unsupported {
                what: format!("{heads} heads in CTranslate2's format"),
            })?;
            variables.insert(format!("{side}/num_heads"), scalar(2, &heads.to_le_bytes()));
        }
        variables.insert("decoder/activation".to_owned(), scalar(1, &[3]));
        variables.insert("decoder/pre_norm".to_owned(), scalar(1, &[1]));
        for (name, tensor) in &self.tensors {
            let kind = match tensor.dtype {
                WeightType::F32 => 0,
                WeightType::F16 => 4,
                WeightType::BF16 => 5,
                other => {
                    return Err(Error::Unsupported {
                        what: format!("{other} in CTranslate2's format"),
                    });
                }
            };
            let theirs = ct2_name(name);
            let entry =
                variables
                    .entry(theirs.clone())
                    .or_insert((tensor.shape.clone(), kind, Vec::new()));
            // In order of names key comes before query: rows are put in place by the part.
            let at = match part_of(name) {
                Some("key") if !name.contains("cross") => 1,
                Some("value") => 2 - usize::from(name.contains("cross")),
                Some(_) | None => 0,
            };
            let rows = stacked(&theirs);
            entry.0[0] = tensor.shape[0] * rows;
            entry.2.resize(tensor.data.len() * rows as usize, 0);
            entry.2[at * tensor.data.len()..][..tensor.data.len()].copy_from_slice(&tensor.data);
        }
        let mut out = 6u32.to_le_bytes().to_vec();
        string("WhisperSpec", &mut out);
        out.extend(3u32.to_le_bytes());
        out.extend((variables.len() as u32).to_le_bytes());
        for (name, (shape, kind, data)) in &variables {
            string(name, &mut out);
            out.push(shape.len() as u8);
            out.extend(shape.iter().flat_map(|&dim| (dim as u32).to_le_bytes()));
            out.push(*kind);
            out.extend((data.len() as u32).to_le_bytes());
            out.extend(data);
        }
        out.extend(1u32.to_le_bytes());
        string("decoder/projection/weight", &mut out);
        string("decoder/embeddings/weight", &mut out);
        Ok(out)
    }

    /// A safetensors file under OpenAI's names, and its `config.json`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for types that it does not have.
    pub fn to_safetensors(&self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let mut header = serde_json::Map::new();
        let mut data: Vec<u8> = Vec::new();
        for (name, tensor) in &self.tensors {
            let dtype = match tensor.dtype {
                plain @ (WeightType::F32 | WeightType::F16 | WeightType::BF16) => plain.name(),
                other => {
                    return Err(Error::Unsupported {
                        what: format!("{other} in safetensors"),
                    });
                }
            };
            let start = data.len();
            data.extend(&tensor.data);
            let entry = serde_json::json!({
                "dtype": dtype, "shape": tensor.shape, "data_offsets": [start, data.len()],
            });
            header.insert(name.clone(), entry);
        }
        let header = serde_json::Value::Object(header).to_string();
        let mut out = (header.len() as u64).to_le_bytes().to_vec();
        out.extend(header.as_bytes());
        out.extend(data);
        let dims = &self.dims;
        let config = serde_json::json!({
            "model_type": "whisper",
            "activation_function": "gelu",
            "num_mel_bins": dims.n_mels,
            "max_source_positions": dims.n_audio_ctx,
            "d_model": dims.n_audio_state,
            "encoder_attention_heads": dims.n_audio_head,
            "encoder_layers": dims.n_audio_layer,
            "max_target_positions": dims.n_text_ctx,
            "decoder_attention_heads": dims.n_text_head,
            "decoder_layers": dims.n_text_layer,
            "vocab_size": dims.n_vocab,
        });
        Ok((out, config.to_string().into_bytes()))
    }
}

/// `key` of `decoder.blocks.0.attn.key.weight`.
fn part_of(name: &str) -> Option<&str> {
    name.rsplit('.').nth(1)
}

/// How many matrices a variable of CTranslate2 stacks.
fn stacked(theirs: &str) -> u64 {
    if theirs.contains("self_attention/linear_0") {
        3
    } else if theirs.contains("/attention/linear_1") {
        2
    } else {
        1
    }
}

/// CTranslate2's name of the variable that holds what OpenAI calls `name`.
fn ct2_name(name: &str) -> String {
    let (side, rest) = name.split_once('.').expect("names have a side");
    let (stem, kind) = rest.rsplit_once('.').unwrap_or((rest, ""));
    let norm = if kind == "weight" { "gamma" } else { "beta" };
    match stem {
        "positional_embedding" => return format!("{side}/position_encodings/encodings"),
        "token_embedding" => return format!("{side}/embeddings/weight"),
        "ln" | "ln_post" => return format!("{side}/layer_norm/{norm}"),
        "conv1" | "conv2" => return format!("{side}/{stem}/{kind}"),
        _ => {}
    }
    let (layer, part) = stem
        .strip_prefix("blocks.")
        .and_then(|rest| rest.split_once('.'))
        .expect("the rest are layers");
    let theirs = match part {
        "attn_ln" => return format!("{side}/layer_{layer}/self_attention/layer_norm/{norm}"),
        "cross_attn_ln" => return format!("{side}/layer_{layer}/attention/layer_norm/{norm}"),
        "mlp_ln" => return format!("{side}/layer_{layer}/ffn/layer_norm/{norm}"),
        "attn.out" => "self_attention/linear_1",
        "cross_attn.query" => "attention/linear_0",
        "cross_attn.key" | "cross_attn.value" => "attention/linear_1",
        "cross_attn.out" => "attention/linear_2",
        "mlp.0" => "ffn/linear_0",
        "mlp.2" => "ffn/linear_1",
        // query, key and value of the self-attention
        _ => "self_attention/linear_0",
    };
    format!("{side}/layer_{layer}/{theirs}/{kind}")
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u16 + 1).to_le_bytes());
    out.extend(text.as_bytes());
    out.push(0);
}
