//! Passes that somebody watches or takes part in, as sessions of every model run them.

use crate::Error;
use std::sync::{MutexGuard, PoisonError};
use warpsmith_device::Stream;
use warpsmith_graph::{Observer, Plan, SharedDispatch, SharedObserver};

/// The observer; what a panicking one has seen is still there.
pub(crate) fn lock<'a>(observer: &'a SharedObserver) -> MutexGuard<'a, dyn Observer + 'static> {
    observer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who takes part in passes.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    /// Sees every value; then nobody dispatches.
    pub(crate) observer: Option<SharedObserver>,
    /// Gets every operation before the library's kernels.
    pub(crate) dispatch: Option<SharedDispatch>,
}

impl Watch {
    /// Whether passes must run launch by launch.
    pub(crate) fn is_on(&self) -> bool {
        self.observer.is_some() || self.dispatch.is_some()
    }

    /// Runs `plan` launch by launch.
    pub(crate) fn run(&self, stream: &Stream, pass: &str, plan: &Plan) -> Result<(), Error> {
        match (&self.observer, &self.dispatch) {
            (Some(observer), _) => {
                let mut observer = lock(observer);
                observer.pass(pass);
                Ok(plan.run_observed(stream, &mut *observer)?)
            }
            (None, Some(dispatch)) => {
                let mut dispatch = dispatch.lock().unwrap_or_else(PoisonError::into_inner);
                dispatch.pass(pass);
                Ok(plan.run_dispatched(stream, &mut *dispatch)?)
            }
            (None, None) => Ok(plan.run(stream)?),
        }
    }
}
