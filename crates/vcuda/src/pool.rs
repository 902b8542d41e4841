//! Pools: what programs set and ask of them. Nothing is kept here that nobody uses, so what is reserved is what is used.

use crate::status::Status;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A pool, a card's own or one that the program made.
pub(crate) struct Pool {
    pub(crate) card: usize,
    /// What may be used again, a bit for each attribute.
    reuse: AtomicU32,
    threshold: AtomicU64,
    /// The most that was used, since it was last set back: reserved and used.
    most: [AtomicU64; 2],
}

/// `CUmemPool_attribute`.
const THRESHOLD: i32 = 4;
const RESERVED: i32 = 5;
const RESERVED_MOST: i32 = 6;
const USED: i32 = 7;
const USED_MOST: i32 = 8;

impl Pool {
    pub(crate) fn new(card: usize) -> Pool {
        Pool {
            card,
            reuse: AtomicU32::new(0b1110),
            threshold: AtomicU64::new(0),
            most: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    /// So much is used now.
    pub(crate) fn uses(&self, bytes: u64) {
        for most in &self.most {
            most.fetch_max(bytes, Relaxed);
        }
    }

    /// An attribute where `used` bytes are used.
    pub(crate) fn attribute(&self, number: i32, used: u64) -> Result<u64, Status> {
        match number {
            1..=3 => Ok(u64::from(self.reuse.load(Relaxed) >> number & 1)),
            THRESHOLD => Ok(self.threshold.load(Relaxed)),
            RESERVED | USED => Ok(used),
            RESERVED_MOST => Ok(self.most[0].load(Relaxed)),
            USED_MOST => Ok(self.most[1].load(Relaxed)),
            _ => Err(Status::InvalidValue),
        }
    }

    /// Sets an attribute; what was used most can be set back to 0, which is what is used now.
    pub(crate) fn set(&self, number: i32, value: u64, used: u64) -> Result<(), Status> {
        match (number, value) {
            (1..=3, 0) => drop(self.reuse.fetch_and(!(1 << number), Relaxed)),
            (1..=3, _) => drop(self.reuse.fetch_or(1 << number, Relaxed)),
            (THRESHOLD, value) => self.threshold.store(value, Relaxed),
            (RESERVED_MOST, 0) => self.most[0].store(used, Relaxed),
            (USED_MOST, 0) => self.most[1].store(used, Relaxed),
            _ => return Err(Status::InvalidValue),
        }
        Ok(())
    }

    /// Whether an attribute is 32 bits wide.
    pub(crate) fn is_narrow(number: i32) -> bool {
        (1..=3).contains(&number)
    }
}
