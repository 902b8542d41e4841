//! Page-locked host memory, and things that are given back late.

use super::{Context, RawModule, check};
use crate::{back::BackWords, error::Error};
use cudarc::driver::sys;
use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

any_thread!(Pinned);
any_thread!(Mapped);

/// What is given back by its drop; buried until nothing uses it.
#[derive(Debug)]
pub(in crate::cuda) struct Dead {
    context: Arc<Context>,
    what: DeadThing,
}

#[derive(Debug)]
enum DeadThing {
    Module(RawModule),
    Memory(u64),
}

impl Dead {
    pub(in crate::cuda) fn module(context: Arc<Context>, module: RawModule) -> Dead {
        Dead {
            context,
            what: DeadThing::Module(module),
        }
    }

    pub(in crate::cuda) fn memory(context: Arc<Context>, address: u64) -> Dead {
        Dead {
            context,
            what: DeadThing::Memory(address),
        }
    }
}

impl Drop for Dead {
    fn drop(&mut self) {
        let given_back = self.context.bind().and_then(|()| match &self.what {
            DeadThing::Module(module) => call!(cuModuleUnload(module.0)),
            DeadThing::Memory(address) => call!(cuMemFree_v2(*address)),
        });
        // It fails only where the card is lost, and all of it with the card.
        drop(given_back);
    }
}

/// Words of page-locked host memory that kernels reach, too.
#[derive(Debug)]
pub(in crate::cuda) struct Mapped {
    context: Arc<Context>,
    data: *mut u32,
    len: usize,
    address: u64,
}

/// Usable in every context, and mapped to the card's addresses (`CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP`).
const SHARED_PAGES: u32 = 1 | 2;

impl Mapped {
    /// `len` words, zero.
    pub(in crate::cuda) fn new(context: &Arc<Context>, len: usize) -> Result<Mapped, Error> {
        context.bind()?;
        let bytes = 4 * len.max(1);
        let mut data = ptr::null_mut();
        call!(cuMemHostAlloc(&mut data, bytes, SHARED_PAGES))
            .map_err(|error| context.out_of_memory(error, bytes as u64))?;
        let mut mapped = Mapped {
            context: context.clone(),
            data: data.cast(),
            len,
            address: 0,
        };
        // SAFETY: the driver has just given these bytes to us alone.
        unsafe { ptr::write_bytes(data.cast::<u8>(), 0, bytes) };
        call!(cuMemHostGetDevicePointer_v2(&mut mapped.address, data, 0))?;
        Ok(mapped)
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.len, "the index is in range");
        // SAFETY: a word of ours, aligned as the driver aligns pages; host and card touch it in whole words.
        unsafe { AtomicU32::from_ptr(self.data.add(index)) }
    }
}

impl BackWords for Mapped {
    fn address(&self) -> u64 {
        self.address
    }

    fn load(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::Acquire)
    }

    fn store(&self, index: usize, value: u32) {
        self.word(index).store(value, Ordering::Release);
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let freed = self
            .context
            .bind()
            .and_then(|()| call!(cuMemFreeHost(self.data.cast())));
        // It fails only where the card is lost; the system takes the memory back with the process.
        drop(freed);
    }
}

/// Page-locked host memory.
#[derive(Debug)]
pub(in crate::cuda) struct Pinned {
    context: Arc<Context>,
    pub(super) data: *mut u8,
    pub(super) len: usize,
}

impl Pinned {
    /// `len` bytes, zero.
    pub(in crate::cuda) fn new(context: &Arc<Context>, len: usize) -> Result<Pinned, Error> {
        context.bind()?;
        let mut data = ptr::null_mut();
        call!(cuMemHostAlloc(&mut data, len, 0))
            .map_err(|error| context.out_of_memory(error, len as u64))?;
        let data = data.cast::<u8>();
        // SAFETY: the driver has just given these `len` bytes to us alone.
        unsafe { ptr::write_bytes(data, 0, len) };
        Ok(Pinned {
            context: context.clone(),
            data,
            len,
        })
    }

    pub(in crate::cuda) fn len(&self) -> usize {
        self.len
    }

    pub(in crate::cuda) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes of ours; the staging pool hands a piece out only when no copy writes it.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// Copies `bytes` to its start; they are no more than its length.
    pub(in crate::cuda) fn fill(&mut self, bytes: &[u8]) {
        assert!(
            bytes.len() <= self.len,
            "staging gives pieces that are large enough"
        );
        // SAFETY: the length was checked, the memory is ours, and no copy reads it yet.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.data, bytes.len()) };
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let freed = self
            .context
            .bind()
            .and_then(|()| call!(cuMemFreeHost(self.data.cast())));
        // It fails only where the card is lost; the system takes the memory back with the process.
        drop(freed);
    }
}
