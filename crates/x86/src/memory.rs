//! Pages for code: writable while it is copied there, executable from then on, never both.

use memmap2::{Mmap, MmapMut};
use std::io;

/// Code that can be called.
#[derive(Debug)]
pub struct Executable(Mmap);

impl Executable {
    /// Copies code to pages of its own.
    ///
    /// # Errors
    /// If the system gives no pages, or lets none be executable.
    pub fn new(code: &[u8]) -> io::Result<Executable> {
        let mut pages = MmapMut::map_anon(code.len().max(1))?;
        pages[..code.len()].copy_from_slice(code);
        pages.make_exec().map(Executable)
    }

    /// The address of the byte at `offset`.
    pub fn address(&self, offset: usize) -> *const u8 {
        self.0[offset..].as_ptr()
    }
}
