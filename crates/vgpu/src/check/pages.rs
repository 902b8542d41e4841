//! Which pages of a memory are known to be written from end to end, so that one look settles many accesses.

use super::states::is_written;

/// Bytes of a page, as a power of two.
const LOG: u32 = 8;
/// The flag of a page of which every byte is written.
const FULL: u8 = 0xFF;
/// Pages that are looked at together.
const WORD: usize = 16;
/// The most pages that are looked at for one access of a warp: beyond, its lanes are looked at one by one.
const MOST: usize = 512;
/// The most pages that are found full for one access.
const FOUND: usize = 8;

/// A flag for each page. What is not flagged may be full all the same.
#[derive(Default)]
pub(super) struct Pages {
    flags: Vec<u8>,
    bytes: u64,
}

impl Pages {
    /// For a memory of that many bytes, none of them known to be written. Large ones take memory where it is touched.
    pub(super) fn new(bytes: u64) -> Pages {
        Pages {
            flags: vec![0; len(bytes)],
            bytes,
        }
    }

    /// For another memory.
    pub(super) fn reset(&mut self, bytes: u64) {
        let mut flags = std::mem::take(&mut self.flags);
        flags.clear();
        flags.resize(len(bytes), 0);
        *self = Pages { flags, bytes };
    }

    /// Whether all of a range is known to be written.
    #[inline(always)]
    pub(super) fn covers(&self, from: u64, len: u64) -> bool {
        let end = from.wrapping_add(len);
        if end <= from || end > self.bytes {
            return false;
        }
        let first = (from >> LOG) as usize;
        let count = ((end - 1) >> LOG) as usize - first + 1;
        // Most accesses are of few pages.
        if let (1..=8, Some(few)) = (count, self.flags.get(first..).and_then(<[u8]>::first_chunk)) {
            return !u64::from_le_bytes(*few) << (8 * (8 - count)) == 0;
        }
        let Some(word) = self.flags.get(first..).and_then(<[u8]>::first_chunk) else {
            return false;
        };
        if count > WORD {
            return self.covers_many(first, count);
        }
        !u128::from_le_bytes(*word) << (8 * (WORD - count)) == 0
    }

    #[inline(always)]
    fn covers_many(&self, first: usize, count: usize) -> bool {
        if count > MOST {
            return false;
        }
        match self.flags.get(first..first + count) {
            Some(flags) => is_all(flags),
            None => false,
        }
    }

    /// Finds out which pages of a range are written.
    #[inline(always)]
    pub(super) fn learn(&mut self, states: &[u8], from: u64, len: u64) {
        if len == 0 || from.checked_add(len).is_none_or(|end| end > self.bytes) {
            return;
        }
        let (first, last) = ((from >> LOG) as usize, ((from + len - 1) >> LOG) as usize);
        if last - first < MOST {
            self.find(states, first, last, FOUND);
        }
    }

    /// The same for all of a range, however long.
    pub(super) fn learn_all(&mut self, states: &[u8], from: u64, len: u64) {
        let (first, end) = (
            (from >> LOG) as usize,
            from.saturating_add(len).min(self.bytes),
        );
        for page in first..end.div_ceil(1 << LOG) as usize {
            self.find(states, page, page, 1);
        }
    }

    /// Of the pages from `first` to `last`, up to `most` that were not known to be full, until one is not.
    #[inline(always)]
    fn find(&mut self, states: &[u8], first: usize, last: usize, most: usize) {
        let Some(flags) = self.flags.get_mut(first..=last) else {
            return;
        };
        let mut left = most;
        for (at, flag) in flags.iter_mut().enumerate() {
            if *flag == FULL {
                continue;
            }
            let start = (first + at) << LOG;
            let end = states.len().min(start + (1 << LOG));
            match states.get(start..end) {
                Some(page) if left > 0 && is_written(page) => *flag = FULL,
                Some(_) | None => return,
            }
            left -= 1;
        }
    }

    /// Of a range no page is known to be written any more.
    #[inline(always)]
    pub(super) fn forget(&mut self, from: u64, len: u64) {
        if len == 0 || from.checked_add(len).is_none_or(|end| end > self.bytes) {
            return;
        }
        let pages = (from >> LOG) as usize..=((from + len - 1) >> LOG) as usize;
        if let Some(flags) = self.flags.get_mut(pages) {
            flags.fill(0);
        }
    }
}

/// Flags for so many bytes: a word can be read at each.
fn len(bytes: u64) -> usize {
    usize::try_from(bytes.div_ceil(1 << LOG)).unwrap_or(0) + WORD
}

/// Whether all of these pages are full.
#[inline(always)]
fn is_all(flags: &[u8]) -> bool {
    let (words, rest) = flags.as_chunks::<WORD>();
    let off = words
        .iter()
        .fold(0, |off, word| off | !u128::from_le_bytes(*word));
    rest.iter()
        .fold(off == 0, |all, flag| all & (*flag == FULL))
}

#[cfg(test)]
mod tests {
    use super::{super::memory::state, *};

    /// What [`Pages::covers`] means.
    fn is_known(known: &[bool], from: u64, len: u64) -> bool {
        let pages = from >> LOG..=(from + len - 1) >> LOG;
        pages.into_iter().all(|page| known[page as usize])
    }

    #[test]
    fn a_range_is_covered_if_each_of_its_pages_is() {
        let bytes = 40 << LOG;
        for hole in [0, 1, 15, 16, 17, 39] {
            let mut states = vec![state::WRITTEN; bytes];
            states[(hole << LOG) + 77] = state::FRESH;
            let mut pages = Pages::new(bytes as u64);
            pages.learn_all(&states, 0, bytes as u64);
            let known: Vec<bool> = (0..40).map(|page| page != hole).collect();
            for from in (0..bytes as u64).step_by(97) {
                for len in [1, 4, 255, 256, 257, 4096, 5000] {
                    let inside = from + len <= bytes as u64;
                    let want = inside && is_known(&known, from, len);
                    assert_eq!(pages.covers(from, len), want, "{hole} {from} {len}");
                }
            }
        }
    }

    #[test]
    fn what_is_forgotten_is_not_covered_until_it_is_found_again() {
        let states = vec![state::WRITTEN; 1000];
        let mut pages = Pages::new(1000);
        assert!(!pages.covers(0, 4));
        pages.learn(&states, 900, 4);
        assert!(pages.covers(768, 232));
        assert!(!pages.covers(768, 233) && !pages.covers(764, 8));
        pages.forget(999, 1);
        assert!(!pages.covers(900, 4));
        pages.learn(&states, 0, 1000);
        assert!(pages.covers(0, 1000));
        assert!(!pages.covers(u64::MAX, 4) && !pages.covers(0, 0));
    }
}
