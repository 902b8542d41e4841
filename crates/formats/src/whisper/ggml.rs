//! whisper.cpp's `.bin`: sizes, mel filters, tokens, then tensors to the end of the file.

use std::collections::HashMap;

use super::table::Table;
use super::{Dims, Format, MelFilters, Settings, TensorInfo};
use crate::Error;
use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::quant::WeightType;

/// `ggml` as a little-endian number.
pub(crate) const MAGIC: [u8; 4] = *b"lmgg";
/// The file type is this number times the version of the quantised layouts, plus a type.
const VERSION_FACTOR: u32 = 1000;
/// The layouts of [`WeightType`] are of this version; before it scales were f32.
const LAYOUT_VERSION: u32 = 2;
const MAX_RANK: u32 = 4;

pub(super) fn read(bytes: Bytes) -> Result<Table, Error> {
    let mut cursor = Cursor::new(&bytes);
    cursor.take(MAGIC.len() as u64, &"magic")?;
    let mut size = |name: &str| -> Result<u32, Error> {
        let found = i32::from_le_bytes(cursor.number(&name)?);
        u32::try_from(found).map_err(|_| Error::Field {
            field: name.to_owned(),
            found: found.to_string(),
            want: "not negative",
        })
    };
    let dims = Dims {
        n_vocab: size("n_vocab")?,
        n_audio_ctx: size("n_audio_ctx")?,
        n_audio_state: size("n_audio_state")?,
        n_audio_head: size("n_audio_head")?,
        n_audio_layer: size("n_audio_layer")?,
        n_text_ctx: size("n_text_ctx")?,
        n_text_state: size("n_text_state")?,
        n_text_head: size("n_text_head")?,
        n_text_layer: size("n_text_layer")?,
        n_mels: size("n_mels")?,
    };
    let layout = size("ftype")? / VERSION_FACTOR;
    dims.check()?;

    let n_mels = cursor.u32(&"number of mel filters")?;
    let n_freqs = cursor.u32(&"width of the mel filters")?;
    if n_mels != dims.n_mels {
        return Err(Error::Field {
            field: "number of mel filters".to_owned(),
            found: n_mels.to_string(),
            want: "n_mels",
        });
    }
    let count = u64::from(n_mels) * u64::from(n_freqs);
    let values = cursor.numbers(count, &"mel filters", f32::from_le_bytes)?;
    let mel_filters = Some(MelFilters {
        n_mels,
        n_freqs,
        values,
    });

    let count = cursor.u32(&"number of tokens")?;
    if count > dims.n_vocab {
        return Err(Error::Field {
            field: "number of tokens".to_owned(),
            found: count.to_string(),
            want: "at most n_vocab",
        });
    }
    let count = cursor.require(count.into(), 4, &"tokens")?;
    let mut tokens = Vec::with_capacity(count);
    for i in 0..count {
        let len = cursor.u32(&format_args!("length of token {i}"))?;
        tokens.push(
            cursor
                .take(len.into(), &format_args!("token {i}"))?
                .to_vec(),
        );
    }

    let mut found = HashMap::new();
    while !cursor.is_at_end() {
        let tensor = tensor(&mut cursor, found.len(), layout)?;
        if let Some(twice) = found.insert(tensor.name.clone(), tensor) {
            return Err(Error::DuplicateTensor { tensor: twice.name });
        }
    }
    Ok(Table {
        format: Format::Ggml,
        tensors: found,
        dims: Some(dims),
        settings: Settings {
            tokens: Some(tokens),
            mel_filters,
            ..Settings::default()
        },
        parts: vec![bytes],
    })
}

/// Tensor number `i`, quantised in layouts of version `layout`.
fn tensor(cursor: &mut Cursor<'_>, i: usize, layout: u32) -> Result<TensorInfo, Error> {
    let rank = cursor.u32(&format_args!("rank of tensor number {i}"))?;
    let len = cursor.u32(&format_args!("length of the name of tensor number {i}"))?;
    let id = cursor.u32(&format_args!("type of tensor number {i}"))?;
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(Error::Rank {
            tensor: format!("number {i}"),
            found: rank,
        });
    }
    let what = format_args!("dimensions of tensor number {i}");
    let dims = cursor.numbers(rank.into(), &what, |dim| u64::from(u32::from_le_bytes(dim)))?;
    let what = format_args!("name of tensor number {i}");
    let at = cursor.at();
    let name = match std::str::from_utf8(cursor.take(len.into(), &what)?) {
        Ok(name) => name.to_owned(),
        Err(_) => {
            return Err(Error::Utf8 {
                what: what.to_string(),
                at,
            });
        }
    };
    let dtype = match WeightType::from_ggml(id) {
        Ok(dtype) => dtype,
        Err(Error::WeightType { id, name: ty }) => {
            return Err(Error::TensorType {
                tensor: name,
                id,
                name: ty,
            });
        }
        Err(other) => return Err(other),
    };
    if dtype.block_len() > 1 && layout != LAYOUT_VERSION {
        return Err(Error::Unsupported {
            what: format!("tensor {name} of {dtype} in version {layout} of its layout"),
        });
    }
    let bytes = crate::gguf::tensor_bytes(&name, &dims, dtype)?;
    let offset = cursor.at();
    cursor.skip(bytes, &format_args!("data of tensor {name}"))?;
    Ok(TensorInfo {
        name,
        shape: dims.into_iter().rev().collect(),
        dtype,
        offset,
        bytes,
        part: 0,
    })
}
