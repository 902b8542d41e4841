//! Runs work on input from anywhere on a deep stack of its own, for a limited time.
//!
//! Crates that read templates and grammars bound what they do, but not the stack that deeply nested input takes, nor always
//! the time. Work that does not end is abandoned: its thread goes on, and the caller gets an error.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::quiet;

/// Address space, not memory: pages are taken when touched. A level of nesting takes up to 650 bytes in the template
/// engine, and the least fuel for one is 3 units of at most a million; up to 6 KiB where a schema refers to another one,
/// of which there are at most 10,000 in it.
const STACK: usize = 256 << 20;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// It panicked, with these words.
    Panicked(String),
    /// It took longer than these seconds.
    Late(u64),
    /// There is no thread to run it on.
    NoThread(String),
}

/// The result of `job`, unless it takes too long or panics.
pub(crate) fn run<T, F>(name: &str, seconds: u64, job: F) -> Result<T, Stopped>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (send, receive) = sync_channel(1);
    thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // nobody is waiting any more if this fails
            let _ = send.send(quiet::catch(job));
        })
        .map_err(|error| Stopped::NoThread(error.to_string()))?;
    match receive.recv_timeout(Duration::from_secs(seconds)) {
        Ok(done) => done.map_err(Stopped::Panicked),
        Err(RecvTimeoutError::Timeout) => Err(Stopped::Late(seconds)),
        Err(RecvTimeoutError::Disconnected) => Err(Stopped::Panicked("no reason given".to_owned())),
    }
}
