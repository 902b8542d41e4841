//! Sources: where a model's tensors come from, by the part they play.

use crate::Error;
use std::path::Path;
use warpsmith_formats::{
    gguf::{self, Gguf},
    quant::{WeightType, check_finite, dequantize},
    safetensors::{self, Safetensors},
};

/// Bytes that are compared at a time.
const PIECE: u64 = 1 << 20;

/// A part of a Llama-type model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Token embedding `[vocab, width]`.
    Embedding,
    /// Output head `[vocab, width]`; absent where it is the embedding.
    Head,
    /// Gain of the last norm.
    FinalNorm,
    /// Rotary frequency factors.
    RopeFactors,
    /// A part of a layer.
    Layer(u32, LayerPart),
}

/// A part of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LayerPart {
    AttentionNorm,
    Query,
    Key,
    Value,
    Output,
    QueryBias,
    KeyBias,
    ValueBias,
    OutputBias,
    QueryNorm,
    KeyNorm,
    FeedForwardNorm,
    Gate,
    Up,
    Down,
}

/// A tensor of a file: its type and shape, slowest dimension first, and where it is.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// Name in the file.
    pub name: String,
    /// Type.
    pub ty: WeightType,
    /// Dimensions, slowest first.
    pub shape: Vec<u64>,
    /// The number of bytes.
    pub bytes: u64,
    place: Place<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Gguf(&'a Gguf, &'a gguf::TensorInfo),
    Safetensors(&'a Safetensors, &'a safetensors::TensorInfo),
}

impl Place<'_> {
    /// Puts `len` bytes from `at` on into `out`, in place of what is there.
    fn read(&self, at: u64, len: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        Ok(match *self {
            Place::Gguf(file, info) => {
                let (offset, bytes) = (info.offset + at, len);
                let part = gguf::TensorInfo {
                    offset,
                    bytes,
                    ..info.clone()
                };
                file.read(&part, out)
            }
            Place::Safetensors(file, info) => {
                let (offset, bytes) = (info.offset + at, len);
                let part = safetensors::TensorInfo {
                    offset,
                    bytes,
                    ..info.clone()
                };
                file.read(&part, out)
            }
        }?)
    }
}

impl Tensor<'_> {
    /// Puts its bytes into `out`, in place of what is there, and checks that its numbers are finite.
    ///
    /// # Errors
    /// A file that became shorter, by its name; non-finite weights, by tensor and index.
    pub fn read(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        self.place.read(0, self.bytes, out)?;
        Ok(check_finite(&self.name, self.ty, out)?)
    }

    /// Whether another one has the same type, shape and bytes; reads both as far as to the first difference.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn is_same(&self, other: &Tensor<'_>) -> Result<bool, Error> {
        if (self.ty, &self.shape, self.bytes) != (other.ty, &other.shape, other.bytes) {
            return Ok(false);
        }
        let (mut mine, mut others) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < self.bytes {
            let len = PIECE.min(self.bytes - at);
            self.place.read(at, len, &mut mine)?;
            other.place.read(at, len, &mut others)?;
            if mine != others {
                return Ok(false);
            }
            at += len;
        }
        Ok(true)
    }

    /// Its values as f32.
    ///
    /// # Errors
    /// As [`Tensor::read`].
    pub fn floats(&self) -> Result<Vec<f32>, Error> {
        let mut bytes = Vec::new();
        self.read(&mut bytes)?;
        let len: u64 = self.shape.iter().product();
        let mut values = vec![0.0; len as usize];
        dequantize(self.ty, &bytes, &mut values)?;
        Ok(values)
    }
}

/// A file or folder with weights.
pub enum Source {
    /// GGUF.
    Gguf(Gguf),
    /// Safetensors with a `config.json`.
    Safetensors(Safetensors),
}

impl Source {
    /// Opens a GGUF file, a safetensors file, or a folder with `config.json` and safetensors.
    ///
    /// # Errors
    /// What the format says of it.
    pub fn open(path: &Path) -> Result<Source, Error> {
        let is_safetensors = path.is_dir()
            || path
                .extension()
                .is_some_and(|e| e == "safetensors" || e == "json");
        Ok(if is_safetensors {
            Source::Safetensors(Safetensors::open(path)?)
        } else {
            Source::Gguf(Gguf::open(path)?)
        })
    }

    /// The names of all tensors, in the order of the file.
    pub(super) fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Source::Gguf(gguf) => Box::new(gguf.tensors().iter().map(|info| info.name.as_str())),
            Source::Safetensors(file) => {
                Box::new(file.tensors().iter().map(|info| info.name.as_str()))
            }
        }
    }

    /// What a part is called in such a file; parts that this kind of file does not have are called nothing.
    pub(super) fn name(&self, part: Part) -> Option<String> {
        match self {
            Source::Gguf(_) => Some(gguf_name(part)),
            Source::Safetensors(_) => hf_name(part),
        }
    }

    /// The error for a part that is not there.
    pub(super) fn missing(&self, part: Part) -> Error {
        Error::MissingTensor {
            name: self.name(part).unwrap_or_else(|| format!("{part:?}")),
        }
    }

    /// The tensor of a part, if the file has it.
    pub fn tensor(&self, part: Part) -> Option<Tensor<'_>> {
        let name = self.name(part)?;
        Some(match self {
            Source::Gguf(file) => {
                let info = file.tensor(&name)?;
                Tensor {
                    name,
                    ty: info.dtype,
                    shape: info.dims.iter().rev().copied().collect(),
                    bytes: info.bytes,
                    place: Place::Gguf(file, info),
                }
            }
            Source::Safetensors(file) => {
                let info = file.tensor(&name)?;
                Tensor {
                    name,
                    ty: info.dtype,
                    shape: info.shape.clone(),
                    bytes: info.bytes,
                    place: Place::Safetensors(file, info),
                }
            }
        })
    }

    /// Checks that nobody wrote to the files since they were opened.
    ///
    /// # Errors
    /// A file whose length or time is another one, by its name.
    pub(super) fn check_unchanged(&self) -> Result<(), Error> {
        Ok(match self {
            Source::Gguf(file) => file.check_unchanged(),
            Source::Safetensors(file) => file.check_unchanged(),
        }?)
    }
}

fn gguf_name(part: Part) -> String {
    let (layer, part) = match part {
        Part::Embedding => return "token_embd.weight".into(),
        Part::Head => return "output.weight".into(),
        Part::FinalNorm => return "output_norm.weight".into(),
        Part::RopeFactors => return "rope_freqs.weight".into(),
        Part::Layer(layer, part) => (layer, part),
    };
    let name = match part {
        LayerPart::AttentionNorm => "attn_norm.weight",
        LayerPart::Query => "attn_q.weight",
        LayerPart::Key => "attn_k.weight",
        LayerPart::Value => "attn_v.weight",
        LayerPart::Output => "attn_output.weight",
        LayerPart::QueryBias => "attn_q.bias",
        LayerPart::KeyBias => "attn_k.bias",
        LayerPart::ValueBias => "attn_v.bias",
        LayerPart::OutputBias => "attn_output.bias",
        LayerPart::QueryNorm => "attn_q_norm.weight",
        LayerPart::KeyNorm => "attn_k_norm.weight",
        LayerPart::FeedForwardNorm => "ffn_norm.weight",
        LayerPart::Gate => "ffn_gate.weight",
        LayerPart::Up => "ffn_up.weight",
        LayerPart::Down => "ffn_down.weight",
    };
    format!("blk.{layer}.{name}")
}

fn hf_name(part: Part) -> Option<String> {
    let (layer, part) = match part {
        Part::Embedding => return Some("model.embed_tokens.weight".into()),
        Part::Head => return Some("lm_head.weight".into()),
        Part::FinalNorm => return Some("model.norm.weight".into()),
        Part::RopeFactors => return None,
        Part::Layer(layer, part) => (layer, part),
    };
    let name = match part {
        LayerPart::AttentionNorm => "input_layernorm.weight",
        LayerPart::Query => "self_attn.q_proj.weight",
        LayerPart::Key => "self_attn.k_proj.weight",
        LayerPart::Value => "self_attn.v_proj.weight",
        LayerPart::Output => "self_attn.o_proj.weight",
        LayerPart::QueryBias => "self_attn.q_proj.bias",
        LayerPart::KeyBias => "self_attn.k_proj.bias",
        LayerPart::ValueBias => "self_attn.v_proj.bias",
        LayerPart::OutputBias => "self_attn.o_proj.bias",
        LayerPart::QueryNorm => "self_attn.q_norm.weight",
        LayerPart::KeyNorm => "self_attn.k_norm.weight",
        LayerPart::FeedForwardNorm => "post_attention_layernorm.weight",
        LayerPart::Gate => "mlp.gate_proj.weight",
        LayerPart::Up => "mlp.up_proj.weight",
        LayerPart::Down => "mlp.down_proj.weight",
    };
    Some(format!("model.layers.{layer}.{name}"))
}

impl Source {
    /// Bytes of all tensors.
    pub fn weight_bytes(&self) -> u64 {
        match self {
            Source::Gguf(gguf) => gguf.tensors().iter().map(|info| info.bytes).sum(),
            Source::Safetensors(file) => file.tensors().iter().map(|info| info.bytes).sum(),
        }
    }
}
