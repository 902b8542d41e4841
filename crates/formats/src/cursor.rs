//! Reading forward through bytes that may end too soon.

use std::fmt::Display;

use crate::Error;
use crate::bytes::Bytes;

/// What is read of a file at once.
const WINDOW: u64 = 64 << 10;

/// A place in a file. What is read is named by a `Display`, which is formatted only for an error.
pub(crate) struct Cursor<'a> {
    bytes: &'a Bytes,
    at: u64,
    /// Bytes of the file from `from` on.
    window: Vec<u8>,
    from: u64,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a Bytes) -> Cursor<'a> {
        Cursor {
            bytes,
            at: 0,
            window: Vec::new(),
            from: 0,
        }
    }

    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: u64, what: &dyn Display) -> Result<&[u8], Error> {
        self.require(len, 1, what)?;
        let at = self.at;
        self.at += len;
        if let Bytes::Owned(bytes) = self.bytes {
            return Ok(&bytes[at as usize..][..len as usize]);
        }
        let have = self.from..self.from + self.window.len() as u64;
        if !(have.contains(&at) && self.at <= have.end) {
            let read = len.max(WINDOW).min(self.bytes.len() - at);
            self.bytes.read(at, read, &mut self.window)?;
            self.from = at;
        }
        Ok(&self.window[(at - self.from) as usize..][..len as usize])
    }

    /// Goes over `len` bytes without reading them.
    pub(crate) fn skip(&mut self, len: u64, what: &dyn Display) -> Result<(), Error> {
        self.require(len, 1, what)?;
        self.at += len;
        Ok(())
    }

    /// Checks that `count` things of at least `each` bytes can follow, and returns `count` as a size
    /// that may be allocated.
    pub(crate) fn require(
        &self,
        count: u64,
        each: u64,
        what: &dyn Display,
    ) -> Result<usize, Error> {
        let left = self.bytes.len() - self.at;
        let needed = count.saturating_mul(each);
        if needed > left {
            return Err(Error::Truncated {
                what: what.to_string(),
                at: self.at(),
                needed,
                left,
            });
        }
        Ok(count as usize)
    }

    pub(crate) fn number<const N: usize>(&mut self, what: &dyn Display) -> Result<[u8; N], Error> {
        let (chunks, _) = self.take(N as u64, what)?.as_chunks::<N>();
        Ok(chunks[0])
    }

    /// `count` numbers of `N` bytes, each given to `read`.
    pub(crate) fn numbers<const N: usize, T>(
        &mut self,
        count: u64,
        what: &dyn Display,
        read: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>, Error> {
        self.require(count, N as u64, what)?;
        let (chunks, _) = self.take(count * N as u64, what)?.as_chunks::<N>();
        Ok(chunks.iter().map(|chunk| read(*chunk)).collect())
    }

    pub(crate) fn u32(&mut self, what: &dyn Display) -> Result<u32, Error> {
        self.number(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &dyn Display) -> Result<u64, Error> {
        self.number(what).map(u64::from_le_bytes)
    }

    /// A 64-bit length and that many bytes of UTF-8.
    pub(crate) fn string(&mut self, what: &dyn Display) -> Result<String, Error> {
        let len = self.u64(what)?;
        let at = self.at();
        let bytes = self.take(len, what)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Error::Utf8 {
                what: what.to_string(),
                at,
            }),
        }
    }
}
