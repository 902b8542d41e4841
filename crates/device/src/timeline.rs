//! Timelines: when each piece of work began and ended, on every stream of a device.

use crate::{back::BackEvent, device::Device, error::Error, queue::lock, times::Timed};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

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

/// Pieces that wait for their times before those that are done get theirs: events of a driver are not free.
const BATCH: usize = 4096;

/// Whether a timeline is kept, and what is on it so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    on: AtomicBool,
    recording: Mutex<Option<Recording>>,
}

#[derive(Debug)]
struct Recording {
    begin: Arc<dyn BackEvent>,
    /// The last point of each stream that has its time: times from a near point are precise.
    last: BTreeMap<u64, (Arc<dyn BackEvent>, Duration)>,
    pending: Vec<(u64, Timed)>,
    done: Vec<TimedWork>,
}

impl Recorder {
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub(crate) fn push(&self, stream: u64, timed: Timed) -> Result<(), Error> {
        let mut recording = lock(&self.recording);
        let Some(recording) = &mut *recording else {
            return Ok(());
        };
        recording.pending.push((stream, timed));
        if recording.pending.len().is_multiple_of(BATCH) {
            recording.settle(Wait::No)?;
        }
        Ok(())
    }

    fn end(&self) -> Option<Recording> {
        self.on.store(false, Relaxed);
        lock(&self.recording).take()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Yes,
    No,
}

impl Recording {
    /// Gives pieces their times, in the order in which they were enqueued, up to the first that is not done.
    fn settle(&mut self, wait: Wait) -> Result<(), Error> {
        let mut settled = 0;
        for (stream, timed) in &self.pending {
            match wait {
                Wait::Yes => timed.end.wait()?,
                Wait::No if !timed.end.is_done()? => break,
                Wait::No => {}
            }
            let Timed { work, start, end } = timed.clone();
            let (base, offset) = match self.last.get(stream) {
                Some((base, offset)) => (base, *offset),
                None => (&self.begin, Duration::ZERO),
            };
            let from = offset + start.since(&**base)?;
            let to = from + end.since(&*start)?;
            self.last.insert(*stream, (end, to));
            self.done.push(TimedWork {
                work,
                stream: *stream,
                start: from,
                end: to,
            });
            settled += 1;
        }
        self.pending.drain(..settled);
        Ok(())
    }
}

/// A timeline that is being kept; dropping it ends it.
#[derive(Debug)]
#[must_use = "the timeline ends where this is dropped"]
pub struct Timeline {
    device: Device,
}

impl Device {
    /// Keeps a timeline of all work that is enqueued on any stream from now on. Each piece then costs two events; work
    /// that was captured is one piece when it is replayed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] while another timeline is kept; device errors.
    pub fn timeline(&self) -> Result<Timeline, Error> {
        let begin = self.0.janitor()?.tail()?;
        begin.wait()?;
        let mut recording = lock(&self.0.recorder.recording);
        if recording.is_some() {
            return Err(Error::Unsupported {
                what: "a timeline inside a timeline",
            });
        }
        *recording = Some(Recording {
            begin,
            last: BTreeMap::new(),
            pending: Vec::new(),
            done: Vec::new(),
        });
        self.0.recorder.on.store(true, Relaxed);
        Ok(Timeline {
            device: self.clone(),
        })
    }
}

impl Timeline {
    /// Waits for the work, and gives it by streams, in order.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn finish(self) -> Result<Vec<TimedWork>, Error> {
        let Some(mut recording) = self.device.0.recorder.end() else {
            return Ok(Vec::new());
        };
        recording.settle(Wait::Yes)?;
        // Stable: work of a stream stays in its order.
        recording.done.sort_by_key(|timed| timed.stream);
        Ok(recording.done)
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        self.device.0.recorder.end();
    }
}
