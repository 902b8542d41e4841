//! Streams: work in order, or collected.

use crate::{
    context::{Core, Fate},
    event::{Event, Mark},
    status::Status,
    step::{Piece, Step},
    table::lock,
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use warpsmith_vgpu as vgpu;

/// How a stream stands to the null stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    /// They wait for each other.
    Blocking,
    Independent,
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) core: Arc<Core>,
    pub(crate) kind: Kind,
    inner: vgpu::Stream,
    capture: Mutex<Option<Arc<Capture>>>,
}

/// Work that streams collect.
#[derive(Default)]
pub(crate) struct Capture {
    steps: Mutex<Vec<Step>>,
    broken: AtomicBool,
    ended: AtomicBool,
}

impl Stream {
    pub(crate) fn new(core: &Arc<Core>, kind: Kind) -> Result<Stream, Status> {
        Ok(Stream {
            core: core.clone(),
            kind,
            inner: core.machine.stream()?,
            capture: Mutex::default(),
        })
    }

    /// What it is collecting into.
    pub(crate) fn capture(&self) -> Option<Arc<Capture>> {
        let mut capture = lock(&self.capture);
        // A stream that joined is let go by the end of the capture.
        capture.take_if(|capture| capture.ended.load(Relaxed));
        capture.clone()
    }

    /// Fails, and spoils a capture, if one is on.
    fn uncaptured(&self) -> Result<(), Status> {
        match self.capture() {
            Some(capture) => {
                capture.broken.store(true, Relaxed);
                Err(Status::CaptureUnsupported)
            }
            None => Ok(()),
        }
    }

    /// Enqueues a step, or collects it.
    pub(crate) fn submit(&self, step: Step) -> Result<(), Status> {
        if let Some(capture) = self.capture() {
            if capture.broken.load(Relaxed) {
                return Err(Status::CaptureInvalidated);
            }
            lock(&capture.steps).push(step);
            return Ok(());
        }
        let Step::Launch(launch) = step else {
            return step.enqueue(&self.core, &self.inner);
        };
        match self.core.launches(1)? {
            Fate::Runs => self.inner.launch(*launch)?,
            Fate::Faults => self.fault(),
        }
        self.watch();
        Ok(())
    }

    /// Enqueues what was captured.
    pub(crate) fn replay(&self, pieces: &[Piece], launches: u64) -> Result<(), Status> {
        self.uncaptured()?;
        if self.core.launches(launches)? == Fate::Faults {
            self.fault();
        }
        for piece in pieces {
            match piece {
                Piece::Launches(prepared) => self.inner.replay(prepared)?,
                Piece::Step(step) => step.clone().enqueue(&self.core, &self.inner)?,
            }
        }
        self.watch();
        Ok(())
    }

    /// Checks launches so that they can be replayed.
    pub(crate) fn prepare(&self, launches: Vec<vgpu::Launch>) -> Result<vgpu::Prepared, Status> {
        Ok(self.inner.prepare(launches)?)
    }

    /// The context fails when the stream comes here.
    fn fault(&self) {
        let core = self.core.clone();
        self.inner.call(move |_| core.fail(Status::LaunchFailed));
    }

    /// The context learns of faults when the stream comes here.
    fn watch(&self) {
        let core = self.core.clone();
        self.inner.call(move |so_far| {
            if let Err(error) = so_far {
                core.fail(error.into());
            }
        });
    }

    /// Gives memory back when the stream comes here.
    pub(crate) fn free(&self, address: u64) -> Result<(), Status> {
        if self.capture().is_some() {
            return Err(Status::NotSupported);
        }
        Ok(self.inner.free(address)?)
    }

    pub(crate) fn record(&self, event: &Event) {
        event.set(match self.capture() {
            Some(capture) => Mark::Captured(capture),
            None => Mark::Reached(self.inner.record()),
        });
    }

    /// Later work waits for `event`; of a capture, this stream takes part in it.
    pub(crate) fn wait(&self, event: &Event) -> Result<(), Status> {
        match event.mark() {
            Mark::Never => Ok(()),
            Mark::Captured(capture) => {
                if capture.ended.load(Relaxed) {
                    return Err(Status::CapturedEvent);
                }
                lock(&self.capture).get_or_insert(capture);
                Ok(())
            }
            Mark::Reached(mark) => {
                // What was there before a capture began is done before its replay.
                if self.capture().is_none() {
                    self.inner.wait(&mark);
                }
                Ok(())
            }
        }
    }

    /// Later work waits for all that `other` has to do now; captured work does when it is replayed.
    pub(crate) fn follow(&self, other: &Stream) -> Result<(), Status> {
        if self.capture().is_some() {
            return Ok(());
        }
        other.uncaptured()?;
        if !other.inner.is_done() {
            self.inner.wait(&other.inner.record());
        }
        Ok(())
    }

    pub(crate) fn is_done(&self) -> Result<bool, Status> {
        self.uncaptured()?;
        Ok(self.inner.is_done())
    }

    /// Waits for its work.
    pub(crate) fn synchronize(&self) -> Result<(), Status> {
        self.uncaptured()?;
        self.drain();
        self.core.well()
    }

    /// Waits for its work, whatever comes of it; the context keeps the error.
    pub(crate) fn drain(&self) {
        if let Err(error) = self.inner.synchronize() {
            self.core.fail(error.into());
        }
    }

    pub(crate) fn begin_capture(&self) -> Result<(), Status> {
        if self.kind == Kind::Null {
            return Err(Status::CaptureUnsupported);
        }
        self.uncaptured()?;
        *lock(&self.capture) = Some(Arc::default());
        Ok(())
    }

    /// The work collected since.
    pub(crate) fn end_capture(&self) -> Result<Vec<Step>, Status> {
        let capture = lock(&self.capture).take().ok_or(Status::CaptureUnmatched)?;
        capture.ended.store(true, Relaxed);
        if capture.broken.load(Relaxed) {
            return Err(Status::CaptureInvalidated);
        }
        let steps = std::mem::take(&mut *lock(&capture.steps));
        Ok(steps)
    }

    /// Whether a capture is on, and whether it was spoiled.
    pub(crate) fn capture_state(&self) -> (bool, bool) {
        let capture = self.capture();
        let broken = capture
            .as_ref()
            .is_some_and(|capture| capture.broken.load(Relaxed));
        (capture.is_some(), broken)
    }
}
