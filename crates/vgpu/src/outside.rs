//! What the host may still do while a launch runs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::SeqCst},
};

/// How many ways there are for the host to change what a kernel waits for.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    /// Blocks of memory that it writes while kernels run.
    pub(crate) words: AtomicU64,
    /// Streams.
    pub(crate) streams: AtomicU64,
    /// Threads of the host that wait for a stream.
    waiting: AtomicU64,
}

impl Outside {
    /// Whether the host waits for its only stream, and writes nothing meanwhile.
    pub(crate) fn is_quiet(&self) -> bool {
        self.words.load(SeqCst) == 0
            && self.streams.load(SeqCst) == 1
            && self.waiting.load(SeqCst) > 0
    }

    /// A thread of the host waits for as long as this lives.
    pub(crate) fn wait(self: &Arc<Outside>) -> Wait {
        self.waiting.fetch_add(1, SeqCst);
        Wait(Arc::clone(self))
    }
}

/// A thread of the host that waits.
#[derive(Debug)]
pub(crate) struct Wait(Arc<Outside>);

impl Drop for Wait {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, SeqCst);
    }
}
