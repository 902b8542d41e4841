//! GGUF files with random weights, in the shapes of real models: blocks of 4 bits, a head of 8 bits.

use crate::gpu::Failed;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};
use warpsmith::models::llama::{Biases, Config, Head, RopeScaling};
use warpsmith_library::{case::Random, rope::Pairing};

/// A model's shape.
pub(super) struct Shape {
    pub(super) name: &'static str,
    layers: u32,
    width: u32,
    feed_forward: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    vocab: u32,
}

/// SmolLM2-135M.
pub(super) const SMOLLM2: Shape = Shape {
    name: "random 135M (SmolLM2), q4_1",
    layers: 30,
    width: 576,
    feed_forward: 1536,
    heads: 9,
    kv_heads: 3,
    head_dim: 64,
    vocab: 49152,
};

/// Llama 3.2 1B.
pub(super) const LLAMA_1B: Shape = Shape {
    name: "random 1.2B (Llama 3.2), q4_1",
    layers: 16,
    width: 2048,
    feed_forward: 8192,
    heads: 32,
    kv_heads: 8,
    head_dim: 64,
    vocab: 128256,
};

/// For a rehearsal.
pub(super) const SMALL: Shape = Shape {
    name: "random small, q4_1",
    layers: 2,
    width: 64,
    feed_forward: 128,
    heads: 4,
    kv_heads: 2,
    head_dim: 16,
    vocab: 256,
};

impl Shape {
    /// What the loader is told; the file has no metadata.
    pub(super) fn config(&self) -> Config {
        Config {
            architecture: "llama".into(),
            layers: self.layers,
            width: self.width,
            feed_forward: self.feed_forward,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            vocab: self.vocab,
            context: 8192,
            eps: 1e-5,
            rope_base: 100_000.0,
            rope_dims: self.head_dim,
            pairing: Pairing::Neighbours,
            rope_scaling: RopeScaling::None,
            head: Head::Embedding,
            biases: Biases::None,
        }
    }
}

/// Types by their numbers in GGUF.
#[derive(Clone, Copy)]
enum Ty {
    F32,
    Q4_1,
    Q8_0,
}

impl Ty {
    fn id(self) -> u32 {
        match self {
            Ty::F32 => 0,
            Ty::Q4_1 => 3,
            Ty::Q8_0 => 8,
        }
    }

    fn bytes(self, elements: u64) -> u64 {
        match self {
            Ty::F32 => 4 * elements,
            Ty::Q4_1 => elements / 32 * 20,
            Ty::Q8_0 => elements / 32 * 34,
        }
    }

    /// Blocks of random codes whose scales keep activations near one: weights of about 0.02.
    fn data(self, elements: u64, random: &mut Random) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes(elements) as usize);
        let half = |x: f32| half::f16::from_f32(x).to_le_bytes();
        match self {
            Ty::F32 => (0..elements).for_each(|_| out.extend(1.0f32.to_le_bytes())),
            Ty::Q4_1 => {
                for _ in 0..elements / 32 {
                    out.extend(half(0.005));
                    out.extend(half(-0.0375));
                    out.extend(random.bits().to_le_bytes());
                    out.extend(random.bits().to_le_bytes());
                }
            }
            Ty::Q8_0 => {
                for _ in 0..elements / 32 {
                    out.extend(half(0.0003));
                    (0..4).for_each(|_| out.extend(random.bits().to_le_bytes()));
                }
            }
        }
        out
    }
}

const ALIGNMENT: u64 = 32;

/// Writes the file.
///
/// # Errors
/// What the file system says.
pub(super) fn write(path: &Path, shape: &Shape) -> Result<(), Failed> {
    let (width, inner) = (shape.width, shape.feed_forward);
    let (queries, keys) = (
        shape.heads * shape.head_dim,
        shape.kv_heads * shape.head_dim,
    );
    // Name, rows (none for a vector), columns, type.
    let mut tensors: Vec<(String, Option<u32>, u32, Ty)> = vec![
        (
            "token_embd.weight".into(),
            Some(shape.vocab),
            width,
            Ty::Q8_0,
        ),
        ("output_norm.weight".into(), None, width, Ty::F32),
    ];
    for layer in 0..shape.layers {
        let mut push = |name: &str, rows, columns, ty| {
            tensors.push((format!("blk.{layer}.{name}.weight"), rows, columns, ty));
        };
        push("attn_norm", None, width, Ty::F32);
        push("attn_q", Some(queries), width, Ty::Q4_1);
        push("attn_k", Some(keys), width, Ty::Q4_1);
        push("attn_v", Some(keys), width, Ty::Q4_1);
        push("attn_output", Some(width), queries, Ty::Q4_1);
        push("ffn_norm", None, width, Ty::F32);
        push("ffn_gate", Some(inner), width, Ty::Q4_1);
        push("ffn_up", Some(inner), width, Ty::Q4_1);
        push("ffn_down", Some(width), inner, Ty::Q4_1);
    }
    let mut head = b"GGUF".to_vec();
    head.extend(3u32.to_le_bytes());
    head.extend((tensors.len() as u64).to_le_bytes());
    head.extend(0u64.to_le_bytes());
    let elements =
        |rows: Option<u32>, columns: u32| u64::from(rows.unwrap_or(1)) * u64::from(columns);
    let mut offset = 0u64;
    for (name, rows, columns, ty) in &tensors {
        head.extend((name.len() as u64).to_le_bytes());
        head.extend(name.as_bytes());
        let dims: Vec<u32> = std::iter::once(*columns).chain(*rows).collect();
        head.extend((dims.len() as u32).to_le_bytes());
        dims.iter()
            .for_each(|dim| head.extend(u64::from(*dim).to_le_bytes()));
        head.extend(ty.id().to_le_bytes());
        head.extend(offset.to_le_bytes());
        offset += ty
            .bytes(elements(*rows, *columns))
            .next_multiple_of(ALIGNMENT);
    }
    let pad = |len: u64| vec![0u8; (len.next_multiple_of(ALIGNMENT) - len) as usize];
    let mut file = BufWriter::new(File::create(path)?);
    let len = head.len() as u64;
    file.write_all(&head)?;
    file.write_all(&pad(len))?;
    let mut random = Random::new(23);
    for (_, rows, columns, ty) in &tensors {
        let data = ty.data(elements(*rows, *columns), &mut random);
        file.write_all(&data)?;
        file.write_all(&pad(data.len() as u64))?;
    }
    file.flush()?;
    Ok(())
}
