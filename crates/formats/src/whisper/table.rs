//! What each format's reader gives: tensors by OpenAI's names, before anything is asked of them.

use std::collections::HashMap;

use super::folder::Config;
use super::{Dims, Format, Settings, TensorInfo, ct2, ggml, hugging_face};
use crate::Error;
use crate::bytes::Bytes;
use crate::gguf::Gguf;
use crate::safetensors::Safetensors;

/// What tells formats apart.
const BEGINNING: u64 = 256;
/// What is compared at once.
const PIECE: u64 = 1 << 20;

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) format: Format,
    pub(super) parts: Vec<Bytes>,
    /// All that are inside the parts; those whose names have no meaning under their own names.
    pub(super) tensors: HashMap<String, TensorInfo>,
    /// The sizes, if the file lists them.
    pub(super) dims: Option<Dims>,
    pub(super) settings: Settings,
}

impl Table {
    /// Reads a file of any format, told apart by how it begins.
    pub(super) fn read(bytes: Bytes, config: Option<&Config>) -> Result<Table, Error> {
        // A length of the header, and the header of safetensors, which is a JSON object: or more of a CTranslate2 name.
        let first = bytes.first(BEGINNING)?;
        if first.starts_with(&ggml::MAGIC) {
            return ggml::read(bytes);
        }
        if first.starts_with(b"GGUF") {
            return Table::from_gguf(Gguf::from_bytes(bytes)?);
        }
        if ct2::begins(&first) {
            return ct2::read(bytes, config);
        }
        if first.get(8) == Some(&b'{') {
            return Table::from_safetensors(Safetensors::from_bytes(bytes)?, config);
        }
        Err(Error::NotWhisper {
            found: first[..first.len().min(8)].to_vec(),
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
        let (mut table, head) = Table::named(Format::Safetensors, parts, found)?;
        if head.is_none() && !config.is_tied() {
            return Err(Error::NoTensor {
                tensor: "proj_out.weight".to_owned(),
            });
        }
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
        Ok(Table::named(Format::Gguf, parts, found)?.0)
    }

    /// A table of tensors under Hugging Face's or OpenAI's names, and the output projection if there is one.
    fn named(
        format: Format,
        parts: Vec<Bytes>,
        found: impl Iterator<Item = TensorInfo>,
    ) -> Result<(Table, Option<TensorInfo>), Error> {
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
            } else {
                // A name that means nothing stays, and is found not to be used.
                let name = hugging_face::canonical(&tensor.name);
                let name = name.unwrap_or_else(|| tensor.name.clone());
                table.add(TensorInfo { name, ..tensor })?;
            }
        }
        if let Some(head) = &head {
            table.check_head(head)?;
        }
        Ok((table, head))
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
        let Some(embedding) = self.tensors.get("decoder.token_embedding.weight") else {
            return Ok(());
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut same = embedding.bytes == head.bytes;
        let mut at = 0;
        while same && at < head.bytes {
            let len = PIECE.min(head.bytes - at);
            self.parts[embedding.part].read(embedding.offset + at, len, &mut ours)?;
            self.parts[head.part].read(head.offset + at, len, &mut theirs)?;
            same = ours == theirs;
            at += len;
        }
        match same {
            true => Ok(()),
            false => Err(Error::Unsupported {
                what: format!(
                    "output projection {}, which is not the token embedding,",
                    head.name
                ),
            }),
        }
    }
}
