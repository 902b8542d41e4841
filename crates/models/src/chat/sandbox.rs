//! Runs the template engine on a deep stack of its own, for a limited time.
//!
//! The engine's fuel bounds instructions and what they make, but not the stack that a deeply
//! nested template or value takes, nor the time it takes to compare or print a value that contains
//! itself many times over. A run that does not end is abandoned: its thread goes on, and the caller
//! gets an error.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::{Error, quiet};

/// Address space, not memory: pages are taken when touched. A level of nesting takes up to 650
/// bytes in the engine, and the least fuel for one is 3 units of at most a million.
const STACK: usize = 256 << 20;

/// A hundred times what the longest conversations take.
const SECONDS: u64 = 5;

/// The result of `job`, unless it takes too long or panics.
pub(super) fn run<T, F>(job: F) -> Result<T, Error>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, Error> + Send + 'static,
{
    let (send, receive) = sync_channel(1);
    thread::Builder::new()
        .name("chat template".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let done = quiet::catch(job).unwrap_or_else(|reason| {
                Err(Error::Template {
                    line: 0,
                    message: format!("the template engine panicked: {reason}"),
                })
            });
            // nobody is waiting any more if this fails
            let _ = send.send(done);
        })
        .map_err(|error| Error::Template {
            line: 0,
            message: format!("no thread to run it on: {error}"),
        })?;
    match receive.recv_timeout(Duration::from_secs(SECONDS)) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(Error::TemplateLimit {
            what: "seconds",
            limit: SECONDS,
        }),
        Err(RecvTimeoutError::Disconnected) => Err(Error::Template {
            line: 0,
            message: "the template engine panicked".to_owned(),
        }),
    }
}
