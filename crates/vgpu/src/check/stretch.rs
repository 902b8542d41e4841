//! Stretches of memory: what a first look at the accesses of a warp sees of them.

use super::{checker::Checker, pages::Pages};

/// From the lowest to the highest address of the active lanes, and all bits that are set in any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) bits: u64,
}

impl Stretch {
    /// Its bytes, where each access is to so many.
    #[inline(always)]
    pub(super) fn len(self, bytes: u64) -> u64 {
        (self.high - self.low).saturating_add(bytes)
    }
}

impl Checker {
    /// Whether accesses to `bytes` of global memory each, a power of two, of registers that are defined, are plain; `false`
    /// where that is not known.
    #[inline(always)]
    pub(crate) fn settles_global(&self, stretch: Stretch, bytes: u32) -> bool {
        let (pages, base) = self.global.pages();
        settles(pages, base, stretch, u64::from(bytes))
    }

    /// The same of shared memory.
    #[inline(always)]
    pub(crate) fn settles_shared(&self, stretch: Stretch, bytes: u32) -> bool {
        match &self.current {
            Some((_, cta)) => settles(&cta.pages, 0, stretch, u64::from(bytes)),
            None => false,
        }
    }
}

#[inline(always)]
fn settles(pages: &Pages, base: u64, stretch: Stretch, bytes: u64) -> bool {
    stretch.bits & (bytes - 1) == 0
        && pages.covers(stretch.low.wrapping_sub(base), stretch.len(bytes))
}
