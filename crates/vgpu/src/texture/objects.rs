//! Handles of textures and surfaces, as kernels hold them.

use super::{Surface, Texture};
use rustc_hash::FxHashMap;
use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// What a handle stands for.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    Texture(Arc<Texture>),
    Surface(Surface),
}

/// All of a machine. No handle is given twice, by whatever machine.
#[derive(Default)]
pub(crate) struct Objects {
    all: RwLock<FxHashMap<u64, Object>>,
}

/// Handles are no addresses and no small numbers, so that neither passes for one.
const FIRST: u64 = 0x7E00_0000_0001;

impl Objects {
    pub(crate) fn insert(&self, object: Object) -> u64 {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let handle = FIRST + 16 * MADE.fetch_add(1, Relaxed);
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(handle, object);
        handle
    }

    /// Whether there was one.
    pub(crate) fn remove(&self, handle: u64) -> bool {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(&handle).is_some()
    }

    pub(crate) fn find(&self, handle: u64) -> Option<Object> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&handle).cloned()
    }
}
