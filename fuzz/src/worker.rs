//! Runs a target on a thread of its own, so that a panic is caught and a hang can be left behind.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use crate::Target;

/// The stack a target runs on: small, so that recursion without a limit shows.
const STACK: usize = 2 << 20;
/// The name that tells our threads to the panic hook.
const THREAD: &str = "fuzz target";

/// How a run went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The target panicked.
    #[error("panic at {location}: {message}")]
    Panic {
        /// What the panic said.
        message: String,
        /// `file:line:column` of the panic.
        location: String,
    },
    /// The target had not returned in time.
    #[error("no end within {limit:?}")]
    Slow {
        /// The limit in force.
        limit: Duration,
    },
}

impl Fault {
    /// Whether the two are the same defect: the same place, whatever the values in the message.
    pub(crate) fn same_place(&self, other: &Fault) -> bool {
        match (self, other) {
            (Fault::Panic { location: a, .. }, Fault::Panic { location: b, .. }) => a == b,
            (Fault::Slow { .. }, Fault::Slow { .. }) => true,
            (Fault::Panic { .. }, Fault::Slow { .. })
            | (Fault::Slow { .. }, Fault::Panic { .. }) => false,
        }
    }
}

/// What one run came to: the time it took, or its fault.
pub type Outcome = Result<Duration, Fault>;

thread_local! {
    static LAST_PANIC: RefCell<Option<Fault>> = const { RefCell::new(None) };
}

/// A thread that runs inputs one after another; abandoned when one does not end.
pub(crate) struct Worker {
    inputs: Sender<Vec<u8>>,
    results: Receiver<Result<(), Fault>>,
}

impl Worker {
    /// Starts the thread.
    pub(crate) fn new(target: Arc<dyn Target>) -> std::io::Result<Self> {
        quiet_panics();
        let (inputs, work) = mpsc::channel::<Vec<u8>>();
        let (done, results) = mpsc::channel();
        thread::Builder::new()
            .name(THREAD.to_owned())
            .stack_size(STACK)
            .spawn(move || {
                while let Ok(input) = work.recv() {
                    let result = panic::catch_unwind(AssertUnwindSafe(|| target.run(&input)));
                    let result = result.map_err(|_| {
                        LAST_PANIC.take().unwrap_or(Fault::Panic {
                            message: String::new(),
                            location: "unknown".to_owned(),
                        })
                    });
                    if done.send(result).is_err() {
                        break;
                    }
                }
            })?;
        Ok(Worker { inputs, results })
    }

    /// Runs one input. After [`Fault::Slow`] the worker is spent: its thread may never come back.
    pub(crate) fn run(&self, input: &[u8], limit: Duration) -> Outcome {
        let start = Instant::now();
        self.inputs
            .send(input.to_vec())
            .expect("the thread ends only when its worker is dropped");
        match self.results.recv_timeout(limit) {
            Ok(result) => result.map(|()| start.elapsed()),
            Err(RecvTimeoutError::Timeout) => Err(Fault::Slow { limit }),
            Err(RecvTimeoutError::Disconnected) => Err(Fault::Panic {
                message: "the thread died".to_owned(),
                location: "unknown".to_owned(),
            }),
        }
    }
}

/// Runs inputs one after another, each within a limit; after one that does not end, on a thread of its own.
pub struct Watched {
    target: Arc<dyn Target>,
    worker: Option<Worker>,
}

impl Watched {
    /// For a target.
    pub fn new(target: Arc<dyn Target>) -> Watched {
        Watched {
            target,
            worker: None,
        }
    }

    /// Runs one input.
    ///
    /// # Errors
    /// As [`run_once`].
    pub fn run(&mut self, input: &[u8], limit: Duration) -> Outcome {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::new(Arc::clone(&self.target)).map_err(|error| Fault::Panic {
                message: format!("no thread could be started: {error}"),
                location: "unknown".to_owned(),
            })?,
        };
        let outcome = worker.run(input, limit);
        if !matches!(outcome, Err(Fault::Slow { .. })) {
            self.worker = Some(worker);
        }
        outcome
    }
}

/// Runs `target` once on `input`, as a regression test of a finding does.
///
/// # Errors
/// [`Fault`] if the target panics or takes longer than `limit`.
pub fn run_once(target: impl Into<Arc<dyn Target>>, input: &[u8], limit: Duration) -> Outcome {
    let worker = Worker::new(target.into()).map_err(|error| Fault::Panic {
        message: format!("no thread could be started: {error}"),
        location: "unknown".to_owned(),
    })?;
    worker.run(input, limit)
}

/// Makes panics on our threads a value instead of text; others go to the hook that was there.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some(THREAD) {
                return before(info);
            }
            let message = info
                .payload_as_str()
                .unwrap_or("a panic without text")
                .to_owned();
            let location = info
                .location()
                .map_or_else(|| "unknown".to_owned(), ToString::to_string);
            LAST_PANIC.set(Some(Fault::Panic { message, location }));
        }));
    });
}
