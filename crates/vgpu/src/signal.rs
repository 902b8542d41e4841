//! What the host waits for: the end of a read, a point in a stream.

use crate::{
    check::{Host, Progress},
    error::Error,
    outside::Outside,
};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes of a read, once it is done.
#[derive(Clone, Debug)]
pub struct Completion {
    signal: Arc<Signal<Result<Vec<u8>, Error>>>,
    waited: Option<Waited>,
    outside: Arc<Outside>,
}

/// A point in a stream.
#[derive(Clone, Debug)]
pub struct Event {
    signal: Arc<Signal<Instant>>,
    waited: Option<Waited>,
    outside: Arc<Outside>,
}

/// What a wait of the host makes known to a checker.
#[derive(Clone, Debug)]
pub(crate) struct Waited {
    pub(crate) point: Progress,
    pub(crate) host: Host,
}

impl Waited {
    pub(crate) fn note(own: Option<&Waited>) {
        if let Some(own) = own {
            own.host.waited(&own.point);
        }
    }
}

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
    pub(crate) fn new(waited: Option<Waited>, outside: &Arc<Outside>) -> Completion {
        Completion {
            signal: Signal::new(),
            waited,
            outside: Arc::clone(outside),
        }
    }

    pub(crate) fn set(&self, bytes: Result<Vec<u8>, Error>) {
        self.signal.set(bytes);
    }

    /// Waits and takes the bytes; empty if they were taken before.
    ///
    /// # Errors
    /// Those of the read, or of the stream before it.
    pub fn wait(&self) -> Result<Vec<u8>, Error> {
        let waits = self.outside.wait();
        let mut value = self.signal.wait();
        drop(waits);
        Waited::note(self.waited.as_ref());
        value
            .replace(Ok(Vec::new()))
            .unwrap_or_else(|| Ok(Vec::new()))
    }

    /// Whether [`Completion::wait`] would not wait.
    pub fn is_done(&self) -> bool {
        lock(&self.signal.value).is_some()
    }
}

impl Event {
    pub(crate) fn new(waited: Option<Waited>, outside: &Arc<Outside>) -> Event {
        Event {
            signal: Signal::new(),
            waited,
            outside: Arc::clone(outside),
        }
    }

    pub(crate) fn set(&self, at: Instant) {
        self.signal.set(at);
    }

    /// Waits for the stream to come to it.
    pub fn wait(&self) {
        let waits = self.outside.wait();
        self.reached();
        drop(waits);
        Waited::note(self.waited.as_ref());
    }

    /// Waits, which tells the host nothing.
    pub(crate) fn reached(&self) {
        drop(self.signal.wait());
    }

    /// What it comes after.
    pub(crate) fn point(&self) -> Option<&Progress> {
        self.waited.as_ref().map(|waited| &waited.point)
    }

    /// When the stream came to it; the host then knows that it did.
    pub fn done_at(&self) -> Option<Instant> {
        let at = *lock(&self.signal.value);
        if at.is_some() {
            Waited::note(self.waited.as_ref());
        }
        at
    }
}
