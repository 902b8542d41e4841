//! Words that the host and a running kernel both see: flags to it, and what it produces while it runs.

use crate::{back::BackWords, device::Device, error::Error};

/// Words of memory shared by the host and running kernels: on a card page-locked memory of the host that is mapped to
/// the card's addresses. Nothing here waits, and nothing counts as a transfer.
///
/// Whoever drops it has waited for the kernels that use it.
#[derive(Debug)]
pub struct Words {
    back: Box<dyn BackWords>,
    len: usize,
    /// The memory is the device's: it stays for as long as there are words.
    _device: Device,
}

impl Device {
    /// `len` zeroed words.
    ///
    /// # Errors
    /// Out of memory.
    pub fn words(&self, len: usize) -> Result<Words, Error> {
        Ok(Words {
            back: self.0.back.words(len)?,
            len,
            _device: self.clone(),
        })
    }
}

impl Words {
    /// Address of the first word on the device.
    pub fn address(&self) -> u64 {
        self.back.address()
    }

    /// Words.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Word `index`, and all that a kernel wrote before it; `None` past the end.
    pub fn get(&self, index: usize) -> Option<u32> {
        (index < self.len).then(|| self.back.load(index))
    }

    /// Writes word `index` for kernels to see; false past the end.
    pub fn set(&self, index: usize, value: u32) -> bool {
        let inside = index < self.len;
        if inside {
            self.back.store(index, value);
        }
        inside
    }
}
