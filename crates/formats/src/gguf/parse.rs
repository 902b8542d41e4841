//! The header of one file: everything before the data section, checked against its size.

use super::TensorInfo;
use super::metadata::Metadata;
use super::value::Value;
use crate::Error;
use crate::bytes::Bytes;
use crate::cursor::Cursor;
use crate::quant::WeightType;

pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
pub(super) const ALIGNMENT: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u32 = 32;
const MAX_RANK: u32 = 4;

/// A key has its length, a type and at least one byte of value.
const MIN_PAIR_BYTES: u64 = 8 + 4 + 1;
/// A tensor has the length of its name, its rank, one dimension, type and offset.
const MIN_TENSOR_BYTES: u64 = 8 + 4 + 8 + 4 + 8;

#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) metadata: Metadata,
    pub(super) tensors: Vec<TensorInfo>,
}

/// Reads the header of the file that is part number `part`.
pub(super) fn header(bytes: &Bytes, part: usize) -> Result<Header, Error> {
    let mut cursor = Cursor::new(bytes);
    let magic = bytes.first(MAGIC.len() as u64)?;
    if magic != MAGIC {
        return Err(Error::Magic { found: magic });
    }
    cursor.take(MAGIC.len() as u64, &"magic")?;
    let version = cursor.u32(&"version")?;
    if !(2..=3).contains(&version) {
        return Err(match version.swap_bytes() {
            swapped @ 1..=3 => Error::BigEndian { version: swapped },
            _ => Error::Version { found: version },
        });
    }
    let tensor_count = cursor.u64(&"number of tensors")?;
    let pair_count = cursor.u64(&"number of metadata keys")?;

    let pair_count = cursor.require(pair_count, MIN_PAIR_BYTES, &"list of metadata")?;
    let mut pairs = Vec::with_capacity(pair_count);
    for i in 0..pair_count {
        let key = cursor.string(&format_args!("metadata key number {i}"))?;
        let value = Value::read(&mut cursor, &key)?;
        pairs.push((key, value));
    }
    let metadata = Metadata::from_pairs(pairs)?;
    let alignment = alignment(&metadata)?;

    let tensor_count = cursor.require(tensor_count, MIN_TENSOR_BYTES, &"list of tensors")?;
    let mut tensors = Vec::with_capacity(tensor_count);
    for i in 0..tensor_count {
        tensors.push(tensor(&mut cursor, i, alignment, part)?);
    }
    // The header's end is at most the file's, so neither sum comes near overflow.
    let data_start = cursor.at().next_multiple_of(alignment);
    place(&mut tensors, data_start, bytes.len())?;
    Ok(Header {
        version,
        metadata,
        tensors,
    })
}

/// The alignment that the metadata asks for.
pub(super) fn alignment(metadata: &Metadata) -> Result<u64, Error> {
    let found = metadata.opt_u32(ALIGNMENT)?.unwrap_or(DEFAULT_ALIGNMENT);
    if found < 8 || !found.is_power_of_two() {
        return Err(Error::Alignment { found });
    }
    Ok(found.into())
}

/// Tensor number `i` of the list; its offset still counts from the start of the data section.
fn tensor(
    cursor: &mut Cursor<'_>,
    i: usize,
    alignment: u64,
    part: usize,
) -> Result<TensorInfo, Error> {
    let name = cursor.string(&format_args!("name of tensor number {i}"))?;
    let rank = cursor.u32(&format_args!("rank of tensor {name}"))?;
    if !(1..=MAX_RANK).contains(&rank) {
        return Err(Error::Rank {
            tensor: name,
            found: rank,
        });
    }
    let what = format_args!("dimensions of tensor {name}");
    let dims = cursor.numbers(rank.into(), &what, u64::from_le_bytes)?;
    let id = cursor.u32(&format_args!("type of tensor {name}"))?;
    let offset = cursor.u64(&format_args!("offset of tensor {name}"))?;
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
    let bytes = size(&name, &dims, dtype)?;
    if !offset.is_multiple_of(alignment) {
        return Err(Error::Misaligned {
            tensor: name,
            offset,
            alignment,
        });
    }
    Ok(TensorInfo {
        name,
        dims,
        dtype,
        offset,
        bytes,
        part,
    })
}

/// The bytes of a tensor, once its dimensions make sense.
pub(crate) fn size(name: &str, dims: &[u64], dtype: WeightType) -> Result<u64, Error> {
    if dims.is_empty() || dims.len() > MAX_RANK as usize {
        return Err(Error::Rank {
            tensor: name.to_owned(),
            found: dims.len() as u32,
        });
    }
    if dims.contains(&0) {
        return Err(Error::ZeroDim {
            tensor: name.to_owned(),
            dims: dims.to_vec(),
        });
    }
    if !dims[0].is_multiple_of(dtype.block_len() as u64) {
        return Err(Error::RowLength {
            tensor: name.to_owned(),
            row_len: dims[0],
            block_len: dtype.block_len(),
            dtype: dtype.name(),
        });
    }
    dims.iter()
        .try_fold(1u64, |product, &dim| product.checked_mul(dim))
        .and_then(|elements| dtype.bytes_of(elements))
        .ok_or_else(|| Error::SizeOverflow {
            tensor: name.to_owned(),
            dims: dims.to_vec(),
        })
}

/// Makes offsets absolute, once every tensor is inside the file and apart from the others.
fn place(tensors: &mut [TensorInfo], data_start: u64, file_len: u64) -> Result<(), Error> {
    let available = file_len.saturating_sub(data_start);
    for tensor in tensors.iter_mut() {
        let end = tensor.offset.checked_add(tensor.bytes);
        if end.is_none_or(|end| end > available) {
            return Err(Error::OutOfFile {
                tensor: tensor.name.clone(),
                offset: tensor.offset,
                bytes: tensor.bytes,
                available,
            });
        }
        tensor.offset += data_start;
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_by_key(|tensor| tensor.offset);
    for pair in by_offset.windows(2) {
        if pair[0].offset + pair[0].bytes > pair[1].offset {
            return Err(Error::Overlap {
                first: pair[0].name.clone(),
                second: pair[1].name.clone(),
            });
        }
    }
    Ok(())
}
