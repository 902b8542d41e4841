//! What each format's reader gives: tensors by OpenAI's names, before anything is asked of them.

use std::collections::HashMap;

use super::folder::Config;
use super::{Dims, Format, Settings, TensorInfo, ct2, ggml, hugging_face};
use crate::Error;
use crate::gguf::Gguf;
use crate::map::Bytes;
use crate::safetensors::Safetensors;

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) format: Format,
    pub(super) parts: Vec<Bytes>,
    /// Those whose names have a meaning, inside their parts.
    pub(super) tensors: HashMap<String, TensorInfo>,
    /// The sizes, if the file lists them.
    pub(super) dims: Option<Dims>,
    pub(super) settings: Settings,
}

impl Table {
    /// Reads a file of any format, told apart by how it begins.
    pub(super) fn read(bytes: Bytes, config: Option<&Config>) -> Result<Table, Error> {
        if bytes.starts_with(&ggml::MAGIC) {
            return ggml::read(bytes);
        }
        if bytes.starts_with(b"GGUF") {
            return Table::from_gguf(Gguf::from_bytes(bytes)?);
        }
        if ct2::begins(&bytes) {
            return ct2::read(bytes, config);
        }
        // A length of the header, and the header, which is a JSON object.
        if bytes.get(8) == Some(&b'{') {
            return Table::from_safetensors(Safetensors::from_bytes(bytes)?, config);
        }
        Err(Error::NotWhisper {
            found: bytes[..bytes.len().min(8)].to_vec(),
        })
    }

    pub(super) fn from_safetensors(
        file: Safetensors,
        config: Option<&Config>,
    ) -> Result<Table, Error> {
        let Some(config) = config else {
            return Err(Error::Unsupported {
                what: "Whisper in safetensors without its config.json".to_owned(),
            });
        };
        let (tensors, parts) = file.into_parts();
        let found = tensors.into_iter().map(|tensor| TensorInfo {
            name: tensor.name,
            shape: tensor.shape,
            dtype: tensor.dtype,
            offset: tensor.offset,
            bytes: tensor.bytes,
            part: tensor.shard,
        });
        let mut table = Table::named(Format::Safetensors, parts, found)?;
        table.dims = config.dims()?;
        Ok(table)
    }

    pub(super) fn from_gguf(file: Gguf) -> Result<Table, Error> {
        let (tensors, parts) = file.into_parts();
        let found = tensors.into_iter().map(|tensor| TensorInfo {
            name: tensor.name,
            shape: tensor.dims.into_iter().rev().collect(),
            dtype: tensor.dtype,
            offset: tensor.offset,
            bytes: tensor.bytes,
            part: tensor.part,
        });
        Table::named(Format::Gguf, parts, found)
    }

    /// A table of tensors under Hugging Face's or OpenAI's names.
    fn named(
        format: Format,
        parts: Vec<Bytes>,
        found: impl Iterator<Item = TensorInfo>,
    ) -> Result<Table, Error> {
        let mut table = Table {
            format,
            parts,
            tensors: HashMap::new(),
            dims: None,
            settings: Settings::default(),
        };
        let mut head = None;
        for tensor in found {
            if hugging_face::is_head(&tensor.name) {
                head = Some(tensor);
            } else if let Some(name) = hugging_face::canonical(&tensor.name) {
                table.add(TensorInfo { name, ..tensor })?;
            }
        }
        match head {
            Some(head) => table.check_head(&head).map(|()| table),
            None => Ok(table),
        }
    }

    /// Adds a tensor; two that mean the same are refused.
    pub(super) fn add(&mut self, tensor: TensorInfo) -> Result<(), Error> {
        let name = tensor.name.clone();
        match self.tensors.insert(name, tensor) {
            None => Ok(()),
            Some(twice) => Err(Error::DuplicateTensor { tensor: twice.name }),
        }
    }

    /// An output projection in the file has to be the token embedding once more.
    fn check_head(&self, head: &TensorInfo) -> Result<(), Error> {
        let bytes = |tensor: &TensorInfo| {
            &self.parts[tensor.part][tensor.offset as usize..][..tensor.bytes as usize]
        };
        match self.tensors.get("decoder.token_embedding.weight") {
            Some(embedding) if bytes(embedding) != bytes(head) => Err(Error::Unsupported {
                what: format!(
                    "output projection {}, which is not the token embedding,",
                    head.name
                ),
            }),
            Some(_) | None => Ok(()),
        }
    }
}
