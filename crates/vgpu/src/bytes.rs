//! Bytes on their way to device memory.

use std::sync::Arc;

/// Bytes to be written: owned, or shared with the caller.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Owned.
    Owned(Vec<u8>),
    /// Shared.
    Shared(Arc<[u8]>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes::Owned(bytes)
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Bytes {
        Bytes::Shared(bytes)
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Shared(bytes) => bytes,
        }
    }
}
