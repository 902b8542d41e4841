//! Streams: work enqueued in order; only what says `wait` or `synchronize` waits.

use crate::{
    buffer::{Buffer, Slice, SliceMut},
    device::Device,
    error::Error,
    event::Event,
    inner::allocation,
    queue::{Queue, QueueState, Touch},
    selector::Checks,
    stats::count,
    work::{Timed, Work},
};
use std::{
    any::Any,
    sync::{Arc, MutexGuard},
};
use warpsmith_kernel::Elem;

/// A stream of a device. Clones are the same stream. Dropping the last one does not wait: what was enqueued still runs.
///
/// ```
/// use warpsmith_device::{Device, Selector};
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let x = stream.upload_new(&[1u32, 2, 3])?;
/// let mut y = stream.alloc::<u32>(3)?;
/// stream.copy(&mut y, &x)?; // enqueued, as all of these: nothing has waited so far
/// let back = stream.download(&y)?;
/// assert_eq!(back.wait()?, [1, 2, 3]); // this waits
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Arc<StreamInner>);

#[derive(Debug)]
struct StreamInner {
    device: Device,
    queue: Arc<Queue>,
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        self.device.0.give_back(self.queue.clone());
    }
}

impl Device {
    /// A stream: work in order. Streams run beside each other.
    ///
    /// # Errors
    /// If the system gives no more.
    pub fn stream(&self) -> Result<Stream, Error> {
        let queue = match self.0.idle_queue() {
            Some(queue) => queue,
            None => self.0.queue()?,
        };
        Ok(Stream::new(self.clone(), queue))
    }
}

impl Stream {
    pub(crate) fn new(device: Device, queue: Arc<Queue>) -> Stream {
        Stream(Arc::new(StreamInner { device, queue }))
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// What a [`TimedWork`](crate::TimedWork) calls it.
    pub fn id(&self) -> u64 {
        self.0.queue.id
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.0.queue
    }

    /// Uninitialised memory, usable by work enqueued later on any stream.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Capturing`] inside a capture, which must not own memory.
    pub fn alloc<T: Elem>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let queue = self.queue();
        let allocation = self.device().0.allocate::<T>(len, |bytes| {
            let _state = queue.uncaptured("an allocation")?;
            queue.back.alloc(bytes)
        })?;
        allocation.uses.mark(queue, Touch::Write);
        Ok(Buffer::new(allocation, len))
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// [`Error::Length`] unless both have the same length, [`Error::WrongDevice`].
    pub fn copy<'a, 'b, T: Elem>(
        &self,
        to: impl Into<SliceMut<'a, T>>,
        from: impl Into<Slice<'b, T>>,
    ) -> Result<(), Error> {
        let (to, from) = (to.into(), from.into());
        if to.len() != from.len() {
            return Err(Error::Length {
                what: "copy",
                want: to.len(),
                got: from.len(),
            });
        }
        if to.is_empty() {
            return Ok(());
        }
        let bytes = (to.len() * size_of::<T>()) as u64;
        let uses = [
            (crate::buffer::memory(&to), Touch::Write),
            (crate::buffer::memory(&from), Touch::Read),
        ];
        count(&self.device().0.counters, |c| &c.device_copies, 1);
        self.ordered(&uses, Work::Copy { bytes }, |_| {
            self.queue().back.copy(to.address(), from.address(), bytes)
        })
    }

    /// Sets every byte to zero.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn fill_zero<'a, T: Elem>(&self, to: impl Into<SliceMut<'a, T>>) -> Result<(), Error> {
        let to = to.into();
        if to.is_empty() {
            return Ok(());
        }
        let bytes = (to.len() * size_of::<T>()) as u64;
        count(&self.device().0.counters, |c| &c.device_copies, 1);
        let uses = [(crate::buffer::memory(&to), Touch::Write)];
        self.ordered(&uses, Work::Fill { bytes }, |_| {
            self.queue().back.fill(to.address(), 0, bytes)
        })
    }

    /// The point after all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Capturing`].
    pub fn record(&self) -> Result<Event, Error> {
        let _state = self.queue().uncaptured("recording an event")?;
        Ok(Event {
            back: self.queue().back.record()?,
            device: self.device().0.clone(),
        })
    }

    /// Work enqueued later runs after `event`. Buffers that change streams need no such call.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Capturing`].
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        self.device().0.owns(&event.device, || "an event".into())?;
        self.queue().wait_for(&*event.back)
    }

    /// Blocks this thread until all work enqueued so far is done.
    ///
    /// # Errors
    /// The first error of that work, which is then taken; [`Error::Capturing`].
    pub fn synchronize(&self) -> Result<(), Error> {
        drop(self.queue().uncaptured("waiting")?);
        let queue = self.queue();
        queue
            .back
            .synchronize()
            .map_err(|error| queue.blame(error))?;
        crate::lock::lock(&queue.state).recent.clear();
        Ok(())
    }

    /// Enqueues what uses memory, in its order with other streams; inside a capture, notes the use. All work of a device
    /// passes here, so here it is timed.
    pub(crate) fn ordered(
        &self,
        uses: &[(&Arc<dyn Any + Send + Sync>, Touch)],
        work: Work,
        enqueue: impl FnOnce(&mut MutexGuard<'_, QueueState>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (memory, _) in uses {
            let allocation = allocation(memory)?;
            self.device()
                .0
                .owns(&allocation.device, || "a buffer".into())?;
        }
        let queue = self.queue();
        let mut state = queue.open()?;
        if let Some(capture) = &mut state.capture {
            capture.uses.extend(
                uses.iter()
                    .map(|(memory, touch)| ((*memory).clone(), *touch)),
            );
            return enqueue(&mut state);
        }
        drop(state);
        for (memory, touch) in uses {
            let waits = allocation(memory)?.uses.order(queue, *touch)?;
            if waits > 0 {
                count(&self.device().0.counters, |c| &c.stream_waits, waits);
            }
        }
        self.timed(work, enqueue)?;
        for (memory, touch) in uses {
            allocation(memory)?.uses.mark(queue, *touch);
        }
        match self.device().0.settings.checks {
            Checks::AtWaits => Ok(()),
            Checks::EachLaunch => self.synchronize(),
        }
    }
}

impl Stream {
    /// Enqueues, with an event before and after where somebody wants to know when.
    fn timed(
        &self,
        work: Work,
        enqueue: impl FnOnce(&mut MutexGuard<'_, QueueState>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (queue, recorder) = (self.queue(), &self.device().0.recorder);
        let mut state = queue.uncaptured("work from another thread")?;
        if state.timed.is_none() && !recorder.is_on() {
            return enqueue(&mut state);
        }
        let start = queue.back.record()?;
        enqueue(&mut state)?;
        let end = queue.back.record()?;
        let timed = Timed { work, start, end };
        if let Some(all) = &mut state.timed {
            all.push(timed.clone());
        }
        // Still under the lock of the queue: pieces of a stream are told in their order.
        recorder.push(queue.id, timed)
    }
}
