//! The kernel cache: looked up before anything is emitted, bounded, least recently used out first.

use crate::{entry::Loaded, error::Error, lock::lock};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::{
    any::{Any, TypeId},
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use warpsmith_kernel::{Kernel, Options};

/// Counts of a kernel cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Look-ups that found the kernel.
    pub hits: u64,
    /// Look-ups that built it.
    pub misses: u64,
    /// Kernels held.
    pub entries: usize,
}

/// Kernels by type, value and options; target and device are the cache's own.
pub(crate) struct Cache {
    map: Mutex<Map>,
    capacity: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Default)]
struct Map {
    by_hash: FxHashMap<u64, SmallVec<[Entry; 1]>>,
    len: usize,
    clock: u64,
}

struct Entry {
    kernel: Box<dyn Any + Send + Sync>,
    options: Options,
    used: u64,
    slot: Arc<Slot>,
}

/// A place for a kernel; the first who needs it builds it, others wait for that.
#[derive(Default)]
struct Slot {
    loaded: OnceLock<Loaded>,
    building: Mutex<()>,
}

fn hash_of<K: Kernel>(kernel: &K, options: Options) -> u64 {
    let mut hasher = FxHasher::default();
    TypeId::of::<K>().hash(&mut hasher);
    kernel.hash(&mut hasher);
    options.hash(&mut hasher);
    hasher.finish()
}

impl Entry {
    fn is<K: Kernel>(&self, kernel: &K, options: Options) -> bool {
        self.options == options
            && self
                .kernel
                .downcast_ref::<K>()
                .is_some_and(|own| own == kernel)
    }
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Cache {
        Cache {
            map: Mutex::default(),
            capacity: capacity.max(1),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The slot of a kernel, made if there is none.
    fn slot<K: Kernel>(&self, hash: u64, kernel: &K, options: Options) -> Arc<Slot> {
        let mut map = lock(&self.map);
        map.clock += 1;
        let used = map.clock;
        if let Some(entries) = map.by_hash.get_mut(&hash)
            && let Some(entry) = entries.iter_mut().find(|entry| entry.is(kernel, options))
        {
            entry.used = used;
            return entry.slot.clone();
        }
        if map.len >= self.capacity {
            map.drop_oldest();
        }
        let slot = Arc::<Slot>::default();
        map.len += 1;
        map.by_hash.entry(hash).or_default().push(Entry {
            kernel: Box::new(kernel.clone()),
            options,
            used,
            slot: slot.clone(),
        });
        slot
    }

    /// The kernel, from the cache or by `build`, which runs at most once at a time for one kernel.
    pub(crate) fn find<K: Kernel>(
        &self,
        kernel: &K,
        options: Options,
        build: impl FnOnce() -> Result<Loaded, Error>,
    ) -> Result<Loaded, Error> {
        let hash = hash_of(kernel, options);
        let slot = self.slot(hash, kernel, options);
        let hit = |loaded: &Loaded| {
            self.hits.fetch_add(1, Relaxed);
            Ok(loaded.clone())
        };
        if let Some(loaded) = slot.loaded.get() {
            return hit(loaded);
        }
        let _building = lock(&slot.building);
        if let Some(loaded) = slot.loaded.get() {
            return hit(loaded);
        }
        self.misses.fetch_add(1, Relaxed);
        let _span = tracing::debug_span!("build", kernel = %kernel.name()).entered();
        match build() {
            Ok(loaded) => Ok(slot.loaded.get_or_init(|| loaded).clone()),
            Err(error) => {
                lock(&self.map).remove(hash, &slot);
                Err(error)
            }
        }
    }

    pub(crate) fn stats(&self) -> CacheStats {
        CacheStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            entries: lock(&self.map).len,
        }
    }

    pub(crate) fn clear(&self) {
        let gone = {
            let mut map = lock(&self.map);
            map.len = 0;
            std::mem::take(&mut map.by_hash)
        };
        drop(gone);
    }

    pub(crate) fn reset_stats(&self) {
        self.hits.store(0, Relaxed);
        self.misses.store(0, Relaxed);
    }
}

impl Map {
    fn drop_oldest(&mut self) {
        let all = self
            .by_hash
            .iter()
            .flat_map(|(hash, entries)| entries.iter().map(move |entry| (hash, entry)));
        let oldest = all
            .min_by_key(|(_, entry)| entry.used)
            .map(|(hash, entry)| (*hash, entry.slot.clone()));
        if let Some((hash, slot)) = oldest {
            self.remove(hash, &slot);
        }
    }

    fn remove(&mut self, hash: u64, slot: &Arc<Slot>) {
        if let Some(entries) = self.by_hash.get_mut(&hash) {
            let before = entries.len();
            entries.retain(|entry| !Arc::ptr_eq(&entry.slot, slot));
            self.len -= before - entries.len();
            if entries.is_empty() {
                self.by_hash.remove(&hash);
            }
        }
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stats().fmt(f)
    }
}
