//! What time it is: the one file of the crate that looks at a clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A moment, to measure from.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Seconds since 1970.
pub(crate) fn unix() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// A seed for draws that were given none.
pub(crate) fn seed() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos() as u64)
}
