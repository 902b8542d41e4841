//! Replays: work captured once and enqueued again in one go.

use crate::{
    back::Handle,
    device::Device,
    error::Error,
    inner::allocation,
    queue::{Capture, Touch},
    stats::count,
    stream::Stream,
    work::Work,
};
use rustc_hash::FxHashMap;
use std::{any::Any, fmt, sync::Arc};

/// Captured work. It keeps the memory and the kernels that it uses.
///
/// ```
/// use warpsmith_device::{Device, Error, Selector};
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let (x, mut y) = (stream.upload_new(&[1u32, 2])?, stream.alloc::<u32>(2)?);
/// // What is enqueued inside does not run: it is kept, with the memory that it uses.
/// let replay = stream.capture(|stream| stream.copy(&mut y, &x))?;
/// stream.replay(&replay)?; // all of it in one enqueue, as often as wanted
/// assert_eq!(stream.download(&y)?.wait()?, [1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Replay(Arc<ReplayInner>);

struct ReplayInner {
    device: Device,
    graph: Handle,
    uses: Vec<(Arc<dyn Any + Send + Sync>, Touch)>,
    _kernels: Vec<Handle>,
    launches: u64,
}

impl Replay {
    /// Kernels that one replay runs.
    pub fn launches(&self) -> u64 {
        self.0.launches
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Replay({} launches, {} allocations)",
            self.0.launches,
            self.0.uses.len()
        )
    }
}

impl Stream {
    /// Collects the launches, copies and fills that `record` enqueues on this stream, without running them. Memory must
    /// have been allocated before; transfers, events and waits are refused inside.
    ///
    /// # Errors
    /// What `record` returns, and [`Error::Capturing`].
    pub fn capture<E: From<Error>>(
        &self,
        record: impl FnOnce(&Stream) -> Result<(), E>,
    ) -> Result<Replay, E> {
        /// Ends the capture also where `record` unwinds.
        struct End<'a>(&'a Stream);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.queue().end_capture();
            }
        }
        self.queue().begin_capture()?;
        let end = End(self);
        record(self)?;
        let collected = self.queue().end_capture();
        drop(end);
        let Some((capture, graph)) = collected else {
            return Err(Error::Capturing {
                what: "ending a capture twice",
            }
            .into());
        };
        let Capture {
            uses,
            kernels,
            launches,
            ..
        } = capture;
        Ok(Replay(Arc::new(ReplayInner {
            device: self.device().clone(),
            graph: graph?,
            uses: merged(uses),
            _kernels: kernels,
            launches,
        })))
    }

    /// Enqueues captured work, in its order with other streams; never waits.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; [`Error::Capturing`] inside a capture.
    pub fn replay(&self, replay: &Replay) -> Result<(), Error> {
        let inner = &*replay.0;
        self.device()
            .0
            .owns(&inner.device.0, || "a replay".into())?;
        drop(self.queue().uncaptured("a replay")?);
        let uses: Vec<_> = inner
            .uses
            .iter()
            .map(|(memory, touch)| (memory, *touch))
            .collect();
        let work = Work::Replay {
            launches: inner.launches,
        };
        self.ordered(&uses, work, |_| self.queue().back.replay(&inner.graph))
            .map_err(|error| self.queue().blame(error))?;
        let counters = &self.device().0.counters;
        count(counters, |c| &c.launches, inner.launches);
        count(counters, |c| &c.enqueues, 1);
        count(counters, |c| &c.replays, 1);
        Ok(())
    }
}

/// Each memory once, written if any work writes it.
fn merged(
    uses: Vec<(Arc<dyn Any + Send + Sync>, Touch)>,
) -> Vec<(Arc<dyn Any + Send + Sync>, Touch)> {
    let mut at: FxHashMap<*const (), usize> = FxHashMap::default();
    let mut out: Vec<(Arc<dyn Any + Send + Sync>, Touch)> = Vec::new();
    for (memory, touch) in uses {
        let index = *at.entry(Arc::as_ptr(&memory).cast()).or_insert(out.len());
        match out.get_mut(index) {
            Some((_, merged)) if touch == Touch::Write => *merged = Touch::Write,
            Some(_) => {}
            None => out.push((memory, touch)),
        }
    }
    // Zero-length allocations take part in no order.
    out.retain(|(memory, _)| allocation(memory).is_ok_and(|allocation| allocation.bytes > 0));
    out
}
