//! What must not go before the work that uses it is done.

use super::api::{CudaEvent, CudaStream, Dead};
use crate::lock::lock;
use std::sync::{Arc, Mutex, Weak};

/// Modules and memory that are given back once queues have come past the work that uses them.
#[derive(Debug, Default)]
pub(super) struct Graveyard {
    streams: Mutex<Vec<Weak<CudaStream>>>,
    graves: Mutex<Vec<Grave>>,
}

#[derive(Debug)]
struct Grave {
    /// `None` while some stream was being captured and could not tell its end.
    until: Option<Vec<Arc<CudaEvent>>>,
    /// Given back by its drop.
    _dead: Dead,
}

impl Graveyard {
    /// A stream that later burials wait for.
    pub(super) fn knows(&self, stream: &Arc<CudaStream>) {
        let mut streams = lock(&self.streams);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    /// Gives `dead` back after `event`.
    pub(super) fn bury_until(&self, dead: Dead, event: Arc<CudaEvent>) {
        lock(&self.graves).push(Grave {
            until: Some(vec![event]),
            _dead: dead,
        });
    }

    /// Gives `dead` back after what all streams have to do now.
    pub(super) fn bury(&self, dead: Dead) {
        let until = self.ends();
        lock(&self.graves).push(Grave { until, _dead: dead });
    }

    fn ends(&self) -> Option<Vec<Arc<CudaEvent>>> {
        let streams: Vec<_> = lock(&self.streams)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        streams.iter().map(|stream| stream.end()).collect()
    }

    /// Gives back what is due; never waits.
    pub(super) fn sweep(&self) {
        let mut graves = std::mem::take(&mut *lock(&self.graves));
        for grave in &mut graves {
            if grave.until.is_none() {
                grave.until = self.ends();
            }
        }
        let due = |grave: &Grave| {
            let Some(until) = &grave.until else {
                return false;
            };
            until.iter().all(|event| event.is_done().unwrap_or(true))
        };
        graves.retain(|grave| !due(grave));
        lock(&self.graves).append(&mut graves);
    }
}

impl Drop for Graveyard {
    fn drop(&mut self) {
        for grave in lock(&self.graves).iter() {
            for event in grave.until.iter().flatten() {
                // It fails only where the card is lost, and its work with it.
                drop(event.wait_done());
            }
        }
    }
}
