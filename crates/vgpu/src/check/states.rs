//! Looking at and changing what is known of the bytes of a memory, for the lanes of a warp at once.

use super::{
    access::Memory,
    checker::{At, Cta},
    memory::{Global, state},
    pages::Pages,
};

/// The states of one kind of memory.
pub(super) struct States<'a> {
    all: &'a mut [u8],
    /// Which are known to be written.
    pages: Option<&'a mut Pages>,
    /// The address of the first.
    start: u64,
    /// Bytes of a thread's own memory, where each has its own.
    own: Option<u64>,
}

impl<'a> States<'a> {
    #[inline(always)]
    pub(super) fn new(
        global: &'a mut Global,
        cta: &'a mut Cta,
        memory: Memory,
        at: &At<'_>,
    ) -> States<'a> {
        let (all, pages, start) = match memory {
            Memory::Global => {
                let (all, pages, start) = global.all();
                (all, Some(pages), start)
            }
            Memory::Shared => (&mut cta.shared[..], Some(&mut cta.pages), 0),
            Memory::Local => (&mut cta.local[..], None, 0),
            // They are the launch's, and never change.
            Memory::Param => (&mut cta.local[..0], None, 0),
        };
        States {
            all,
            pages,
            start,
            own: (memory == Memory::Local).then_some(u64::from(at.subject.local_bytes)),
        }
    }

    /// Where `len` bytes of a thread's are; outside of everything if they are not in its memory.
    #[inline(always)]
    fn offset(&self, inside: u64, len: u64, thread: u32) -> usize {
        let offset = match self.own {
            None => inside.wrapping_sub(self.start),
            Some(own) if inside.checked_add(len).is_some_and(|end| end <= own) => {
                u64::from(thread) * own + inside
            }
            Some(_) => u64::MAX,
        };
        usize::try_from(offset).unwrap_or(usize::MAX)
    }

    /// The states of a range as a thread sees it; `None` where it is not in the memory.
    #[inline(always)]
    pub(super) fn of(&mut self, inside: u64, len: u64, thread: u32) -> Option<&mut [u8]> {
        let from = self.offset(inside, len, thread);
        let to = from.checked_add(usize::try_from(len).ok()?)?;
        self.all.get_mut(from..to)
    }

    /// Whether all of a range is known to be written; `false` where that is not known.
    #[inline(always)]
    pub(super) fn covers(&self, inside: u64, len: u64) -> bool {
        let from = inside.wrapping_sub(self.start);
        match &self.pages {
            Some(pages) => pages.covers(from, len),
            None => false,
        }
    }

    /// Finds out which pages of a range are written.
    #[inline(always)]
    pub(super) fn learn(&mut self, inside: u64, len: u64) {
        if let Some(pages) = &mut self.pages {
            pages.learn(self.all, inside.wrapping_sub(self.start), len);
        }
    }

    /// A range is not known to be written any more.
    #[inline(always)]
    pub(super) fn forget(&mut self, inside: u64, len: u64) {
        if let Some(pages) = &mut self.pages {
            pages.forget(inside.wrapping_sub(self.start), len);
        }
    }

    /// Whether `N` bytes of each lane, of threads from `first` on, are aligned and written; or, with a state to set,
    /// may be written, and have it then.
    #[inline(always)]
    pub(super) fn rows<const N: usize>(
        &mut self,
        inside: &[u64; 32],
        mask: u32,
        first: u32,
        value: Option<u8>,
    ) -> bool {
        let mut wrong = false;
        // Bits in which a row is not written, and what every row that may be written has set.
        let (mut off, mut may) = ([0; 4], [!0; 4]);
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let address = inside[lane as usize];
            let at = self.offset(address, N as u64, first + lane);
            wrong |= !address.is_multiple_of(N as u64);
            match self.all.get(at..).and_then(<[u8]>::first_chunk::<N>) {
                Some(row) => {
                    let row = words(row);
                    for k in 0..N.div_ceil(8) {
                        off[k] |= row[k] ^ WRITTEN;
                        may[k] &= row[k] ^ row[k] >> 1;
                    }
                }
                None => wrong = true,
            }
        }
        let Some(value) = value else {
            return !wrong && off == [0; 4];
        };
        // Of all states these two have one of the last two bits set.
        const { assert!(state::FRESH == 1 && state::WRITTEN == 2 && state::FREED == 3) };
        const { assert!(state::NONE == 0 && state::PENDING == 4 && state::HOLLOW == 8) };
        const { assert!(state::OBJECT == 16) };
        if wrong || may.iter().any(|may| may & ONES != ONES) {
            return false;
        }
        rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let at = self.offset(inside[lane as usize], N as u64, first + lane);
            if let Some(row) = self.all.get_mut(at..).and_then(|all| all.first_chunk_mut()) {
                *row = [value; N];
            }
            if value != state::WRITTEN {
                self.forget(inside[lane as usize], N as u64);
            }
        }
        true
    }
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const WRITTEN: u64 = ONES * state::WRITTEN as u64;

/// The states of a row, 8 to a word; the rest of a short one counts as written.
#[inline(always)]
fn words<const N: usize>(row: &[u8; N]) -> [u64; 4] {
    let mut all = [WRITTEN; 4];
    let (words, rest) = row.as_chunks::<8>();
    for (word, bytes) in all.iter_mut().zip(words) {
        *word = u64::from_ne_bytes(*bytes);
    }
    if !rest.is_empty() {
        let mut last = [state::WRITTEN; 8];
        last[..rest.len()].copy_from_slice(rest);
        all[words.len()] = u64::from_ne_bytes(last);
    }
    all
}

/// Whether every byte was written.
#[inline(always)]
pub(super) fn is_written(states: &[u8]) -> bool {
    states
        .iter()
        .fold(0, |all, state| all | (state ^ state::WRITTEN))
        == 0
}

/// Whether `N` bytes at each address of the lanes of `mask` were written, where `states` are those from `first` on.
#[inline(always)]
pub(super) fn are_written<const N: usize>(
    states: &[u8],
    addresses: &[u32; 32],
    first: u32,
    mask: u32,
) -> bool {
    let Some(last) = states.len().checked_sub(N) else {
        return false;
    };
    let mut off = [0; N];
    for (lane, address) in addresses.iter().enumerate() {
        // Lanes that do not take part look at the first row, which one that does has.
        let own = if mask >> lane & 1 != 0 {
            address.wrapping_sub(first)
        } else {
            0
        };
        let at = (own as usize).min(last);
        match states.get(at..).and_then(<[u8]>::first_chunk::<N>) {
            Some(row) => {
                for k in 0..N {
                    off[k] |= row[k] ^ state::WRITTEN;
                }
            }
            None => return false,
        }
    }
    off == [0; N]
}

/// Whether every byte may be written and none is on its way.
#[inline(always)]
fn is_writable(states: &[u8]) -> bool {
    let bad = states.iter().fold(0, |bad, state| {
        bad | u8::from(state.wrapping_sub(state::FRESH) > 1)
    });
    bad == 0
}

/// Gives every byte that state, if all may be written.
#[inline(always)]
pub(super) fn write(states: &mut [u8], value: u8) -> bool {
    let fine = is_writable(states);
    if fine {
        states.fill(value);
    }
    fine
}

pub(super) fn slice(states: &mut [u8], address: u64, len: u64) -> Option<&mut [u8]> {
    let from = usize::try_from(address).ok()?;
    let to = from.checked_add(usize::try_from(len).ok()?)?;
    states.get_mut(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`are_written`] means.
    fn each_is(states: &[u8], addresses: &[u32; 32], first: u32, mask: u32, n: usize) -> bool {
        let row = |lane: usize| (addresses[lane] - first) as usize;
        (0..32)
            .filter(|lane| mask >> lane & 1 != 0)
            .all(|lane| is_written(&states[row(lane)..row(lane) + n]))
    }

    #[test]
    fn rows_with_gaps_are_written_if_each_row_of_an_active_lane_is() {
        let pitch = 24;
        let first = 1000;
        for hole in [0, 5, 15, 16, 23, 24 * 7 + 3, 24 * 31 + 15, 24 * 31 + 16] {
            let mut states = vec![state::WRITTEN; 32 * pitch];
            states[hole] = state::FRESH;
            // Rows forward, backward, and all in one place.
            let rows: [fn(u32) -> u32; 3] = [|i| i, |i| 31 - i, |_| 7];
            for row in rows {
                let addresses = std::array::from_fn(|i| first + row(i as u32) * pitch as u32);
                for mask in [!0, 1, 1 << 31, 0x8000_0001, 0x0f0f_0f0f, !(1 << 7)] {
                    let found = [
                        are_written::<4>(&states, &addresses, first, mask),
                        are_written::<8>(&states, &addresses, first, mask),
                        are_written::<16>(&states, &addresses, first, mask),
                    ];
                    let first_row = is_written(&states[..16]);
                    let want = [4, 8, 16].map(|n| each_is(&states, &addresses, first, mask, n));
                    for (found, want) in found.into_iter().zip(want) {
                        // Lanes that take no part may cost an answer, never give one.
                        assert!(found == want || !first_row && !found, "{hole} {mask:x}");
                    }
                }
            }
        }
    }
}
