//! Threads that do the work: started, waited for, and guarded against panics of what they call.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::sync_channel,
    thread::{self, JoinHandle},
};
use warpsmith_models::Error;

/// Why a model cannot work.
#[derive(Debug)]
pub struct Failure {
    /// What a model said; none if it panicked or never began.
    pub(crate) error: Option<Error>,
    message: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure {
            error: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            message: error.to_string(),
            error: Some(error),
        }
    }
}

/// Calls what may fail or panic. What it worked on is not used again after a panic.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Ok(done?),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            let said = said.unwrap_or("it did not say why");
            Err(Failure::new(format!("panicked: {said}")))
        }
    }
}

/// A thread that works until its queue is closed.
#[derive(Debug)]
pub(crate) struct Worker(JoinHandle<()>);

impl Worker {
    /// Starts a thread and waits for what it says when it is ready.
    pub(crate) fn start<T: Send + 'static>(
        name: &str,
        work: impl FnOnce(&dyn Fn(Result<T, Failure>)) + Send + 'static,
    ) -> Result<(Worker, T), Failure> {
        let (to, from) = sync_channel(1);
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            work(&|ready| {
                let _ = to.send(ready);
            });
        });
        let thread = thread.map_err(|error| Failure::new(format!("no thread: {error}")))?;
        let ready = from
            .recv()
            .map_err(|_| Failure::new("the thread ended before it was ready"))??;
        Ok((Worker(thread), ready))
    }

    /// Waits for its end.
    pub(crate) fn join(self) {
        if self.0.join().is_err() {
            tracing::error!("a worker panicked");
        }
    }
}
