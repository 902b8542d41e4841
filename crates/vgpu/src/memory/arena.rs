//! The device arena: address space from the system, handed out first-fit.
#![allow(unsafe_code)]

use super::{GLOBAL_BASE, raw::Window};
use crate::error::Error;
use memmap2::MmapMut;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

const ALIGN: u64 = 256;
/// Bytes kept free after each allocation.
const RED_ZONE: u64 = 256;

/// Device memory and its allocator.
pub(crate) struct Arena {
    window: Window,
    base: u64,
    size: u64,
    state: Mutex<State>,
    poison: bool,
    _map: MmapMut,
}

/// Where guest addresses begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addresses {
    /// At [`GLOBAL_BASE`], the same each time.
    Own,
    /// Where the memory is in this process.
    OfTheHost,
}

/// What an allocation holds before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Whatever was there.
    Anything,
    /// `0xFF` in every byte.
    Poisoned,
}

struct State {
    /// Start to length, never touching.
    free: BTreeMap<u64, u64>,
    /// Start to length with red zone.
    used: BTreeMap<u64, u64>,
    free_bytes: u64,
}

impl Arena {
    /// Reserves `bytes` of address space; pages come when touched. Guest addresses begin at [`GLOBAL_BASE`], or are those
    /// of the host.
    pub(crate) fn new(bytes: u64, fresh: Fresh, addresses: Addresses) -> Result<Arena, Error> {
        let fail = |reason: String| Error::Reserve { bytes, reason };
        let size = bytes.max(1 << 16).next_multiple_of(1 << 16);
        let len = usize::try_from(size).map_err(|e| fail(e.to_string()))?;
        let mut map = memmap2::MmapOptions::new()
            .len(len)
            .no_reserve_swap()
            .map_anon()
            .map_err(|e| fail(e.to_string()))?;
        ask_for_huge_pages(&map);
        let base = match addresses {
            Addresses::Own => GLOBAL_BASE,
            Addresses::OfTheHost => map.as_ptr() as u64,
        };
        // Below are the windows of shared and local memory.
        if base < GLOBAL_BASE {
            return Err(fail(format!("0x{base:x} is an address of shared memory")));
        }
        // SAFETY: the map lives as long as the arena, and every user of the window holds the arena.
        let window = unsafe { Window::new(map.as_mut_ptr(), base, size) };
        let state = State {
            free: BTreeMap::from([(base, size)]),
            used: BTreeMap::new(),
            free_bytes: size,
        };
        Ok(Arena {
            window,
            base,
            size,
            state: Mutex::new(state),
            poison: fresh == Fresh::Poisoned,
            _map: map,
        })
    }

    /// All of device memory.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Its first address and its size.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.base, self.size)
    }

    /// Gives an allocation back without handing its range out again.
    pub(crate) fn retire(&self, address: u64) -> Result<(), Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let len = state.used.remove(&address);
        let len = len.ok_or(Error::NotAllocated { address })?;
        state.free_bytes += len;
        Ok(())
    }

    /// Free and total bytes.
    pub(crate) fn info(&self) -> (u64, u64) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.free_bytes, self.size)
    }

    /// First fit, 256-byte aligned.
    pub(crate) fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let out = Error::OutOfMemory {
            needed: bytes,
            free: state.free_bytes,
        };
        let Some(len) = bytes
            .max(1)
            .checked_next_multiple_of(ALIGN)
            .and_then(|len| len.checked_add(RED_ZONE))
        else {
            return Err(out);
        };
        let Some((&start, &room)) = state.free.iter().find(|(_, room)| **room >= len) else {
            return Err(out);
        };
        state.free.remove(&start);
        if room > len {
            state.free.insert(start + len, room - len);
        }
        state.used.insert(start, len);
        state.free_bytes -= len;
        if self.poison {
            self.window.fill(start, 0xFF, len);
        }
        Ok(start)
    }

    /// Gives an allocation back and joins it with its free neighbours.
    pub(crate) fn free(&self, address: u64) -> Result<(), Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let len = state
            .used
            .remove(&address)
            .ok_or(Error::NotAllocated { address })?;
        state.free_bytes += len;
        let (mut start, mut end) = (address, address + len);
        if let Some((&before, &room)) = state.free.range(..address).next_back()
            && before + room == start
        {
            state.free.remove(&before);
            start = before;
        }
        if let Some(room) = state.free.remove(&end) {
            end += room;
        }
        state.free.insert(start, end - start);
        Ok(())
    }
}

/// Bytes at the start of an arena that stay on small pages: a huge one is cleared as a whole when it is first touched, which
/// short runs with little memory would pay for.
const SMALL: usize = 8 << 20;

/// Asks for huge pages, where the system gives them to those who ask: weights are read once a token, and looking up a page
/// for every 4 KiB of them would cost as much as reading them.
fn ask_for_huge_pages(map: &MmapMut) {
    #[cfg(target_os = "linux")]
    if let Some(rest) = map.len().checked_sub(SMALL) {
        // Kernels without huge pages refuse, and run all the same.
        let _refused = map.advise_range(memmap2::Advice::HugePage, SMALL, rest);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (map, SMALL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_and_join() {
        let arena = Arena::new(1 << 20, Fresh::Anything, Addresses::Own).expect("1 MiB");
        let (before, total) = arena.info();
        assert_eq!(before, total);
        let blocks: Vec<u64> = (1..40)
            .map(|i| arena.alloc(i * 77).expect("fits"))
            .collect();
        for pair in blocks.windows(2) {
            assert_eq!(pair[0] % 256, 0);
            assert!(pair[1] - pair[0] >= 256);
        }
        for address in blocks
            .iter()
            .step_by(2)
            .chain(blocks.iter().skip(1).step_by(2))
        {
            arena.free(*address).expect("allocated");
        }
        assert_eq!(arena.info().0, before);
        assert_eq!(
            arena.free(blocks[0]),
            Err(Error::NotAllocated { address: blocks[0] })
        );
        arena.alloc(total - 512).expect("all joined");
        assert!(matches!(
            arena.alloc(u64::MAX),
            Err(Error::OutOfMemory { .. })
        ));
    }

    #[test]
    fn addresses_of_the_host_are_those_of_the_memory_and_of_what_is_lent() {
        let arena = Arena::new(1 << 20, Fresh::Poisoned, Addresses::OfTheHost).expect("1 MiB");
        let window = arena.window();
        let block = arena.alloc(16).expect("fits");
        assert_eq!(window.pointer(block).map(|at| at as u64), Some(block));
        assert_eq!(window.load::<u64>(block), Ok(u64::MAX));
        let mut own = vec![7u32; 64];
        let start = own.as_mut_ptr() as u64;
        assert_eq!(window.load::<u32>(start), Err(crate::memory::Bad::Bounds));
        // SAFETY: `own` lives until it is taken back, and is not used meanwhile.
        unsafe { crate::memory::lent::lend(start, 256) };
        assert_eq!(window.load::<u32>(start + 252), Ok(7));
        assert_eq!(window.store::<u32>(start + 4, 9), Ok(()));
        assert_eq!(
            window.load::<u32>(start + 256),
            Err(crate::memory::Bad::Bounds)
        );
        assert!(crate::memory::lent::take_back(start));
        assert_eq!(window.load::<u32>(start), Err(crate::memory::Bad::Bounds));
        assert_eq!(own[1], 9);
    }

    #[test]
    fn accesses_stop_at_the_edges() {
        let arena = Arena::new(1 << 16, Fresh::Anything, Addresses::Own).expect("64 KiB");
        let window = arena.window();
        let end = GLOBAL_BASE + (1 << 16);
        assert!(window.write(end - 4, &[1, 2, 3, 4]));
        assert_eq!(window.load::<u32>(end - 4), Ok(0x0403_0201));
        assert_eq!(window.load::<u32>(end - 2), Err(crate::memory::Bad::Align));
        assert_eq!(window.load::<u64>(end), Err(crate::memory::Bad::Bounds));
        assert_eq!(
            window.load::<u8>(GLOBAL_BASE - 1),
            Err(crate::memory::Bad::Bounds)
        );
        assert!(!window.fill(GLOBAL_BASE, 0, u64::MAX));
        assert!(window.copy(end - 4, end - 6, 4));
    }
}
