//! Memory of the host that kernels reach at its own addresses, beside device memory.
#![allow(unsafe_code)]

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

/// Start and length of each range; few programs lend more than a handful.
static RANGES: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());
/// How many there are, so that an access out of bounds takes no lock where there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Lends `len` bytes at `start` to the kernels of all machines with [`unified`](crate::Config::unified) addresses.
///
/// # Safety
/// They may be read and written, from any thread and by racing accesses, until [`take_back`] has returned and all launches
/// that were enqueued before it have ended.
pub unsafe fn lend(start: u64, len: u64) {
    let mut ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
    ranges.push((start, len));
    COUNT.store(ranges.len(), SeqCst);
}

/// Takes back what was lent at `start`; whether there was something.
pub fn take_back(start: u64) -> bool {
    let mut ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = ranges.iter().position(|(at, _)| *at == start);
    if let Some(at) = found {
        ranges.swap_remove(at);
    }
    COUNT.store(ranges.len(), SeqCst);
    found.is_some()
}

/// Whether `len` bytes at `address` are lent.
#[cold]
#[inline(never)]
pub(crate) fn holds(address: u64, len: u64) -> bool {
    if COUNT.load(SeqCst) == 0 {
        return false;
    }
    let ranges = RANGES.lock().unwrap_or_else(PoisonError::into_inner);
    ranges.iter().any(|(start, room)| {
        address
            .checked_sub(*start)
            .is_some_and(|offset| offset <= *room && len <= room - offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_held_until_it_is_taken_back() {
        let start = 0x7777_0000_1000;
        assert!(!holds(start, 1));
        // SAFETY: nothing touches it.
        unsafe { lend(start, 16) };
        assert!(holds(start, 16) && holds(start + 15, 1));
        assert!(!holds(start, 17) && !holds(start + 16, 1) && !holds(start - 1, 2));
        assert!(!holds(start, u64::MAX) && !holds(u64::MAX, 2));
        assert!(take_back(start) && !take_back(start));
        assert!(!holds(start, 1));
    }
}
