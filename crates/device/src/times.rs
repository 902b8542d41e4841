//! Time by kernel: an event before and after each launch of a stream while work is timed.

use crate::{
    error::Error,
    lock::lock,
    stream::Stream,
    work::{Timed, Work},
};
use std::{sync::Arc, time::Duration};

/// A launch and the device time it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchTime {
    /// The entry that was launched.
    pub kernel: Arc<str>,
    /// From its start to its end, with what the device needs to begin it.
    pub time: Duration,
}

impl Stream {
    /// Runs `work`, and gives the device time of each kernel that it launches on this stream, in order; waits for them.
    /// Replays are one piece of work and have no times of their own, so what is timed must launch eagerly.
    ///
    /// # Errors
    /// What `work` returns; [`Error::Capturing`]; [`Error::Unsupported`] inside another call of this.
    pub fn time_launches<R, E: From<Error>>(
        &self,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<(R, Vec<LaunchTime>), E> {
        /// Ends the timing also where `work` fails or unwinds.
        struct End<'a>(&'a Stream);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                lock(&self.0.queue().state).timed = None;
            }
        }
        {
            let mut state = self.queue().uncaptured("timing")?;
            if state.timed.is_some() {
                return Err(Error::Unsupported {
                    what: "timing inside timing",
                }
                .into());
            }
            state.timed = Some(Vec::new());
        }
        let end = End(self);
        let value = work()?;
        let timed = lock(&self.queue().state).timed.take().unwrap_or_default();
        drop(end);
        self.synchronize()?;
        let mut times = Vec::new();
        for Timed { work, start, end } in timed {
            if let Work::Kernel { name: kernel, .. } = work {
                let time = end.since(&*start)?;
                times.push(LaunchTime { kernel, time });
            }
        }
        Ok((value, times))
    }
}
