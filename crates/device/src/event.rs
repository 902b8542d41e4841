//! Points in a stream that others can wait for.

use crate::{back::BackEvent, error::Error, inner::Inner};
use std::{sync::Arc, time::Duration};

/// A point in a stream; made by [`Stream::record`](crate::Stream::record).
///
/// ```
/// use warpsmith_device::{Device, Selector};
///
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let (first, second) = (device.stream()?, device.stream()?);
/// let x = first.upload_new(&vec![1.0f32; 1 << 16])?;
/// let ready = first.record()?;
/// second.wait(&ready)?; // work enqueued on `second` from here on comes after
/// ready.wait()?; // so does this thread
/// assert!(ready.is_done()?);
/// # drop(x);
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) back: Arc<dyn BackEvent>,
    pub(crate) device: Arc<Inner>,
}

impl Event {
    /// Whether all work before it is done.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.back.is_done()
    }

    /// Blocks this thread until all work before it is done.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn wait(&self) -> Result<(), Error> {
        self.back.wait()
    }

    /// Device time from `earlier` to this event; both are waited for.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], or if the device is lost.
    pub fn since(&self, earlier: &Event) -> Result<Duration, Error> {
        self.device
            .owns(&earlier.device, || "the earlier event".into())?;
        earlier.wait()?;
        self.wait()?;
        self.back.since(&*earlier.back)
    }
}
