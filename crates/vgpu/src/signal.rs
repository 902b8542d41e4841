//! What the host waits for: the end of a read, a point in a stream.

use crate::error::Error;
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of a read, once it is done.
#[derive(Clone, Debug)]
pub struct Completion(Arc<Signal<Result<Vec<u8>, Error>>>);

/// A point in a stream.
#[derive(Clone, Debug)]
pub struct Event(Arc<Signal<Instant>>);

#[derive(Debug)]
struct Signal<T> {
    value: Mutex<Option<T>>,
    changed: Condvar,
}

impl<T> Signal<T> {
    fn new() -> Arc<Signal<T>> {
        Arc::new(Signal {
            value: Mutex::new(None),
            changed: Condvar::new(),
        })
    }

    fn set(&self, value: T) {
        *lock(&self.value) = Some(value);
        self.changed.notify_all();
    }

    fn wait(&self) -> MutexGuard<'_, Option<T>> {
        let mut value = lock(&self.value);
        while value.is_none() {
            value = self
                .changed
                .wait(value)
                .unwrap_or_else(PoisonError::into_inner);
        }
        value
    }
}

impl Completion {
    pub(crate) fn new() -> Completion {
        Completion(Signal::new())
    }

    pub(crate) fn set(&self, bytes: Result<Vec<u8>, Error>) {
        self.0.set(bytes);
    }

    /// Waits and takes the bytes; empty if they were taken before.
    ///
    /// # Errors
    /// Those of the read, or of the stream before it.
    pub fn wait(&self) -> Result<Vec<u8>, Error> {
        let mut value = self.0.wait();
        value
            .replace(Ok(Vec::new()))
            .unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Whether [`Completion::wait`] would not wait.
    pub fn is_done(&self) -> bool {
        lock(&self.0.value).is_some()
    }
}

impl Event {
    pub(crate) fn new() -> Event {
        Event(Signal::new())
    }

    pub(crate) fn set(&self, at: Instant) {
        self.0.set(at);
    }

    /// Waits for the stream to come to it.
    pub fn wait(&self) {
        drop(self.0.wait());
    }

    /// When the stream came to it.
    pub fn done_at(&self) -> Option<Instant> {
        *lock(&self.0.value)
    }
}
