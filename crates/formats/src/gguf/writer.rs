//! Writing GGUF version 3, for synthetic models and tests.

use super::metadata::Metadata;
use super::parse::{MAGIC, alignment, size};
use super::value::{Value, write_string};
use crate::Error;
use crate::quant::WeightType;

const VERSION: u32 = 3;

/// Collects metadata and tensors, in the order they shall have in the file.
///
/// The alignment is that of `general.alignment` if it is set, else 32.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    pairs: Vec<(String, Value)>,
    tensors: Vec<Tensor>,
}

#[derive(Clone, Debug)]
struct Tensor {
    name: String,
    dims: Vec<u64>,
    dtype: WeightType,
    data: Vec<u8>,
}

impl Writer {
    /// A file of nothing.
    pub fn new() -> Writer {
        Writer::default()
    }

    /// Appends a key.
    pub fn set(&mut self, key: &str, value: Value) {
        self.pairs.push((key.to_owned(), value));
    }

    /// Appends a tensor of `dims`, fastest first, with its bytes as the file shall have them.
    pub fn add(&mut self, name: &str, dims: &[u64], dtype: WeightType, data: Vec<u8>) {
        self.tensors.push(Tensor {
            name: name.to_owned(),
            dims: dims.to_vec(),
            dtype,
            data,
        });
    }

    /// The file.
    ///
    /// # Errors
    /// What [`Gguf::parse`](super::Gguf::parse) would refuse, and [`Error::Length`] for data that is
    /// not as long as its dimensions ask for.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let alignment = alignment(&Metadata::from_pairs(self.pairs.clone())?)? as usize;
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.pairs.len() as u64).to_le_bytes());
        for (key, value) in &self.pairs {
            write_string(key, &mut out);
            value.write(key, &mut out)?;
        }
        let mut names = std::collections::HashSet::new();
        let mut offset = 0usize;
        for tensor in &self.tensors {
            if !names.insert(&tensor.name) {
                return Err(Error::DuplicateTensor {
                    tensor: tensor.name.clone(),
                });
            }
            let want = size(&tensor.name, &tensor.dims, tensor.dtype)?;
            if want != tensor.data.len() as u64 {
                return Err(Error::Length {
                    what: format!("data of tensor {}", tensor.name),
                    want,
                    found: tensor.data.len() as u64,
                });
            }
            write_string(&tensor.name, &mut out);
            out.extend((tensor.dims.len() as u32).to_le_bytes());
            out.extend(tensor.dims.iter().flat_map(|dim| dim.to_le_bytes()));
            out.extend(tensor.dtype.ggml_id().to_le_bytes());
            out.extend((offset as u64).to_le_bytes());
            offset = (offset + tensor.data.len()).next_multiple_of(alignment);
        }
        for tensor in &self.tensors {
            out.resize(out.len().next_multiple_of(alignment), 0);
            out.extend(&tensor.data);
        }
        Ok(out)
    }
}
