//! Events: points in streams, with their times.

use crate::{
    core::Core,
    status::Status,
    stream::Capture,
    table::{Handle, lock},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use warpsmith_vgpu as vgpu;

/// An event.
pub(crate) struct Event {
    pub(crate) core: Arc<Core>,
    times: bool,
    mark: Mutex<Mark>,
}

/// Where an event was recorded last.
#[derive(Clone)]
pub(crate) enum Mark {
    Never,
    Reached(vgpu::Event),
    /// In a capture, behind these nodes.
    Captured(Arc<Capture>, Vec<Handle>),
}

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMES: u32 = 2;

impl Event {
    pub(crate) fn new(core: &Arc<Core>, flags: u32) -> Event {
        Event {
            core: core.clone(),
            times: flags & NO_TIMES == 0,
            mark: Mutex::new(Mark::Never),
        }
    }

    pub(crate) fn set(&self, mark: Mark) {
        *lock(&self.mark) = mark;
    }

    pub(crate) fn mark(&self) -> Mark {
        lock(&self.mark).clone()
    }

    /// The point of a stream it stands for.
    fn point(&self) -> Result<Option<vgpu::Event>, Status> {
        match self.mark() {
            Mark::Never => Ok(None),
            Mark::Reached(point) => Ok(Some(point)),
            Mark::Captured(..) => Err(Status::CapturedEvent),
        }
    }

    /// Whether its stream has come past it; one that was never recorded is done.
    pub(crate) fn is_done(&self) -> Result<bool, Status> {
        let point = self.point()?;
        Ok(point.is_none_or(|point| point.done_at().is_some()))
    }

    pub(crate) fn wait(&self) -> Result<(), Status> {
        if let Some(point) = self.point()? {
            point.wait();
        }
        Ok(())
    }

    /// Time from `earlier` to this; zero where it is not later.
    pub(crate) fn since(&self, earlier: &Event) -> Result<Duration, Status> {
        if !self.times || !earlier.times {
            return Err(Status::InvalidHandle);
        }
        let (Some(from), Some(to)) = (earlier.point()?, self.point()?) else {
            return Err(Status::InvalidHandle);
        };
        match (from.done_at(), to.done_at()) {
            (Some(from), Some(to)) => Ok(to.saturating_duration_since(from)),
            (None, _) | (_, None) => Err(Status::NotReady),
        }
    }
}
