//! GGUF files, versions 2 and 3, little-endian, in one file or split into parts.
//!
//! A file is a header, metadata (ordered keys with typed values), the list of tensors, and the data
//! section, which begins on the file's alignment. [`Gguf::open`] reads all but the
//! data, and checks that every tensor lies inside it and shares no byte with another.

mod metadata;
mod parse;
mod value;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub use metadata::Metadata;
pub(crate) use parse::MAGIC;
pub(crate) use parse::size as tensor_bytes;
pub use value::{Array, Value};
pub use writer::Writer;

use crate::Error;
use crate::bytes::Bytes;
use crate::input::is_there;
use crate::quant::WeightType;
use parse::Header;

const SPLIT_NUMBER: &str = "split.no";
const SPLIT_COUNT: &str = "split.count";
const SPLIT_TENSORS: &str = "split.tensors.count";

/// A GGUF file, checked: what it lists is there.
///
/// ```
/// use std::path::Path;
/// use warpsmith_formats::gguf::Gguf;
///
/// # let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../suite/reference/synth/tiny-llama3.gguf"));
/// let file = Gguf::open(path)?; // such as "smollm2.gguf"
/// for tensor in file.tensors() {
///     println!("{}: {} rows of {}", tensor.name, tensor.rows(), tensor.row_len());
/// }
/// assert!(file.tensor("token_embd.weight").is_some());
/// # Ok::<(), warpsmith_formats::Error>(())
/// ```
#[derive(Debug)]
pub struct Gguf {
    version: u32,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    index: HashMap<String, usize>,
    parts: Vec<Bytes>,
}

/// Where a tensor's bytes lie and how to read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, unique in the file.
    pub name: String,
    /// One to four dimensions, none of them zero, **fastest first** as in the file.
    pub dims: Vec<u64>,
    /// The layout of the bytes.
    pub dtype: WeightType,
    /// The first byte, counted from the start of its part.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The part that holds it: 0 unless the file is split.
    pub part: usize,
}

impl TensorInfo {
    /// The length of a row: the fastest dimension, a multiple of the block length.
    pub fn row_len(&self) -> u64 {
        self.dims[0]
    }

    /// The number of rows: the product of the other dimensions.
    pub fn rows(&self) -> u64 {
        self.dims[1..].iter().product()
    }

    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }
}

impl Gguf {
    /// Opens the file at `path`, and all its parts if it is the first of a split file.
    ///
    /// Costs time in the number of keys and tensors; the data is not read.
    ///
    /// # Errors
    /// What the system says, and everything that can be wrong with a file, each with its path.
    pub fn open(path: &Path) -> Result<Gguf, Error> {
        let first = open_part(path, 0)?;
        let paths = part_paths(path, &first.1.metadata).map_err(|e| e.in_file(path))?;
        let mut parts = vec![first];
        for (part, path) in paths.iter().enumerate() {
            let part = part + 1;
            let opened = open_part(path, part)?;
            check_part(&opened.1.metadata, part, paths.len() + 1).map_err(|e| e.in_file(path))?;
            parts.push(opened);
        }
        Gguf::join(parts).map_err(|e| e.in_file(path))
    }

    /// Reads a whole file that is in memory.
    ///
    /// # Errors
    /// As [`Gguf::open`]; also for a part of a split file, whose other parts have no place here.
    pub fn parse(bytes: Vec<u8>) -> Result<Gguf, Error> {
        Gguf::from_bytes(Bytes::Owned(bytes))
    }

    /// As [`Gguf::parse`], of bytes that may be in a file.
    pub(crate) fn from_bytes(bytes: Bytes) -> Result<Gguf, Error> {
        let header = parse::header(&bytes, 0)?;
        if let (number, count @ 2..) = split_of(&header.metadata)? {
            return Err(Error::SplitPart {
                number: number.saturating_add(1),
                count,
            });
        }
        Gguf::join(vec![(bytes, header)])
    }

    /// The version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The metadata, of the first part if the file is split.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Every tensor, in file order, part after part.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor called `name`.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name).map(|&at| &self.tensors[at])
    }

    /// Puts the bytes of a tensor of this file into `out`, in place of what is there.
    ///
    /// # Errors
    /// What the system says, and [`Error::Shortened`] for a file that has become shorter.
    ///
    /// # Panics
    /// If `tensor` was altered, or comes from another file, and lies outside this one.
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

    /// The list of tensors and the bytes of the parts.
    pub(crate) fn into_parts(self) -> (Vec<TensorInfo>, Vec<Bytes>) {
        (self.tensors, self.parts)
    }

    fn join(parts: Vec<(Bytes, Header)>) -> Result<Gguf, Error> {
        let mut parts = parts.into_iter();
        let (bytes, first) = parts.next().expect("callers give at least one part");
        let mut whole = Gguf {
            version: first.version,
            metadata: first.metadata,
            tensors: first.tensors,
            index: HashMap::new(),
            parts: vec![bytes],
        };
        for (bytes, header) in parts {
            whole.tensors.extend(header.tensors);
            whole.parts.push(bytes);
        }
        for (at, tensor) in whole.tensors.iter().enumerate() {
            if whole.index.insert(tensor.name.clone(), at).is_some() {
                return Err(Error::DuplicateTensor {
                    tensor: tensor.name.clone(),
                });
            }
        }
        if whole.parts.len() > 1 {
            let want = whole.metadata.u64(SPLIT_TENSORS)?;
            let found = whole.tensors.len() as u64;
            if want != found {
                return Err(Error::SplitMismatch {
                    key: SPLIT_TENSORS,
                    want,
                    found,
                });
            }
        }
        Ok(whole)
    }
}

fn open_part(path: &Path, part: usize) -> Result<(Bytes, Header), Error> {
    let bytes = Bytes::open(path)?;
    let header = parse::header(&bytes, part).map_err(|e| e.in_file(path))?;
    Ok((bytes, header))
}

/// The number of this part, from 0, and of all parts; 0 and 1 for a file that is not split.
fn split_of(metadata: &Metadata) -> Result<(u32, u32), Error> {
    match metadata.opt_u32(SPLIT_COUNT)? {
        None | Some(0 | 1) => Ok((0, 1)),
        Some(count) => Ok((metadata.u32(SPLIT_NUMBER)?, count)),
    }
}

/// The paths of the parts after the first one, which is at `path`.
fn part_paths(path: &Path, metadata: &Metadata) -> Result<Vec<PathBuf>, Error> {
    let (number, count) = split_of(metadata)?;
    if count == 1 {
        return Ok(Vec::new());
    }
    if number != 0 {
        return Err(Error::SplitPart {
            number: number.saturating_add(1),
            count,
        });
    }
    // Names count from 1, keys from 0; a part that is not there ends the list.
    let suffix = |number: u32| format!("-{number:05}-of-{count:05}.gguf");
    let stem = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_suffix(&suffix(1)))
        .ok_or_else(|| Error::SplitName {
            path: path.to_path_buf(),
            suffix: suffix(1),
        })?;
    let mut paths = Vec::new();
    for number in 2..=count {
        let path = path.with_file_name(format!("{stem}{}", suffix(number)));
        let missing = !is_there(&path);
        paths.push(path);
        if missing {
            break;
        }
    }
    Ok(paths)
}

fn check_part(metadata: &Metadata, part: usize, count: usize) -> Result<(), Error> {
    for (key, want) in [(SPLIT_NUMBER, part as u64), (SPLIT_COUNT, count as u64)] {
        let found = metadata.u64(key)?;
        if found != want {
            return Err(Error::SplitMismatch { key, want, found });
        }
    }
    Ok(())
}
