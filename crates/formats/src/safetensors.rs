//! safetensors files, in one file or in shards with an index.
//!
//! The `safetensors` crate checks the layout; before it sees a header, names that come twice and
//! ends past the file are refused here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use ::safetensors::tensor::Metadata;
use ::safetensors::{Dtype, SafeTensorError};

use crate::Error;
use crate::bytes::{Bytes, read_small};
use crate::cursor::Cursor;
use crate::input::is_there;
use crate::object::Object;
use crate::quant::WeightType;

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";
const METADATA: &str = "__metadata__";
/// An index larger than this is not one of ours.
const MAX_INDEX: u64 = 64 << 20;
/// The most that the format allows.
const MAX_HEADER: u64 = 100_000_000;

/// One safetensors file, or the shards of one model.
#[derive(Debug)]
pub struct Safetensors {
    tensors: Vec<TensorInfo>,
    index: HashMap<String, usize>,
    shards: Vec<Bytes>,
}

/// Where a tensor's bytes lie and how to read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, unique in the model.
    pub name: String,
    /// The dimensions, **slowest first** as in the file; none for a scalar.
    pub shape: Vec<u64>,
    /// [`WeightType::F32`], [`WeightType::F16`] or [`WeightType::BF16`].
    pub dtype: WeightType,
    /// The first byte, counted from the start of its shard.
    pub offset: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The shard that holds it: 0 unless there are several.
    pub shard: usize,
}

impl Safetensors {
    /// Opens a `.safetensors` file; or the shards that a `.json` index lists; or, of a folder, its
    /// `model.safetensors.index.json`, else its `model.safetensors`.
    ///
    /// # Errors
    /// What the system says, links to nothing, and everything that can be wrong with a file, each with its path.
    pub fn open(path: &Path) -> Result<Safetensors, Error> {
        if path.is_dir() {
            let files: &'static [&'static str] = &[INDEX, SINGLE];
            return match files
                .iter()
                .map(|name| path.join(name))
                .find(|file| is_there(file))
            {
                Some(file) => Safetensors::open_file(&file),
                None => Err(Error::EmptyFolder {
                    path: path.to_path_buf(),
                    want: files,
                }),
            };
        }
        Safetensors::open_file(path)
    }

    fn open_file(path: &Path) -> Result<Safetensors, Error> {
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            return open_shards(path);
        }
        let bytes = Bytes::open(path)?;
        let tensors = header(&bytes, 0).map_err(|e| e.in_file(path))?;
        Ok(Safetensors::join(tensors, vec![bytes]))
    }

    /// Reads a whole file that is in memory.
    ///
    /// # Errors
    /// As [`Safetensors::open`].
    pub fn parse(bytes: Vec<u8>) -> Result<Safetensors, Error> {
        Safetensors::from_bytes(Bytes::Owned(bytes))
    }

    /// As [`Safetensors::parse`], of bytes that may be in a file.
    pub(crate) fn from_bytes(bytes: Bytes) -> Result<Safetensors, Error> {
        let tensors = header(&bytes, 0)?;
        Ok(Safetensors::join(tensors, vec![bytes]))
    }

    /// The list of tensors and the bytes of the shards.
    pub(crate) fn into_parts(self) -> (Vec<TensorInfo>, Vec<Bytes>) {
        (self.tensors, self.shards)
    }

    /// Every tensor, in order of its bytes, shard after shard.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The tensor called `name`.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name).map(|&at| &self.tensors[at])
    }

    /// Puts the bytes of a tensor of this model into `out`, in place of what is there.
    ///
    /// # Errors
    /// What the system says, and [`Error::Shortened`] for a file that has become shorter.
    ///
    /// # Panics
    /// If `tensor` was altered, or comes from another model, and lies outside this one.
    pub fn read(&self, tensor: &TensorInfo, out: &mut Vec<u8>) -> Result<(), Error> {
        self.shards[tensor.shard].read(tensor.offset, tensor.bytes, out)
    }

    /// Checks that the files are still what they were when they were opened, as far as lengths and times tell.
    ///
    /// # Errors
    /// [`Error::Changed`] with the file that is not.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.shards.iter().try_for_each(Bytes::unchanged)
    }

    fn join(tensors: Vec<TensorInfo>, shards: Vec<Bytes>) -> Safetensors {
        let names = tensors.iter().enumerate();
        let index = names
            .map(|(at, tensor)| (tensor.name.clone(), at))
            .collect();
        Safetensors {
            tensors,
            index,
            shards,
        }
    }
}

/// The tensors that the index at `path` lists, each from the shard it is listed in.
fn open_shards(path: &Path) -> Result<Safetensors, Error> {
    let bytes = read_small(path, MAX_INDEX)?;
    let Object(index): Object<Index> = serde_json::from_slice(&bytes).map_err(|source| {
        let what = "index of shards";
        Error::Json { what, source }.in_file(path)
    })?;
    let mut by_shard: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (tensor, shard) in &index.weight_map.0 {
        by_shard.entry(shard).or_default().push(tensor);
    }
    let listed: HashSet<&str> = index
        .weight_map
        .0
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let (mut tensors, mut shards) = (Vec::new(), Vec::new());
    for (shard, names) in by_shard {
        let file = shard_path(path, shard).map_err(|e| e.in_file(path))?;
        let bytes = Bytes::open(&file)?;
        let found = header(&bytes, shards.len()).map_err(|e| e.in_file(&file))?;
        let mut found: HashMap<String, TensorInfo> = found
            .into_iter()
            .map(|tensor| (tensor.name.clone(), tensor))
            .collect();
        let from = tensors.len();
        for name in names {
            let tensor = found.remove(name).ok_or_else(|| {
                let error = Error::MissingTensor {
                    tensor: name.to_owned(),
                    shard: shard.to_owned(),
                };
                error.in_file(path)
            })?;
            tensors.push(tensor);
        }
        // What a shard has beyond the index is in the model all the same.
        for (name, tensor) in found {
            if listed.contains(name.as_str()) {
                return Err(Error::DuplicateTensor { tensor: name }.in_file(&file));
            }
            tensors.push(tensor);
        }
        tensors[from..].sort_by_key(|tensor| tensor.offset);
        shards.push(bytes);
    }
    let mut names = HashSet::new();
    if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
        let tensor = twice.name.clone();
        return Err(Error::DuplicateTensor { tensor }.in_file(path));
    }
    Ok(Safetensors::join(tensors, shards))
}

/// The path of a shard beside its index; names that lead elsewhere are refused.
fn shard_path(index: &Path, shard: &str) -> Result<PathBuf, Error> {
    let plain = !shard.is_empty()
        && shard != "."
        && shard != ".."
        && !shard.contains(['/', '\\', ':', '\0']);
    if plain {
        Ok(index.with_file_name(shard))
    } else {
        Err(Error::ShardName {
            shard: shard.to_owned(),
        })
    }
}

/// Reads the header of one file, which is shard number `shard`.
fn header(bytes: &Bytes, shard: usize) -> Result<Vec<TensorInfo>, Error> {
    let mut cursor = Cursor::new(bytes);
    let len = cursor.u64(&"length of the header")?;
    cursor.require(len, 1, &"header")?;
    if len > MAX_HEADER {
        return Err(Error::Length {
            what: "header".to_owned(),
            want: MAX_HEADER,
            found: len,
        });
    }
    let json = cursor.take(len, &"header")?;
    let available = bytes.len() - 8 - len;
    let entries: Pairs<Object<Entry>> =
        serde_json::from_slice(json).map_err(|source| Error::Json {
            what: "safetensors header",
            source,
        })?;
    let data_start = 8 + len;
    let mut tensors = Vec::with_capacity(entries.0.len());
    for (name, Object(entry)) in entries.0 {
        let dtype = match entry.dtype.as_str() {
            "F32" => WeightType::F32,
            "F16" => WeightType::F16,
            "BF16" => WeightType::BF16,
            _ => {
                return Err(Error::ElementType {
                    tensor: name,
                    found: entry.dtype,
                });
            }
        };
        let (start, end) = entry.data_offsets;
        if start > end || end > available {
            return Err(Error::OutOfFile {
                tensor: name,
                offset: start,
                bytes: end.saturating_sub(start),
                available,
            });
        }
        tensors.push(TensorInfo {
            name,
            shape: entry.shape,
            dtype,
            offset: data_start + start,
            bytes: end - start,
            shard,
        });
    }
    tensors.sort_by_key(|tensor: &TensorInfo| tensor.offset);
    let refused = |source| Error::Safetensors { source };
    // Shapes against sizes, gaps and overlaps; then bytes after the last tensor.
    let known = tensors.iter().map(|tensor| known(tensor, data_start));
    let known = Metadata::new(None, known.collect()).map_err(refused)?;
    if known.data_len() as u64 != available {
        return Err(refused(SafeTensorError::MetadataIncompleteBuffer));
    }
    Ok(tensors)
}

/// A tensor as the format's library knows it.
fn known(tensor: &TensorInfo, data_start: u64) -> (String, ::safetensors::tensor::TensorInfo) {
    let dtype = match tensor.dtype {
        WeightType::F16 => Dtype::F16,
        WeightType::BF16 => Dtype::BF16,
        _ => Dtype::F32,
    };
    let start = (tensor.offset - data_start) as usize;
    let info = ::safetensors::tensor::TensorInfo {
        dtype,
        shape: tensor.shape.iter().map(|dim| *dim as usize).collect(),
        data_offsets: (start, start + tensor.bytes as usize),
    };
    (tensor.name.clone(), info)
}

#[derive(serde::Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

#[derive(serde::Deserialize)]
struct Index {
    weight_map: Pairs<String>,
}

/// A JSON object as a list, with names that come twice refused and `__metadata__` left out.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Pairs<T>, D::Error> {
        struct Reader<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        let twice = format_args!("{name:?} is given twice").to_string();
                        return Err(serde::de::Error::custom(twice));
                    }
                    if name == METADATA {
                        map.next_value::<Option<HashMap<String, String>>>()?;
                    } else {
                        pairs.push((name, map.next_value()?));
                    }
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Reader(std::marker::PhantomData))
    }
}
