//! Locks that no panic poisons.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; what a panicking thread left is still whole, as no lock here is held over code of others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
