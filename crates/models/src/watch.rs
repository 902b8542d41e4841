//! Observed passes, as sessions of every model run them.

use crate::Error;
use std::sync::{MutexGuard, PoisonError};
use warpsmith_device::Stream;
use warpsmith_graph::{Observer, Plan, SharedObserver};

/// The observer; what a panicking one has seen is still there.
pub(crate) fn lock<'a>(observer: &'a SharedObserver) -> MutexGuard<'a, dyn Observer + 'static> {
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `plan` launch by launch under the eyes of `observer`.
pub(crate) fn observed(
    observer: &SharedObserver,
    stream: &Stream,
    pass: &str,
    plan: &Plan,
) -> Result<(), Error> {
    let mut observer = lock(observer);
    observer.pass(pass);
    Ok(plan.run_observed(stream, &mut *observer)?)
}
