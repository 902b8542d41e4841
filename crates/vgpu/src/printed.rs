//! What kernels print: the text of each call of `vprintf`, in the order in which the calls ran.

use std::sync::{Mutex, PoisonError};

/// Bytes that are kept until they are taken; what comes after them is lost.
const MOST: usize = 64 << 20;

/// Text that nobody has taken yet.
#[derive(Default)]
pub(crate) struct Printed(Mutex<Vec<u8>>);

impl Printed {
    /// Adds the text of one call.
    pub(crate) fn add(&self, text: &[u8]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() + text.len() <= MOST {
            all.extend_from_slice(text);
        }
    }

    /// All of it; bytes that are not UTF-8 are replaced.
    pub(crate) fn take(&self) -> String {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut *all)).into_owned()
    }
}
