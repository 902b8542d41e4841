//! Timelines: when each piece of work began and ended, on every stream of a device.

use crate::{device::Device, error::Error, work::TimedWork};

/// A timeline that is being kept; dropping it ends it.
///
/// ```
/// use warpsmith_device::{Device, Selector, Work};
///
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let stream = device.stream()?;
/// let timeline = device.timeline()?;
/// let x = stream.upload_new(&[1.0f32; 256])?;
/// let work = timeline.finish()?;
/// assert_eq!(work[0].work, Work::Upload { bytes: 1024 });
/// assert!(work[0].start <= work[0].end);
/// # drop(x);
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
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
        if !self.0.recorder.begin(begin) {
            return Err(Error::Unsupported {
                what: "a timeline inside a timeline",
            });
        }
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
        let mut done = self.device.0.recorder.finish()?;
        // Stable: work of a stream stays in its order.
        done.sort_by_key(|timed| timed.stream);
        Ok(done)
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        self.device.0.recorder.end();
    }
}
