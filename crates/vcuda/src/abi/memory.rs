//! Memory: of the card, from pools, and page-locked.

use super::{
    device::card_of_pool,
    raw::{Host, In, Out},
};
use crate::{
    context::{Owner, current, usable},
    driver::driver,
    status::Status,
    table::{Handle, lock},
};
use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::BTreeMap,
    ffi::{c_int, c_uint, c_void},
    sync::Mutex,
};

/// Page-locked memory that was given out: addresses and lengths.
static PAGES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Page-locked memory that kernels reach, too: its address on the card by that of the host.
static MAPPED: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());
/// The flag that asks for it (`CU_MEMHOSTALLOC_DEVICEMAP`).
const DEVICE_MAP: c_uint = 2;

/// Gives out memory of the card as the host sees it.
fn mapped(out: Out<Host>, bytes: usize) -> Result<(), Status> {
    let out = out.wanted()?;
    let context = usable()?;
    let address = context.alloc(bytes as u64, Owner::Program)?;
    let host = context.core.machine.host_pointer(address);
    let host = host.ok_or(Status::InvalidValue)?;
    context.core.machine.write(address, &vec![0; bytes])?;
    lock(&MAPPED).insert(host as usize, address);
    out.put(Host::of(host))
}

fn layout(bytes: usize) -> Result<Layout, Status> {
    let bytes = bytes
        .checked_next_multiple_of(4096)
        .filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or(Status::InvalidValue)?;
    Layout::from_size_align(bytes, 4096).map_err(|_| Status::OutOfMemory)
}

fn pages(out: Out<Host>, bytes: usize) -> Result<(), Status> {
    let out = out.wanted()?;
    usable()?;
    let layout = layout(bytes)?;
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(Status::OutOfMemory);
    }
    lock(&PAGES).insert(start as usize, bytes);
    out.put(Host::of(start))
}

/// The pages that an address lies in.
fn pages_of(address: usize) -> Option<(usize, usize)> {
    let pages = lock(&PAGES);
    let (start, len) = pages.range(..=address).next_back()?;
    (address - start < *len).then_some((*start, *len))
}

entries! {
    cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let context = usable()?;
        let (left, all) = context.core.machine.memory_info();
        free.put(left as usize)?;
        total.put(all as usize)
    }

    cuMemAlloc_v2(address: Out<u64>, bytes: usize) {
        let out = address.wanted()?;
        out.put(usable()?.alloc(bytes as u64, Owner::Program)?)
    }

    cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, unit: c_uint) {
        let (out, pitch) = (address.wanted()?, pitch.wanted()?);
        let row = width.checked_next_multiple_of(512).ok_or(Status::InvalidValue)?;
        let bytes = row.checked_mul(height).ok_or(Status::InvalidValue)?;
        if !matches!(unit, 4 | 8 | 16) {
            return Err(Status::InvalidValue);
        }
        out.put(usable()?.alloc(bytes as u64, Owner::Program)?)?;
        pitch.put(row)
    }

    /// Waits for all work first, as work may still use the memory.
    cuMemFree_v2(address: u64) {
        let context = usable()?;
        if address == 0 {
            return Ok(());
        }
        context.release(address)?;
        let well = context.synchronize();
        context.core.machine.free(address)?;
        well
    }

    cuMemGetAddressRange_v2(start: Out<u64>, bytes: Out<usize>, address: u64) {
        let (at, block) = usable()?.block(address, 0).map_err(|_| Status::NotFound)?;
        start.put_if_wanted(at);
        bytes.put_if_wanted(block.bytes as usize);
        Ok(())
    }

    cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) {
        let out = address.wanted()?;
        let context = usable()?;
        if !context.core.settings.pools || context.stream(stream)?.capture().is_some() {
            return Err(Status::NotSupported);
        }
        out.put(context.alloc(bytes as u64, Owner::Pool)?)
    }

    cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
        let out = address.wanted()?;
        let context = usable()?;
        if card_of_pool(pool)? != context.core.card.index || context.stream(stream)?.capture().is_some() {
            return Err(Status::InvalidValue);
        }
        out.put(context.alloc(bytes as u64, Owner::Pool)?)
    }

    cuMemFreeAsync(address: u64, stream: Handle) {
        let context = usable()?;
        let stream = context.ordered(stream)?;
        if stream.capture().is_some() {
            return Err(Status::NotSupported);
        }
        context.release(address)?;
        stream.free(address)
    }

    cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        card_of_pool(pool).map(drop)
    }

    /// The threshold and what may be used again: nothing is kept here, so nothing depends on them.
    cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: In<u32>) {
        card_of_pool(pool)?;
        value.value()?;
        if (1..=8).contains(&attribute) { Ok(()) } else { Err(Status::InvalidValue) }
    }

    cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u64>) {
        let index = card_of_pool(pool)?;
        let context = usable()?;
        if context.core.card.index != index {
            return Err(Status::InvalidContext);
        }
        match attribute {
            4 => value.put(u64::MAX),
            // Reserved and used, now and at most.
            5..=8 => value.put(context.pooled()),
            _ => Err(Status::InvalidValue),
        }
    }

    cuMemHostAlloc(pages_out: Out<Host>, bytes: usize, flags: c_uint) {
        if flags & DEVICE_MAP == 0 { pages(pages_out, bytes) } else { mapped(pages_out, bytes) }
    }

    cuMemHostGetDevicePointer_v2(address: Out<u64>, start: Host, flags: c_uint) {
        usable()?;
        let found = lock(&MAPPED).get(&start.address()).copied();
        match found {
            Some(at) if flags == 0 => address.put(at),
            Some(_) | None => Err(Status::InvalidValue),
        }
    }

    cuMemAllocHost_v2(pages_out: Out<Host>, bytes: usize) {
        pages(pages_out, bytes)
    }

    /// Waits for all work first, also where the context has failed: copies may be under way.
    cuMemFreeHost(start: Host) {
        driver()?;
        let address = start.address();
        if address == 0 {
            return Ok(());
        }
        let context = current()?;
        let card_address = lock(&MAPPED).remove(&address);
        if let Some(address) = card_address {
            context.release(address)?;
            let well = context.synchronize();
            context.core.machine.free(address)?;
            return well;
        }
        let bytes = lock(&PAGES).remove(&address).ok_or(Status::InvalidValue)?;
        let well = context.synchronize();
        let layout = layout(bytes)?;
        // SAFETY: it was allocated so, is in the list once, and no stream of the context uses it any more.
        unsafe { dealloc(address as *mut u8, layout) };
        well
    }

    cuMemHostGetFlags(flags: Out<c_uint>, start: Host) {
        pages_of(start.address()).ok_or(Status::InvalidValue)?;
        flags.put(0)
    }

    /// Memory of the host is as good as page-locked here.
    cuMemHostRegister_v2(start: Host, bytes: usize, _flags: c_uint) {
        usable()?;
        start.bytes(bytes).map(drop)
    }

    cuMemHostUnregister(start: Host) {
        usable()?;
        if start.address() == 0 { Err(Status::InvalidValue) } else { Ok(()) }
    }

    cuPointerGetAttribute(value: Out<c_void>, attribute: c_int, address: u64) {
        let context = usable()?;
        let block = context.block(address, 0).ok();
        let pages = pages_of(address as usize);
        match (attribute, block, pages) {
            // The kind of memory: the host's is 1, the card's 2.
            (2, Some(_), _) => value.cast::<c_uint>().put(2),
            (2, None, Some(_)) => value.cast::<c_uint>().put(1),
            // The address on the card.
            (3, Some(_), _) => value.cast::<u64>().put(address),
            // The address on the host.
            (4, None, Some(_)) => value.cast::<u64>().put(address),
            // Managed.
            (8, Some(_), _) | (8, None, Some(_)) => value.cast::<u8>().put(0),
            // The card's number.
            (9, Some(_), _) | (9, None, Some(_)) => value.cast::<c_int>().put(context.core.card.index as c_int),
            // Start and size of the block.
            (11, Some((start, _)), _) => value.cast::<u64>().put(start),
            (12, Some((_, block)), _) => value.cast::<usize>().put(block.bytes as usize),
            _ => Err(Status::InvalidValue),
        }
    }
}
