//! Counts of what crossed to a device and of what ran there.

use crate::error::{Direction, Error};
use std::{
    cell::Cell,
    ops::Sub,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts at one moment; the difference of two says what happened between them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Snapshot {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Sub for Snapshot {
            type Output = Snapshot;

            fn sub(self, earlier: Snapshot) -> Snapshot {
                Snapshot { $($name: self.$name.wrapping_sub(earlier.$name),)* }
            }
        }

        #[derive(Debug)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            pub(crate) const fn new() -> Counters {
                Counters { $($name: AtomicU64::new(0),)* }
            }

            pub(crate) fn snapshot(&self) -> Snapshot {
                Snapshot { $($name: self.$name.load(Relaxed),)* }
            }

            pub(crate) fn reset(&self) {
                $(self.$name.store(0, Relaxed);)*
            }
        }
    };
}

counts! {
    /// Transfers from host to device.
    h2d_calls,
    /// Bytes from host to device.
    h2d_bytes,
    /// Transfers from device to host.
    d2h_calls,
    /// Bytes from device to host.
    d2h_bytes,
    /// Kernels run, those of replays included.
    launches,
    /// Times the host enqueued kernels: one for a launch, one for a replay.
    enqueues,
    /// Replays.
    replays,
    /// Copies and fills within the device.
    device_copies,
    /// Allocations of device memory.
    allocations,
    /// Bytes of device memory allocated.
    allocated_bytes,
    /// Allocations returned.
    frees,
    /// Event waits put in because a buffer changed streams.
    stream_waits,
}

/// Counts of all devices of this process together.
pub(crate) static PROCESS: Counters = Counters::new();

/// Counts of all devices of this process together.
pub fn process_stats() -> Snapshot {
    PROCESS.snapshot()
}

/// Sets the counts of the process to zero; those of devices stay.
pub fn reset_process_stats() {
    PROCESS.reset();
}

/// Adds to a count of a device and of the process.
pub(crate) fn count(counters: &Counters, which: impl Fn(&Counters) -> &AtomicU64, n: u64) {
    which(counters).fetch_add(n, Relaxed);
    which(&PROCESS).fetch_add(n, Relaxed);
}

thread_local! {
    static FORBIDDEN: Cell<u32> = const { Cell::new(0) };
}

/// Runs `f`; a counted transfer that this thread starts meanwhile is [`Error::TransferForbidden`].
///
/// ```
/// use warpsmith_device::{Device, Selector, forbid_transfers};
///
/// let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
/// let (x, mut y) = (stream.upload_new(&[1u32])?, stream.alloc::<u32>(1)?);
/// forbid_transfers(|| stream.copy(&mut y, &x))?; // within the device
/// assert!(forbid_transfers(|| stream.download(&y)).is_err());
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
pub fn forbid_transfers<R>(f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            FORBIDDEN.with(|depth| depth.set(depth.get() - 1));
        }
    }
    FORBIDDEN.with(|depth| depth.set(depth.get() + 1));
    let _leave = Leave;
    f()
}

pub(crate) fn transfer_allowed(direction: Direction, bytes: u64) -> Result<(), Error> {
    if FORBIDDEN.with(Cell::get) == 0 {
        Ok(())
    } else {
        Err(Error::TransferForbidden { direction, bytes })
    }
}
