//! The recorder: pieces of work as they are enqueued, until they have their times.

use crate::{
    back::BackEvent,
    error::Error,
    lock::lock,
    work::{Timed, TimedWork},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// Pieces that wait for their times before those that are done get theirs: events of a driver are not free.
const BATCH: usize = 4096;

/// Whether a timeline is kept, and what is on it so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    on: AtomicBool,
    recording: Mutex<Option<Recording>>,
}

#[derive(Debug)]
pub(crate) struct Recording {
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

    /// Begins a timeline at `begin`; false while another is kept.
    pub(crate) fn begin(&self, begin: Arc<dyn BackEvent>) -> bool {
        let mut recording = lock(&self.recording);
        if recording.is_some() {
            return false;
        }
        *recording = Some(Recording {
            begin,
            last: BTreeMap::new(),
            pending: Vec::new(),
            done: Vec::new(),
        });
        self.on.store(true, Relaxed);
        true
    }

    /// Waits for the pieces that are not done, and gives all of them; nothing where no timeline is kept.
    pub(crate) fn finish(&self) -> Result<Vec<TimedWork>, Error> {
        let Some(mut recording) = self.end() else {
            return Ok(Vec::new());
        };
        recording.settle(Wait::Yes)?;
        Ok(recording.done)
    }

    /// Ends a timeline.
    pub(crate) fn end(&self) -> Option<Recording> {
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
