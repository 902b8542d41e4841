//! Where generic addresses of shared and local memory start: for checked launches elsewhere for each CTA and thread.

use super::{LOCAL_BASE, SHARED_BASE};

/// Generic addresses from here on are of somebody's own memory in a checked launch: nothing else is so high.
pub(crate) const FOREIGN: u64 = 1 << 60;
const LOCAL: u64 = 2 * FOREIGN;
/// As far as the memories of two are apart; the lower bits of an address are those in its memory.
const LOG: u32 = 32;
const TAGS: u64 = 1 << 28;

/// What a generic address of somebody's own memory is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    Shared,
    Local,
}

impl Foreign {
    pub(crate) fn of(address: u64) -> Option<Foreign> {
        match address / FOREIGN {
            1 => Some(Foreign::Shared),
            2 | 3 => Some(Foreign::Local),
            _ => None,
        }
    }
}

/// Where the memory of a CTA and of its threads starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) shared: u64,
    local: u64,
    /// From one thread's local memory to the next one's.
    stride: u64,
}

impl Default for Own {
    /// As on a card: the same addresses for all, each of whom finds their own memory there.
    fn default() -> Own {
        Own {
            shared: SHARED_BASE,
            local: LOCAL_BASE,
            stride: 0,
        }
    }
}

impl Own {
    /// Those of a CTA of a launch, apart from those of others.
    pub(crate) fn of(launch: u32, cta: u32, threads: u32) -> Own {
        let mixed = u64::from(launch).wrapping_mul(0x9E37_79B9);
        let tag = |number: u64| (mixed.wrapping_add(number) % TAGS) << LOG;
        Own {
            shared: FOREIGN + tag(u64::from(cta)),
            local: LOCAL + tag(u64::from(cta).wrapping_mul(u64::from(threads))),
            stride: 1 << LOG,
        }
    }

    /// Where the local memory of a thread starts.
    #[inline(always)]
    pub(crate) fn local(&self, thread: u32) -> u64 {
        self.local + u64::from(thread) * self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_addresses_of_their_own() {
        let ctas = [0, 1, 7].map(|cta| Own::of(3, cta, 256));
        let mut seen = std::collections::BTreeSet::new();
        for own in ctas.iter().chain([&Own::of(4, 0, 256)]) {
            assert_eq!(Foreign::of(own.shared), Some(Foreign::Shared));
            assert!(seen.insert(own.shared));
            for thread in [0, 1, 255] {
                let local = own.local(thread);
                assert_eq!(Foreign::of(local), Some(Foreign::Local));
                assert_eq!(local as u32, 0);
                assert!(seen.insert(local), "{thread}");
            }
        }
        let plain = Own::default();
        assert_eq!(plain.local(5), LOCAL_BASE);
        assert_eq!(Foreign::of(plain.shared), None);
    }
}
