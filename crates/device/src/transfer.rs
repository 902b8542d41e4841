//! The two functions that move bytes between host and device; both count.

use crate::{
    back::BackRead,
    buffer::{Buffer, Slice, SliceMut, memory},
    error::{Direction, Error},
    queue::{Queue, Touch},
    stats::{count, transfer_allowed},
    stream::Stream,
    work::Work,
};
use bytemuck::Pod;
use std::{any::Any, marker::PhantomData, sync::Arc};
use warpsmith_kernel::Elem;

/// Whether a transfer counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Yes,
    Peek,
}

impl Stream {
    /// Copies `data` to the device; `data` may change or go as soon as this returns.
    ///
    /// # Errors
    /// [`Error::Length`] unless both have the same length, [`Error::TransferForbidden`], [`Error::Capturing`].
    pub fn upload<'a, T: Elem + Pod>(
        &self,
        to: impl Into<SliceMut<'a, T>>,
        data: &[T],
    ) -> Result<(), Error> {
        let to = to.into();
        if to.len() != data.len() {
            return Err(Error::Length {
                what: "upload",
                want: to.len(),
                got: data.len(),
            });
        }
        send(self, memory(&to), to.address(), bytemuck::cast_slice(data))
    }

    /// A new buffer holding `data`: one allocation and one transfer.
    ///
    /// # Errors
    /// As [`Stream::alloc`] and [`Stream::upload`].
    pub fn upload_new<T: Elem + Pod>(&self, data: &[T]) -> Result<Buffer<T>, Error> {
        let mut buffer = self.alloc(data.len())?;
        self.upload(&mut buffer, data)?;
        Ok(buffer)
    }

    /// Starts a copy to the host; [`Pending::wait`] has it. What is enqueued later does not change it.
    ///
    /// # Errors
    /// [`Error::TransferForbidden`], [`Error::Capturing`].
    pub fn download<'a, T: Elem + Pod>(
        &self,
        from: impl Into<Slice<'a, T>>,
    ) -> Result<Pending<T>, Error> {
        fetch(self, from.into(), Count::Yes)
    }

    /// Starts a copy to the host that is neither counted nor forbidden: for debugging and for observers.
    ///
    /// # Errors
    /// [`Error::Capturing`].
    pub fn peek<'a, T: Elem + Pod>(
        &self,
        from: impl Into<Slice<'a, T>>,
    ) -> Result<Pending<T>, Error> {
        fetch(self, from.into(), Count::Peek)
    }
}

/// Host to device.
fn send(
    stream: &Stream,
    to: &Arc<dyn Any + Send + Sync>,
    address: u64,
    bytes: &[u8],
) -> Result<(), Error> {
    let n = bytes.len() as u64;
    transfer_allowed(Direction::Upload, n)?;
    if n == 0 {
        return Ok(());
    }
    let queue = stream.queue();
    drop(queue.uncaptured("an upload")?);
    stream.ordered(&[(to, Touch::Write)], Work::Upload { bytes: n }, |_| {
        queue.back.write(address, bytes)
    })?;
    let counters = &stream.device().0.counters;
    count(counters, |c| &c.h2d_calls, 1);
    count(counters, |c| &c.h2d_bytes, n);
    Ok(())
}

/// Device to host.
fn fetch<T: Elem + Pod>(
    stream: &Stream,
    from: Slice<'_, T>,
    counted: Count,
) -> Result<Pending<T>, Error> {
    let len = from.len();
    let bytes = len * size_of::<T>();
    if counted == Count::Yes {
        transfer_allowed(Direction::Download, bytes as u64)?;
    }
    let queue = stream.queue();
    drop(queue.uncaptured("a download")?);
    let mut read = None;
    if len > 0 {
        let n = bytes as u64;
        let work = match counted {
            Count::Yes => Work::Download { bytes: n },
            Count::Peek => Work::Peek { bytes: n },
        };
        stream.ordered(&[(memory(&from), Touch::Read)], work, |_| {
            read = Some(queue.back.read(from.address(), bytes)?);
            Ok(())
        })?;
        if counted == Count::Yes {
            let counters = &stream.device().0.counters;
            count(counters, |c| &c.d2h_calls, 1);
            count(counters, |c| &c.d2h_bytes, n);
        }
    }
    Ok(Pending {
        read,
        queue: queue.clone(),
        len,
        elem: PhantomData,
    })
}

/// A copy to the host under way. Dropping it leaves the copy to itself.
#[derive(Debug)]
#[must_use = "a download is only there after `wait`"]
pub struct Pending<T> {
    read: Option<Box<dyn BackRead>>,
    queue: Arc<Queue>,
    len: usize,
    elem: PhantomData<fn() -> T>,
}

impl<T: Elem + Pod> Pending<T> {
    /// Elements that will come.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none will.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether [`Pending::wait`] would return at once.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.read.as_ref().map_or(Ok(true), |read| read.is_done())
    }

    /// Blocks this thread until the copy is there.
    ///
    /// # Errors
    /// The error of work before it on its stream.
    pub fn wait(self) -> Result<Vec<T>, Error> {
        let mut out = vec![T::zeroed(); self.len];
        self.finish(&mut out)?;
        Ok(out)
    }

    /// Blocks this thread until the copy is there, in memory of the caller.
    ///
    /// # Errors
    /// [`Error::Length`] unless `out` has the right length, and those of [`Pending::wait`].
    pub fn wait_into(self, out: &mut [T]) -> Result<(), Error> {
        if out.len() == self.len {
            self.finish(out)
        } else {
            Err(Error::Length {
                what: "download",
                want: self.len,
                got: out.len(),
            })
        }
    }

    fn finish(self, out: &mut [T]) -> Result<(), Error> {
        let Some(read) = self.read else { return Ok(()) };
        read.wait(bytemuck::cast_slice_mut(out))
            .map_err(|error| self.queue.blame(error))
    }
}
