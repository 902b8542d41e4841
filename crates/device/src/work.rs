//! Pieces of work, and when each began and ended.

use crate::back::BackEvent;
use std::{sync::Arc, time::Duration};

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A kernel ran.
    Kernel {
        /// Its entry.
        name: Arc<str>,
        /// CTAs.
        grid: [u32; 3],
        /// Threads of a CTA.
        block: [u32; 3],
        /// Bytes of dynamic shared memory.
        dynamic_shared: u32,
    },
    /// Captured work ran again, as one piece.
    Replay {
        /// Kernels in it.
        launches: u64,
    },
    /// Bytes went to the device.
    Upload {
        /// How many.
        bytes: u64,
    },
    /// Bytes came back.
    Download {
        /// How many.
        bytes: u64,
    },
    /// An observer looked; it counts as no transfer.
    Peek {
        /// How many bytes.
        bytes: u64,
    },
    /// A copy within the device.
    Copy {
        /// How many bytes.
        bytes: u64,
    },
    /// Memory was set.
    Fill {
        /// How many bytes.
        bytes: u64,
    },
}

/// A piece of work with its times, from the start of the timeline on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedWork {
    /// What was done.
    pub work: Work,
    /// The stream: pieces of one never overlap.
    pub stream: u64,
    /// When the stream came to it.
    pub start: Duration,
    /// When it was done.
    pub end: Duration,
}

/// A piece of work with the points around it.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) work: Work,
    pub(crate) start: Arc<dyn BackEvent>,
    pub(crate) end: Arc<dyn BackEvent>,
}
