//! Waiting without the GIL, looking for Ctrl-C meanwhile.

use crate::errors::WarpsmithError;
use pyo3::prelude::*;
use std::{
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

/// How often is looked whether Ctrl-C was pressed.
const MOMENT: Duration = Duration::from_millis(50);

/// The next of what comes, or nothing where nothing comes any more.
///
/// # Errors
/// `KeyboardInterrupt`, and whatever else a handler of a signal raises.
pub(crate) fn next<T: Send>(py: Python<'_>, from: &Mutex<Receiver<T>>) -> PyResult<Option<T>> {
    loop {
        // The lock is taken and given back without the GIL: nobody waits for one with the other.
        let got = py.detach(|| {
            let from = from.lock().unwrap_or_else(PoisonError::into_inner);
            from.recv_timeout(MOMENT)
        });
        match got {
            Ok(one) => return Ok(Some(one)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

/// Has work done on a thread of its own. If a signal interrupts, `stop` is called and the work is waited for.
///
/// # Errors
/// As [`next`]; work that panics.
pub(crate) fn done<T: Send + 'static>(
    py: Python<'_>,
    stop: impl Fn(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (to, from) = sync_channel(1);
    let thread = thread::spawn(move || {
        let _ = to.send(work());
    });
    let from = Mutex::new(from);
    let got = next(py, &from);
    if got.is_err() {
        stop();
    }
    let ended = py.detach(|| thread.join());
    match (got, ended) {
        (Ok(Some(done)), _) => Ok(done),
        (Err(interrupted), _) => Err(interrupted),
        (Ok(None), _) => Err(WarpsmithError::new_err("the work panicked: this is a bug")),
    }
}
