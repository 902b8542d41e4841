//! Handles: numbers that stand for objects and are never given twice.

use crate::status::Status;
use rustc_hash::FxHashMap;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// A handle as the program holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct Handle(pub(crate) usize);

impl Handle {
    pub(crate) const NULL: Handle = Handle(0);
}

/// Locks; what a panicking thread left is whole, as no lock is held over code that can panic half-way.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The objects of one kind.
pub(crate) struct Table<T>(Mutex<FxHashMap<usize, Arc<T>>>);

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table(Mutex::default())
    }
}

impl<T> Table<T> {
    pub(crate) fn insert(&self, object: Arc<T>) -> Handle {
        /// Shared by all kinds, so that a handle of one kind is none of another; none is a small number, as `CUstream`
        /// gives those a meaning.
        static NEXT: AtomicU64 = AtomicU64::new(0x5753_0000);
        let number = NEXT.fetch_add(1, Relaxed) as usize * 16;
        lock(&self.0).insert(number, object);
        Handle(number)
    }

    /// The same for an object that has its number from elsewhere.
    pub(crate) fn insert_as(&self, handle: Handle, object: Arc<T>) {
        lock(&self.0).insert(handle.0, object);
    }

    pub(crate) fn find(&self, handle: Handle) -> Result<Arc<T>, Status> {
        let found = lock(&self.0).get(&handle.0).cloned();
        found.ok_or(Status::InvalidHandle)
    }

    pub(crate) fn remove(&self, handle: Handle) -> Result<Arc<T>, Status> {
        let found = lock(&self.0).remove(&handle.0);
        found.ok_or(Status::InvalidHandle)
    }

    /// The handle of an object.
    pub(crate) fn handle_of(&self, object: &Arc<T>) -> Option<Handle> {
        let table = lock(&self.0);
        let mut all = table.iter();
        let found = all.find(|(_, other)| Arc::ptr_eq(other, object));
        found.map(|(number, _)| Handle(*number))
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        lock(&self.0).values().cloned().collect()
    }

    /// Looks at each, outside of the lock.
    pub(crate) fn each(&self, look: impl Fn(&T)) {
        self.all().iter().for_each(|object| look(object));
    }

    /// Forgets those that `goes` is true of; they are dropped outside of the lock.
    pub(crate) fn forget(&self, goes: impl Fn(&T) -> bool) {
        let mut table = lock(&self.0);
        let gone: Vec<Arc<T>> = table
            .extract_if(|_, object| goes(object))
            .map(|(_, o)| o)
            .collect();
        drop(table);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_for_one_object_until_that_goes() {
        let (a, b) = (Table::default(), Table::default());
        let one = a.insert(Arc::new(1));
        let two = b.insert(Arc::new(2));
        assert_eq!(a.find(one).as_deref(), Ok(&1));
        assert_eq!(a.find(two), Err(Status::InvalidHandle));
        assert_eq!(a.find(Handle::NULL), Err(Status::InvalidHandle));
        assert_eq!(a.remove(one).as_deref(), Ok(&1));
        assert_eq!(a.find(one), Err(Status::InvalidHandle));
        assert_eq!(a.remove(one), Err(Status::InvalidHandle));
        assert_ne!(a.insert(Arc::new(3)), one);
        a.forget(|n| *n == 3);
        b.forget(|n| *n == 3);
        assert_eq!(b.find(two).as_deref(), Ok(&2));
    }
}
