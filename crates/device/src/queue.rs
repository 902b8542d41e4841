//! Queues, and the order between queues that share memory.

use crate::{
    back::{BackEvent, BackQueue, Handle},
    error::Error,
    lock::lock,
    work::Timed,
};
use smallvec::SmallVec;
use std::{
    any::Any,
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
    thread::ThreadId,
};
use warpsmith_kernel::args::Access;

/// How work uses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// It reads.
    Read,
    /// It writes, and may read.
    Write,
}

impl From<Access> for Touch {
    fn from(access: Access) -> Touch {
        match access {
            Access::In | Access::Maybe => Touch::Read,
            Access::Out | Access::InOut => Touch::Write,
        }
    }
}

/// How many names of enqueued kernels an error can tell.
const RECENT: usize = 16;

/// A back end's queue with what must be known about it.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) id: u64,
    pub(crate) back: Box<dyn BackQueue>,
    pub(crate) state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
pub(crate) struct QueueState {
    pub(crate) capture: Option<Capture>,
    pub(crate) recent: VecDeque<Arc<str>>,
    /// Work so far, while it is timed.
    pub(crate) timed: Option<Vec<Timed>>,
}

/// What a capture has collected so far beside the back end's own list.
#[derive(Debug)]
pub(crate) struct Capture {
    thread: ThreadId,
    before: Arc<dyn BackEvent>,
    pub(crate) uses: Vec<(Arc<dyn Any + Send + Sync>, Touch)>,
    pub(crate) kernels: Vec<Handle>,
    pub(crate) launches: u64,
}

impl QueueState {
    pub(crate) fn remember(&mut self, name: &Arc<str>) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(name.clone());
    }
}

impl Queue {
    pub(crate) fn new(id: u64, back: Box<dyn BackQueue>) -> Queue {
        Queue {
            id,
            back,
            state: Mutex::default(),
        }
    }

    /// The state, for work that may be captured; an error where another thread captures.
    pub(crate) fn open(&self) -> Result<MutexGuard<'_, QueueState>, Error> {
        let state = lock(&self.state);
        match &state.capture {
            Some(capture) if capture.thread != std::thread::current().id() => {
                Err(Error::Capturing {
                    what: "work from another thread",
                })
            }
            Some(_) | None => Ok(state),
        }
    }

    /// The state, for what cannot be captured.
    pub(crate) fn uncaptured(
        &self,
        what: &'static str,
    ) -> Result<MutexGuard<'_, QueueState>, Error> {
        let state = lock(&self.state);
        match state.capture {
            Some(_) => Err(Error::Capturing { what }),
            None => Ok(state),
        }
    }

    pub(crate) fn begin_capture(&self) -> Result<(), Error> {
        let mut state = self.uncaptured("a capture")?;
        let before = self.back.record()?;
        self.back.begin_capture()?;
        state.capture = Some(Capture {
            thread: std::thread::current().id(),
            before,
            uses: Vec::new(),
            kernels: Vec::new(),
            launches: 0,
        });
        Ok(())
    }

    /// Ends a capture; what was collected, and the back end's list.
    pub(crate) fn end_capture(&self) -> Option<(Capture, Result<Handle, Error>)> {
        let mut state = lock(&self.state);
        let capture = state.capture.take()?;
        Some((capture, self.back.end_capture()))
    }

    /// An event after all work enqueued so far, of a capture the work before it.
    pub(crate) fn tail(&self) -> Result<Arc<dyn BackEvent>, Error> {
        let state = lock(&self.state);
        match &state.capture {
            Some(capture) => Ok(capture.before.clone()),
            None => self.back.record(),
        }
    }

    /// Later work waits for `event`.
    pub(crate) fn wait_for(&self, event: &dyn BackEvent) -> Result<(), Error> {
        let _state = self.uncaptured("waiting for another stream")?;
        self.back.wait(event)
    }

    /// Adds the names of recent kernels to an error of the driver.
    pub(crate) fn blame(&self, error: Error) -> Error {
        match error {
            Error::Cuda {
                call,
                code,
                name,
                text,
                recent: _,
            } => {
                let recent = lock(&self.state)
                    .recent
                    .iter()
                    .map(|name| name.to_string())
                    .collect();
                Error::Cuda {
                    call,
                    code,
                    name,
                    text,
                    recent,
                }
            }
            other => other,
        }
    }
}

/// Which queues used an allocation since it was last written.
#[derive(Debug, Default)]
pub(crate) struct Uses(Mutex<UsesState>);

#[derive(Debug, Default)]
struct UsesState {
    writer: Option<Arc<Queue>>,
    /// Queues other than the writer's that read since; each is ordered after the write.
    readers: SmallVec<[Arc<Queue>; 2]>,
}

pub(crate) type Queues = SmallVec<[Arc<Queue>; 2]>;

impl Uses {
    /// Makes later work of `on` wait for what it must not overtake; the number of waits put in.
    pub(crate) fn order(&self, on: &Queue, touch: Touch) -> Result<u64, Error> {
        let before: Queues = {
            let state = lock(&self.0);
            let reads_already = state.readers.iter().any(|queue| queue.id == on.id);
            let writer = state
                .writer
                .iter()
                .filter(|queue| queue.id != on.id && !reads_already);
            let readers = state
                .readers
                .iter()
                .filter(|queue| touch == Touch::Write && queue.id != on.id);
            writer.chain(readers).cloned().collect()
        };
        for queue in &before {
            on.wait_for(&*queue.tail()?)?;
        }
        Ok(before.len() as u64)
    }

    /// Records that work on `on` was enqueued.
    pub(crate) fn mark(&self, on: &Arc<Queue>, touch: Touch) {
        let mut state = lock(&self.0);
        let writes_already = state.writer.as_ref().is_some_and(|queue| queue.id == on.id);
        match touch {
            Touch::Read => {
                if !writes_already && !state.readers.iter().any(|queue| queue.id == on.id) {
                    state.readers.push(on.clone());
                }
            }
            Touch::Write => {
                state.readers.clear();
                if !writes_already {
                    state.writer = Some(on.clone());
                }
            }
        }
    }

    /// All queues whose work may still use the memory.
    pub(crate) fn all(&self) -> Queues {
        let state = lock(&self.0);
        state.writer.iter().chain(&state.readers).cloned().collect()
    }
}
