//! The bytes of one file, read as they are asked for, or in memory.
//!
//! A file is read and never mapped: a map of a file that somebody shortens ends the program by a signal, while a read
//! that finds less than there was is an error with the file's name.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Error;

/// Bytes that can be read again and again.
#[derive(Debug)]
pub(crate) enum Bytes {
    Owned(Vec<u8>),
    File(OpenFile),
}

/// A regular file, as it was when it was opened.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    /// Its length and time.
    opened: Metadata,
    /// One reader at a time: where a file is read is the file's.
    file: Mutex<File>,
}

impl Bytes {
    /// Opens a regular file; what is none is refused before it is opened, as that may wait for ever.
    pub(crate) fn open(path: &Path) -> Result<Bytes, Error> {
        let io = |source: std::io::Error| match std::fs::read_link(path) {
            Ok(target) if source.kind() == ErrorKind::NotFound => Error::DanglingLink {
                path: path.to_path_buf(),
                target,
            },
            Ok(_) | Err(_) => Error::Io {
                path: path.to_path_buf(),
                source,
            },
        };
        let regular = |facts: &Metadata| match facts.is_file() {
            true => Ok(()),
            false => Err(Error::NotAFile {
                path: path.to_path_buf(),
            }),
        };
        regular(&std::fs::metadata(path).map_err(io)?)?;
        let file = File::open(path).map_err(io)?;
        let opened = file.metadata().map_err(io)?;
        regular(&opened)?;
        Ok(Bytes::File(OpenFile {
            path: path.to_path_buf(),
            opened,
            file: Mutex::new(file),
        }))
    }

    /// The number of bytes, of a file when it was opened.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Bytes::Owned(bytes) => bytes.len() as u64,
            Bytes::File(open) => open.opened.len(),
        }
    }

    /// The first bytes, at most `most` of them.
    pub(crate) fn first(&self, most: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.read(0, most.min(self.len()), &mut bytes)?;
        Ok(bytes)
    }

    /// All bytes of a file that is expected to be small.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for one of more than `most`.
    pub(crate) fn all(&self, most: u64) -> Result<Vec<u8>, Error> {
        match self.len() > most {
            true => Err(Error::TooLarge {
                most,
                found: self.len(),
            }),
            false => self.first(most),
        }
    }

    /// Puts `len` bytes from `at` on into `out`, in place of what is there.
    ///
    /// # Errors
    /// What the system says, and [`Error::Shortened`] for a file that has become shorter.
    ///
    /// # Panics
    /// If there were never so many bytes.
    pub(crate) fn read(&self, at: u64, len: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = at.checked_add(len).filter(|end| *end <= self.len());
        let end = end.expect("callers compare with the length");
        match self {
            Bytes::Owned(bytes) => {
                out.clear();
                out.extend_from_slice(&bytes[at as usize..end as usize]);
                Ok(())
            }
            Bytes::File(open) => open.read(at, len, out),
        }
    }

    /// Checks that a file is still what it was when it was opened, as far as its length and time tell.
    pub(crate) fn unchanged(&self) -> Result<(), Error> {
        match self {
            Bytes::Owned(_) => Ok(()),
            Bytes::File(open) => open.unchanged(),
        }
    }
}

impl OpenFile {
    fn io(&self, source: std::io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn read(&self, at: u64, len: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        // A buffer that is used again keeps its bytes, which are overwritten: nothing is set to zero twice.
        out.resize(len as usize, 0);
        let read = {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(at))
                .and_then(|_| file.read_exact(out))
        };
        match read {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let found = self.facts()?.len();
                Err(Error::Shortened {
                    path: self.path.clone(),
                    was: self.opened.len(),
                    // It may have grown again since.
                    found: found.min(at + len - 1),
                })
            }
            Err(error) => Err(self.io(error)),
        }
    }

    fn facts(&self) -> Result<Metadata, Error> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.metadata().map_err(|source| self.io(source))
    }

    fn unchanged(&self) -> Result<(), Error> {
        let facts = self.facts()?;
        let (was, is) = (&self.opened, &facts);
        // Where the system tells no times, lengths have to do.
        if was.len() == is.len() && was.modified().ok() == is.modified().ok() {
            return Ok(());
        }
        Err(Error::Changed {
            path: self.path.clone(),
        })
    }
}

/// The whole of a small regular file.
///
/// # Errors
/// What the system says; [`Error::NotAFile`] for what is no regular file, which might never end;
/// [`Error::TooLarge`] for one of more than `most` bytes, each with the path.
pub fn read_small(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let bytes = Bytes::open(path)?;
    bytes.all(most).map_err(|error| error.in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_becomes_shorter_is_an_error_with_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model");
        std::fs::write(&path, [7; 100]).expect("written");
        let bytes = Bytes::open(&path).expect("a file");
        assert_eq!(bytes.len(), 100);
        let mut out = vec![1; 200];
        bytes.read(90, 10, &mut out).expect("all there");
        assert_eq!(out, [7; 10]);
        bytes.unchanged().expect("the same");
        let file = File::options().write(true).open(&path).expect("a file");
        file.set_len(95).expect("shortened");
        bytes.read(80, 15, &mut out).expect("still there");
        let error = bytes.read(90, 10, &mut out).expect_err("cut off");
        let shortened = matches!(
            &error,
            Error::Shortened { path: named, was: 100, found: 95 } if *named == path
        );
        assert!(shortened, "{error}");
        let error = bytes.unchanged().expect_err("another length");
        assert!(matches!(&error, Error::Changed { path: named } if *named == path));
    }

    #[test]
    fn what_is_no_regular_file_or_too_large_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = read_small(folder.path(), 10).expect_err("a folder");
        assert!(matches!(error, Error::NotAFile { .. }), "{error}");
        let path = folder.path().join("small");
        std::fs::write(&path, [7; 11]).expect("written");
        let error = read_small(&path, 10).expect_err("too large");
        let Error::InFile { path: named, error } = error else {
            panic!("{error}");
        };
        assert_eq!(named, path);
        assert!(matches!(
            *error,
            Error::TooLarge {
                most: 10,
                found: 11
            }
        ));
        assert_eq!(read_small(&path, 11).expect("small"), [7; 11]);
        let none = Bytes::Owned(Vec::new());
        assert_eq!(none.first(8).expect("nothing"), [0; 0]);
    }
}
