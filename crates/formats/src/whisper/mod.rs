//! Whisper models, from whichever of the formats they come in, under one set of names.
//!
//! [`WhisperFile::open`] takes a CTranslate2 `model.bin`, a ggml `.bin` of whisper.cpp, a GGUF file, or
//! safetensors with their `config.json`, or a folder with one of these. Tensors go by the names that
//! OpenAI gave them (`encoder.blocks.0.attn.query.weight`); where a format stacks matrices, a name is
//! a range of its rows. Every tensor that the sizes ask for is there, in its shape, or the file is refused.

mod ct2;
mod dims;
mod folder;
mod ggml;
mod hugging_face;
mod names;
mod table;
mod vocabulary;
mod writer;

use std::collections::BTreeMap;
use std::path::Path;

pub use dims::Dims;
pub(crate) use ggml::MAGIC as GGML_MAGIC;
pub use writer::Writer;

use crate::Error;
use crate::bytes::Bytes;
use crate::quant::WeightType;
use table::Table;

/// A Whisper model's file, checked: what its sizes ask for is there.
#[derive(Debug)]
pub struct WhisperFile {
    format: Format,
    dims: Dims,
    tensors: BTreeMap<String, TensorInfo>,
    parts: Vec<Bytes>,
    settings: Settings,
}

/// Which kind of file it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CTranslate2's `model.bin`.
    CTranslate2,
    /// whisper.cpp's `.bin`.
    Ggml,
    /// GGUF, with OpenAI's or Hugging Face's names.
    Gguf,
    /// safetensors, with OpenAI's or Hugging Face's names.
    Safetensors,
}

/// Where a tensor's bytes lie and how to read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// OpenAI's name.
    pub name: String,
    /// The dimensions, **slowest first**, without dimensions of one that some formats add.
    pub shape: Vec<u64>,
    /// The layout of the bytes.
    pub dtype: WeightType,
    /// The first byte, counted from the start of its part.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The part that holds it: 0 unless there are shards.
    pub part: usize,
}

/// What a file, or a file beside it, carries beyond weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The tokenizer as JSON: `tokenizer.json` beside the weights.
    pub tokenizer_json: Option<Vec<u8>>,
    /// The bytes of each token, by id: of a ggml file, or of `vocabulary.txt` or `vocabulary.json`
    /// where there is no `tokenizer.json`. Control tokens may be left out at the end.
    pub tokens: Option<Vec<Vec<u8>>>,
    /// The mel filters of a ggml file.
    pub mel_filters: Option<MelFilters>,
    /// The decoder heads that follow the audio, each `[layer, head]`, if a configuration says.
    pub alignment_heads: Option<Vec<[u32; 2]>>,
    /// Tokens never to be sampled, if a configuration says; not those that -1 stands for.
    pub suppress: Option<Vec<u32>>,
    /// Whether that list has a -1, by which openai-whisper's own list is meant besides.
    pub suppress_usual: bool,
}

/// A matrix from power spectrum to mel bins.
#[derive(Clone, Debug, PartialEq)]
pub struct MelFilters {
    /// The number of mel bins, the rows.
    pub n_mels: u32,
    /// The number of frequencies, the columns.
    pub n_freqs: u32,
    /// Row after row.
    pub values: Vec<f32>,
}

impl WhisperFile {
    /// Opens the model at `path`: a file of weights, or a folder with one (`model.bin`,
    /// `ggml-model.bin`, `model.gguf` or `model.safetensors`, shards too).
    ///
    /// Beside weights other than ggml's, `config.json`, `generation_config.json`, `tokenizer.json` and
    /// `vocabulary.txt` or `.json` are read where they are. Costs time in the number of tensors; the
    /// data is not read.
    ///
    /// # Errors
    /// What the system says, and everything that can be wrong with a file, each with its path.
    pub fn open(path: &Path) -> Result<WhisperFile, Error> {
        folder::open(path)
    }

    /// Reads a whole file that is in memory, with the text of the `config.json` that belongs to it;
    /// safetensors need one.
    ///
    /// # Errors
    /// Everything that can be wrong with a file.
    pub fn parse(bytes: Vec<u8>, config: Option<&[u8]>) -> Result<WhisperFile, Error> {
        let config = config.map(folder::Config::parse).transpose()?;
        let table = Table::read(Bytes::Owned(bytes), config.as_ref())?;
        WhisperFile::build(table, config.as_ref())
    }

    /// Which kind of file it was.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The sizes of the model.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// Every tensor, by name; exactly those that the sizes ask for.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = &TensorInfo> {
        self.tensors.values()
    }

    /// The tensor that OpenAI calls `name`.
    ///
    /// # Errors
    /// [`Error::NoTensor`] for a name that a model of these sizes does not have.
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo, Error> {
        self.tensors.get(name).ok_or_else(|| Error::NoTensor {
            tensor: name.to_owned(),
        })
    }

    /// Puts the bytes of a tensor of this model into `out`, in place of what is there.
    ///
    /// # Errors
    /// What the system says, and [`Error::Shortened`] for a file that has become shorter.
    ///
    /// # Panics
    /// If `tensor` was altered, or comes from another model, and lies outside this one.
    pub fn read(&self, tensor: &TensorInfo, out: &mut Vec<u8>) -> Result<(), Error> {
        self.parts[tensor.part].read(tensor.offset, tensor.bytes, out)
    }

    /// Checks that the files are still what they were when they were opened, as far as lengths and times tell.
    ///
    /// # Errors
    /// [`Error::Changed`] with the file that is not.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.parts.iter().try_for_each(Bytes::unchanged)
    }

    /// What the file, or files beside it, carry beyond weights.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Keeps of `table` the tensors that its sizes ask for, once each has its shape.
    fn build(table: Table, config: Option<&folder::Config>) -> Result<WhisperFile, Error> {
        let Table {
            format,
            parts,
            mut tensors,
            dims,
            mut settings,
        } = table;
        let dims = match dims {
            Some(dims) => dims,
            None => dims::infer(&tensors, config, folder::Heads::default())?,
        };
        dims.check()?;
        let mut kept = BTreeMap::new();
        for (name, want) in names::all(&dims) {
            let Some(mut tensor) = tensors.remove(&name) else {
                return Err(Error::NoTensor { tensor: name });
            };
            // Biases come as `[n, 1]` too.
            if want.len() == 1 && tensor.shape.iter().all(|&dim| dim == 1 || dim == want[0]) {
                let bytes = tensor.dtype.bytes_of(want[0]);
                if bytes == Some(tensor.bytes) {
                    tensor.shape.clone_from(&want);
                }
            }
            if tensor.shape != want {
                return Err(Error::Shape {
                    tensor: name,
                    want,
                    found: tensor.shape,
                });
            }
            kept.insert(name, tensor);
        }
        let left = tensors.into_keys().filter(|name| !is_idle(name, &dims));
        // In the order of names, so that the same error is found each time.
        if let Some(tensor) = left.min() {
            let why = why_unused(&tensor, &dims);
            return Err(Error::UnusedTensor { tensor, why });
        }
        if let Some(config) = config {
            config.complete(&mut settings, &dims)?;
        }
        Ok(WhisperFile {
            format,
            dims,
            tensors: kept,
            parts,
            settings,
        })
    }
}

/// The layer that a name is about, the number of layers there, and what follows.
fn layer_of<'a>(name: &'a str, dims: &Dims) -> Option<(u32, u32, &'a str)> {
    let (side, rest) = name.split_once(".blocks.")?;
    let (layer, part) = rest.split_once('.')?;
    let layers = match side {
        "encoder" => dims.n_audio_layer,
        "decoder" => dims.n_text_layer,
        _ => return None,
    };
    Some((layer.parse().ok()?, layers, part))
}

/// The bias of a key moves all scores of a query alike, so the softmax does not see it.
fn is_idle(name: &str, dims: &Dims) -> bool {
    layer_of(name, dims).is_some_and(|(layer, layers, part)| {
        layer < layers && matches!(part, "attn.key.bias" | "cross_attn.key.bias")
    })
}

fn why_unused(name: &str, dims: &Dims) -> String {
    match layer_of(name, dims) {
        Some((layer, layers, _)) if layer >= layers => {
            format!("there are {layers} layers on its side, counted from 0, without a gap")
        }
        Some(_) | None => "a Whisper model has no such part here".to_owned(),
    }
}
