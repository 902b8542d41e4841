//! The counts of one tensor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use warpsmith_device::Snapshot;

/// What crossed for a tensor, and what wrote it.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    h2d_calls: AtomicU64,
    h2d_bytes: AtomicU64,
    d2h_calls: AtomicU64,
    d2h_bytes: AtomicU64,
    launches: AtomicU64,
}

impl Counts {
    /// A transfer to the device. Where there are no bytes there is none.
    pub(crate) fn uploaded(&self, bytes: u64) {
        self.h2d_calls.fetch_add(u64::from(bytes > 0), Relaxed);
        self.h2d_bytes.fetch_add(bytes, Relaxed);
    }

    /// A transfer to the host.
    pub(crate) fn downloaded(&self, bytes: u64) {
        self.d2h_calls.fetch_add(u64::from(bytes > 0), Relaxed);
        self.d2h_bytes.fetch_add(bytes, Relaxed);
    }

    /// A kernel that writes the tensor.
    pub(crate) fn launched(&self) {
        self.launches.fetch_add(1, Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let launches = self.launches.load(Relaxed);
        Snapshot {
            h2d_calls: self.h2d_calls.load(Relaxed),
            h2d_bytes: self.h2d_bytes.load(Relaxed),
            d2h_calls: self.d2h_calls.load(Relaxed),
            d2h_bytes: self.d2h_bytes.load(Relaxed),
            launches,
            enqueues: launches,
            ..Snapshot::default()
        }
    }

    pub(crate) fn reset(&self) {
        let all = [
            &self.h2d_calls,
            &self.h2d_bytes,
            &self.d2h_calls,
            &self.d2h_bytes,
            &self.launches,
        ];
        all.into_iter().for_each(|count| count.store(0, Relaxed));
    }
}
