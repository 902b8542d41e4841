//! Bytes that are looked at before they are passed on.

use std::io::{self, ErrorKind, Read};

/// Bytes that are asked for at a time.
const BLOCK: usize = 1 << 16;

/// A reader, and the bytes of it that were not yet taken.
pub(crate) struct Pending<R> {
    from: R,
    bytes: Vec<u8>,
    /// How many of `bytes` were taken.
    taken: usize,
    ended: bool,
}

impl<R: Read> Pending<R> {
    pub(crate) fn new(from: R) -> Pending<R> {
        Pending {
            from,
            bytes: Vec::new(),
            taken: 0,
            ended: false,
        }
    }

    /// Sees that `bytes` are there, if there are so many.
    pub(crate) fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        while self.there().len() < bytes && !self.ended {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            let there = self.bytes.len();
            self.bytes.resize(there + BLOCK, 0);
            let read = self.from.read(&mut self.bytes[there..]);
            self.bytes
                .truncate(there + read.as_ref().map_or(0, |&read| read));
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.there().len() >= bytes)
    }

    /// The bytes that are there.
    pub(crate) fn there(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Takes the first `bytes` of them.
    pub(crate) fn take(&mut self, bytes: usize) -> &[u8] {
        let from = self.taken;
        self.taken += bytes;
        &self.bytes[from..self.taken]
    }
}
