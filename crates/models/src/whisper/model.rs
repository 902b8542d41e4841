//! The model: sizes and weights on a device, shared by sessions.

use super::{
    block::{BlockConfig, BlockWeights, EncoderBlock},
    decoder::{Decoder, DecoderBlock},
    encoder::{Encoder, Frontend},
    parts::{Attention, Conv, Linear, Mlp, Norm},
};
use crate::{
    Error,
    llama::Progress,
    rounding::{Rounded, Rounder, Rounding},
};
use std::sync::Arc;
use warpsmith_device::{Device, Stream};
use warpsmith_formats::{
    quant::{WeightType, check_finite, dequantize},
    whisper::{Dims, TensorInfo, WhisperFile},
};
use warpsmith_graph::{Vector, Weights};
use warpsmith_library::{
    conv::{Stride, TAPS, tap_major},
    weights::pack,
};

/// A Whisper model on a device. `Send + Sync`: sessions in several threads share it.
#[derive(Debug)]
pub struct Model {
    device: Device,
    dims: Dims,
    encoder: Encoder,
    decoder: Decoder,
    rounded: Option<Rounded>,
}

struct Loader<'a> {
    file: &'a WhisperFile,
    stream: &'a Stream,
    progress: &'a mut dyn Progress,
    /// The bytes of one tensor after the other.
    buffer: Vec<u8>,
    rounder: Rounder,
    done: u64,
    total: u64,
}

impl Loader<'_> {
    /// A tensor, whose bytes are in the buffer then.
    fn tensor(&mut self, name: &str) -> Result<TensorInfo, Error> {
        let tensor = self.file.tensor(name)?.clone();
        self.file.read(&tensor, &mut self.buffer)?;
        check_finite(&tensor.name, tensor.dtype, &self.buffer)?;
        self.done += tensor.bytes;
        self.progress.loaded(self.done, self.total);
        Ok(tensor)
    }

    fn floats(&mut self, name: &str) -> Result<Vec<f32>, Error> {
        let tensor = self.tensor(name)?;
        let len: u64 = tensor.shape.iter().product();
        let mut values = vec![0.0; len as usize];
        dequantize(tensor.dtype, &self.buffer, &mut values)?;
        Ok(values)
    }

    fn vector(&mut self, name: &str) -> Result<Arc<Vector>, Error> {
        let values = self.floats(name)?;
        Ok(Arc::new(Vector::upload(self.stream, &values)?))
    }

    /// A matrix in the type that the file has.
    fn matrix(&mut self, name: &str) -> Result<Arc<Weights>, Error> {
        let tensor = self.tensor(name)?;
        let [rows, columns] = [0, 1].map(|at| tensor.shape.get(at).map_or(1, |n| *n as u32));
        let packed = pack(tensor.dtype, &self.buffer, rows, columns)?;
        Ok(Arc::new(Weights::upload(self.stream, name, &packed)?))
    }

    /// A matrix that rows are multiplied by, rounded if that is wanted.
    fn product(&mut self, name: &str) -> Result<Arc<Weights>, Error> {
        let tensor = self.tensor(name)?;
        let [rows, columns] = [0, 1].map(|at| tensor.shape.get(at).map_or(1, |n| *n as u32));
        let Loader {
            rounder, buffer, ..
        } = self;
        let (ty, bytes) = rounder.apply(name, tensor.dtype, buffer, columns)?;
        let packed = pack(ty, bytes, rows, columns)?;
        Ok(Arc::new(Weights::upload(self.stream, name, &packed)?))
    }

    fn linear(&mut self, name: &str, biased: Biased) -> Result<Linear, Error> {
        let weights = self.product(&format!("{name}.weight"))?;
        let bias = match biased {
            Biased::Yes => Some(self.vector(&format!("{name}.bias"))?),
            Biased::No => None,
        };
        Ok(Linear { weights, bias })
    }

    fn norm(&mut self, name: &str) -> Result<Norm, Error> {
        Ok(Norm {
            gain: self.vector(&format!("{name}.weight"))?,
            bias: self.vector(&format!("{name}.bias"))?,
        })
    }

    fn attention(&mut self, name: &str) -> Result<Attention, Error> {
        Ok(Attention {
            query: self.linear(&format!("{name}.query"), Biased::Yes)?,
            key: self.linear(&format!("{name}.key"), Biased::No)?,
            value: self.linear(&format!("{name}.value"), Biased::Yes)?,
            out: self.linear(&format!("{name}.out"), Biased::Yes)?,
        })
    }

    fn mlp(&mut self, name: &str) -> Result<Mlp, Error> {
        Ok(Mlp {
            up: self.linear(&format!("{name}.0"), Biased::Yes)?,
            down: self.linear(&format!("{name}.2"), Biased::Yes)?,
        })
    }

    /// A convolution with its taps turned; 16-bit weights stay as they are, others become f16 where nothing is lost by
    /// it, else f32.
    fn conv(&mut self, name: &str, stride: Stride) -> Result<Conv, Error> {
        let tensor = self.tensor(&format!("{name}.weight"))?;
        let [outputs, channels] = [0, 1].map(|at| tensor.shape[at] as u32);
        let columns = channels * TAPS;
        let data = &self.buffer[..];
        let (ty, bytes) = match tensor.dtype {
            WeightType::F16 | WeightType::BF16 => {
                let (pairs, _) = data.as_chunks::<2>();
                (tensor.dtype, tap_major(pairs, channels as usize).concat())
            }
            _ => {
                let mut values = vec![0.0f32; outputs as usize * columns as usize];
                dequantize(tensor.dtype, data, &mut values)?;
                let turned = tap_major(&values, channels as usize);
                (WeightType::F32, bytemuck::cast_slice(&turned).to_vec())
            }
        };
        let packed = pack(ty, &bytes, outputs, columns)?;
        Ok(Conv {
            weights: Arc::new(Weights::upload(self.stream, name, &packed)?),
            bias: self.vector(&format!("{name}.bias"))?,
            stride,
        })
    }

    fn encoder(&mut self, dims: &Dims) -> Result<Encoder, Error> {
        let config = BlockConfig {
            width: dims.n_audio_state,
            heads: dims.n_audio_head,
        };
        let frontend = Frontend {
            conv1: self.conv("encoder.conv1", Stride::One)?,
            conv2: self.conv("encoder.conv2", Stride::Two)?,
            positions: {
                let positions = self.floats("encoder.positional_embedding")?;
                self.stream.upload_new(&positions)?
            },
            frames: dims.n_audio_ctx,
            width: dims.n_audio_state,
        };
        let mut blocks = Vec::new();
        for at in 0..dims.n_audio_layer {
            let name = format!("encoder.blocks.{at}");
            let weights = BlockWeights {
                attention_norm: self.norm(&format!("{name}.attn_ln"))?,
                attention: self.attention(&format!("{name}.attn"))?,
                mlp_norm: self.norm(&format!("{name}.mlp_ln"))?,
                mlp: self.mlp(&format!("{name}.mlp"))?,
            };
            blocks.push(EncoderBlock::new(config, weights)?);
        }
        Ok(Encoder {
            frontend,
            blocks,
            norm: self.norm("encoder.ln_post")?,
        })
    }

    fn decoder(&mut self, dims: &Dims) -> Result<Decoder, Error> {
        let config = BlockConfig {
            width: dims.n_text_state,
            heads: dims.n_text_head,
        };
        let mut blocks = Vec::new();
        for at in 0..dims.n_text_layer {
            let name = format!("decoder.blocks.{at}");
            blocks.push(DecoderBlock {
                attention_norm: self.norm(&format!("{name}.attn_ln"))?,
                attention: self.attention(&format!("{name}.attn"))?,
                cross_norm: self.norm(&format!("{name}.cross_attn_ln"))?,
                cross: self.attention(&format!("{name}.cross_attn"))?,
                mlp_norm: self.norm(&format!("{name}.mlp_ln"))?,
                mlp: self.mlp(&format!("{name}.mlp"))?,
            });
        }
        Ok(Decoder {
            embedding: self.product(EMBEDDING)?,
            positions: self.matrix("decoder.positional_embedding")?,
            blocks,
            norm: self.norm("decoder.ln")?,
            heads: config.heads,
            head_dim: config.head_dim()?,
        })
    }
}

/// The names of the matrices of a file that rows are multiplied by, which [`Rounding`] is for.
pub fn products(file: &WhisperFile) -> Vec<String> {
    let is_product = |tensor: &&TensorInfo| {
        let name = tensor.name.as_str();
        let in_a_block = name.contains(".blocks.") && tensor.shape.len() == 2;
        in_a_block || name == EMBEDDING
    };
    let products = file.tensors().filter(is_product);
    products.map(|tensor| tensor.name.clone()).collect()
}

/// The token embedding, which is the matrix of the logits too.
const EMBEDDING: &str = "decoder.token_embedding.weight";

/// Whether a linear layer has a bias in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Biased {
    Yes,
    No,
}

impl Model {
    /// Uploads the weights of `file`, matrices as blocks of another type where that is wanted.
    ///
    /// # Errors
    /// Weights that are not finite, files that are written to meanwhile, each by name; device errors.
    pub fn load(
        device: &Device,
        file: &WhisperFile,
        rounding: Option<Rounding>,
        progress: &mut dyn Progress,
    ) -> Result<Model, Error> {
        let stream = device.stream()?;
        let dims = *file.dims();
        let total = file.tensors().map(|tensor| tensor.bytes).sum();
        let mut loader = Loader {
            file,
            stream: &stream,
            progress,
            buffer: Vec::new(),
            rounder: Rounder::new(rounding),
            done: 0,
            total,
        };
        let (encoder, decoder) = (loader.encoder(&dims)?, loader.decoder(&dims)?);
        let rounded = loader.rounder.rounded();
        file.check_unchanged()?;
        stream.synchronize()?;
        Ok(Model {
            device: device.clone(),
            dims,
            encoder,
            decoder,
            rounded,
        })
    }

    /// What became of its matrices, where they were to be rounded.
    pub fn rounded(&self) -> Option<&Rounded> {
        self.rounded.as_ref()
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The sizes.
    pub fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Bytes of matrices on the device.
    pub fn bytes(&self) -> u64 {
        let frontend = &self.encoder.frontend;
        let encoder: u64 = self.encoder.blocks.iter().map(EncoderBlock::bytes).sum();
        let block = |block: &DecoderBlock| {
            block.attention.bytes() + block.cross.bytes() + block.mlp.bytes()
        };
        let decoder: u64 = self.decoder.blocks.iter().map(block).sum();
        encoder
            + decoder
            + frontend.conv1.weights.bytes()
            + frontend.conv2.weights.bytes()
            + self.decoder.embedding.bytes()
            + self.decoder.positions.bytes()
    }
}
