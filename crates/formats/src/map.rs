//! The bytes of one file, mapped or owned.

#![allow(unsafe_code)]

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use crate::Error;

/// Bytes that stay where they are for as long as their owner lives.
#[derive(Debug)]
pub(crate) enum Bytes {
    Owned(Vec<u8>),
    Mapped(memmap2::Mmap),
}

impl Bytes {
    /// Maps a whole file read-only; an empty file is an empty slice.
    pub(crate) fn map(path: &Path) -> Result<Bytes, Error> {
        let io = |source| Error::Io {
            path: path.to_path_buf(),
            source,
        };
        // A pipe would wait at opening for somebody who writes.
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Err(Error::NotAFile {
                path: path.to_path_buf(),
            });
        }
        let file = File::open(path).map_err(io)?;
        let facts = file.metadata().map_err(io)?;
        if !facts.is_file() {
            return Err(Error::NotAFile {
                path: path.to_path_buf(),
            });
        }
        if facts.len() == 0 {
            return Ok(Bytes::Owned(Vec::new()));
        }
        // SAFETY: the mapping is private and read-only, and lives as long as `Bytes`. That nobody
        // shortens or rewrites the file meanwhile is the user's to hold, as for every program that
        // maps its models: model files are written once.
        let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(&file) }.map_err(io)?;
        Ok(Bytes::Mapped(map))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}
