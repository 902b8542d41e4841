//! Memory: of the card, from pools, and page-locked.

use super::{
    device::{card_of_pool, pool_of, used_of_pool, with_pool},
    raw::{Host, In, Out},
};
use crate::{
    context::Context,
    core::{Block, Owner},
    driver::{current, driver, usable},
    pool::Pool,
    status::Status,
    table::{Handle, lock},
};
use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::BTreeMap,
    ffi::{c_int, c_uint, c_void},
    sync::{Arc, Mutex},
};

/// Page-locked memory that was given out, and memory of the program's own that counts as such: addresses and lengths.
/// Kernels reach both where they are.
static PAGES: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
static REGISTERED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// The flag that asks for memory that kernels wait for while the host writes it (`CU_MEMHOSTALLOC_DEVICEMAP`).
const DEVICE_MAP: c_uint = 2;

/// The range of these that an address lies in.
fn range_of(ranges: &Mutex<BTreeMap<usize, usize>>, address: usize) -> Option<(usize, usize)> {
    let all = lock(ranges);
    let (start, len) = all.range(..=address).next_back()?;
    (address - start < *len).then_some((*start, *len))
}

/// The memory of the host that an address lies in, as far as it is page-locked.
fn locked(address: usize) -> Option<(usize, usize)> {
    range_of(&PAGES, address).or_else(|| range_of(&REGISTERED, address))
}

/// Whether an address is in page-locked memory of the host.
pub(super) fn is_locked(address: u64) -> bool {
    locked(address as usize).is_some()
}

/// Whether all of a range is page-locked memory of the host.
pub(super) fn locks(address: u64, bytes: usize) -> bool {
    locked(address as usize).is_some_and(|(start, len)| {
        let offset = address as usize - start;
        bytes <= len - offset
    })
}

fn layout(bytes: usize) -> Result<Layout, Status> {
    let bytes = bytes
        .checked_next_multiple_of(4096)
        .filter(|bytes| *bytes > 0);
    let bytes = bytes.ok_or(Status::InvalidValue)?;
    Layout::from_size_align(bytes, 4096).map_err(|_| Status::OutOfMemory)
}

/// Gives out page-locked memory.
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
    // SAFETY: it is given back to the system after it was taken back, when all work is done.
    unsafe { warpsmith_vgpu::lend(start as u64, bytes as u64) };
    out.put(Host::of(start))
}

/// Gives page-locked memory back, once all work of all contexts is done: copies may be under way.
fn free_pages(start: usize, bytes: usize) -> Result<(), Status> {
    let well = all_done();
    warpsmith_vgpu::take_back(start as u64);
    let layout = layout(bytes)?;
    // SAFETY: it was allocated so, was in the list once, and no stream uses it any more.
    unsafe { dealloc(start as *mut u8, layout) };
    well
}

/// Waits for all contexts, as each may use memory of the host; how the current one fares: others' errors are told to them.
fn all_done() -> Result<(), Status> {
    let here = current().ok();
    let mut well = Ok(());
    for context in driver()?.contexts.all() {
        let own = context.synchronize();
        if here
            .as_ref()
            .is_some_and(|here| Arc::ptr_eq(here, &context))
        {
            well = own;
        }
    }
    well
}

/// Gives out memory of the card, whose addresses are the same on both sides.
fn mapped(out: Out<Host>, bytes: usize) -> Result<(), Status> {
    let out = out.wanted()?;
    let address = usable()?.alloc(bytes as u64, Owner::Pinned)?;
    out.put(Host::of(address as *mut u8))
}

/// Gives out memory of a pool.
fn pooled(context: &Context, bytes: usize, pool: Handle) -> Result<u64, Status> {
    let address = context.alloc(bytes as u64, Owner::Pool(pool))?;
    let used = used_of_pool(pool)?;
    with_pool(pool, |pool| {
        pool.uses(used);
        Ok(address)
    })
}

/// The block that an address is in, of whatever context.
fn found(address: u64) -> Result<(Arc<Context>, u64, Block), Status> {
    let here = usable()?;
    if let Ok((start, block)) = here.core.block(address, 0) {
        return Ok((here, start, block));
    }
    let holder = driver()?.holder(address).ok_or(Status::InvalidValue)?;
    let (start, block) = holder.core.block(address, 0)?;
    Ok((holder, start, block))
}

/// Frees memory once all work is done, as work may still use it.
fn free(address: u64, is_right: impl Fn(Owner) -> bool) -> Result<(), Status> {
    let context = match current() {
        Ok(context) if context.core.block(address, 0).is_ok() => context,
        _ => driver()?.holder(address).ok_or(Status::InvalidValue)?,
    };
    let (start, block) = context.core.block(address, 0)?;
    if start != address || !is_right(block.owner) {
        return Err(Status::InvalidValue);
    }
    context.core.release(address)?;
    let well = context.synchronize();
    context.core.machine.free(address)?;
    well
}

/// An attribute of memory, as far as it has it.
pub(super) fn attribute(attribute: c_int, address: u64, value: Out<c_void>) -> Result<(), Status> {
    let number = |n: u32| value.cast::<c_uint>().put(n);
    let (context, start, block) = match found(address) {
        Ok(found) => found,
        Err(error) => {
            let Some((start, len)) = locked(address as usize) else {
                return Err(error);
            };
            let context = usable()?;
            let block = Block {
                bytes: len as u64,
                owner: Owner::Pinned,
            };
            (context, start as u64, block)
        }
    };
    let both_sides = block.owner.is_of_both_sides();
    match attribute {
        1 => {
            let handle = driver()?
                .contexts
                .handle_of(&context)
                .ok_or(Status::InvalidContext)?;
            value.cast::<Handle>().put(handle)
        }
        // The kind of memory: the host's is 1, the card's 2.
        2 => number(if block.owner == Owner::Pinned { 1 } else { 2 }),
        3 => value.cast::<u64>().put(address),
        4 if both_sides => value.cast::<u64>().put(address),
        6 => number(1),
        7 | 20 => value.cast::<u64>().put(start),
        8 => value.cast::<u8>().put(u8::from(block.owner.is_managed())),
        9 => value.cast::<c_int>().put(context.core.card.index as c_int),
        // Not shared with other processes, in whatever way.
        10 | 15 | 21 => value.cast::<u8>().put(0),
        14 => value.cast::<u64>().put(0),
        11 | 19 => value.cast::<u64>().put(start),
        12 | 18 => value.cast::<usize>().put(block.bytes as usize),
        13 => value.cast::<u8>().put(1),
        // Reading and writing.
        16 => number(3),
        17 => value.cast::<Handle>().put(match block.owner {
            Owner::Pool(pool) => pool,
            Owner::Program
            | Owner::Pinned
            | Owner::Managed
            | Owner::Array
            | Owner::Mapped
            | Owner::Module
            | Owner::Variable => Handle::NULL,
        }),
        _ => Err(Status::InvalidValue),
    }
}

stream_entries! {
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

    cuMemFree_v2(address: u64) {
        let context = usable()?;
        if address == 0 {
            return Ok(());
        }
        drop(context);
        free(address, |owner| owner != Owner::Pinned)
    }

    /// Memory that both sides use.
    cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: c_uint) {
        let out = address.wanted()?;
        if !matches!(flags, 1 | 2 | 4) {
            return Err(Status::InvalidValue);
        }
        out.put(usable()?.alloc(bytes as u64, Owner::Managed)?)
    }

    cuMemGetAddressRange_v2(start: Out<u64>, bytes: Out<usize>, address: u64) {
        let (_, at, block) = found(address).map_err(|_| Status::NotFound)?;
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
        out.put(pooled(&context, bytes, pool_of(context.core.card.index))?)
    }

    cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
        let out = address.wanted()?;
        let context = usable()?;
        if card_of_pool(pool)? != context.core.card.index || context.stream(stream)?.capture().is_some() {
            return Err(Status::InvalidValue);
        }
        out.put(pooled(&context, bytes, pool)?)
    }

    cuMemFreeAsync(address: u64, stream: Handle) {
        let context = usable()?;
        let stream = context.ordered(stream)?;
        if stream.capture().is_some() {
            return Err(Status::NotSupported);
        }
        if address == 0 {
            return Ok(());
        }
        context.core.release(address)?;
        stream.free(address)
    }

    cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        card_of_pool(pool).map(drop)
    }

    cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: In<u32>) {
        let new = if Pool::is_narrow(attribute) { value.value()?.into() } else { value.cast::<u64>().value()? };
        let used = used_of_pool(pool)?;
        with_pool(pool, |pool| pool.set(attribute, new, used))
    }

    cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u64>) {
        let used = used_of_pool(pool)?;
        let held = with_pool(pool, |pool| pool.attribute(attribute, used))?;
        if Pool::is_narrow(attribute) { value.cast::<u32>().put(held as u32) } else { value.put(held) }
    }

    cuMemHostAlloc(out: Out<Host>, bytes: usize, flags: c_uint) {
        if flags & DEVICE_MAP == 0 { pages(out, bytes) } else { mapped(out, bytes) }
    }

    cuMemHostGetDevicePointer_v2(address: Out<u64>, start: Host, flags: c_uint) {
        let context = usable()?;
        let at = start.address();
        let both_sides = context.core.block(at as u64, 0).is_ok() || locked(at).is_some();
        if flags == 0 && both_sides { address.put(at as u64) } else { Err(Status::InvalidValue) }
    }

    cuMemAllocHost_v2(out: Out<Host>, bytes: usize) {
        pages(out, bytes)
    }

    /// Waits for all work first, also where a context has failed: copies may be under way.
    cuMemFreeHost(start: Host) {
        driver()?;
        let address = start.address();
        if address == 0 {
            return Ok(());
        }
        let bytes = lock(&PAGES).remove(&address);
        match bytes {
            Some(bytes) => free_pages(address, bytes),
            None => free(address as u64, |owner| owner == Owner::Pinned),
        }
    }

    cuMemHostGetFlags(flags: Out<c_uint>, start: Host) {
        if locked(start.address()).is_none() {
            let (_, _, block) = found(start.address() as u64)?;
            if block.owner != Owner::Pinned {
                return Err(Status::InvalidValue);
            }
        }
        // Portable and mapped, as all of it is.
        flags.put(3)
    }

    /// Kernels reach it from now on, at its own addresses.
    cuMemHostRegister_v2(start: Host, bytes: usize, _flags: c_uint) {
        usable()?;
        if bytes == 0 {
            return Err(Status::InvalidValue);
        }
        start.bytes(bytes)?;
        let (from, end) = (start.address(), start.address() + bytes);
        let mut all = lock(&REGISTERED);
        if all.range(..end).next_back().is_some_and(|(at, len)| at + len > from) {
            return Err(Status::HostMemoryAlreadyRegistered);
        }
        all.insert(from, bytes);
        // SAFETY: the program keeps it until it takes it back, which waits for all work.
        unsafe { warpsmith_vgpu::lend(from as u64, bytes as u64) };
        Ok(())
    }

    cuMemHostUnregister(start: Host) {
        let context = usable()?;
        if start.address() == 0 {
            return Err(Status::InvalidValue);
        }
        let known = lock(&REGISTERED).remove(&start.address());
        known.ok_or(Status::HostMemoryNotRegistered)?;
        let well = context.synchronize();
        warpsmith_vgpu::take_back(start.address() as u64);
        well
    }

    cuPointerGetAttribute(value: Out<c_void>, number: c_int, address: u64) {
        usable()?;
        attribute(number, address, value.wanted()?)
    }

    /// What an address does not have is left zero, and is no failure.
    cuPointerGetAttributes(count: c_uint, numbers: In<c_int>, values: In<Out<c_void>>, address: u64) {
        usable()?;
        for at in 0..count as usize {
            let (number, value) = (numbers.at(at)?, values.at(at)?.wanted()?);
            if attribute(number, address, value).is_err() {
                match number {
                    1 | 3 | 4 | 7 | 11 | 12 | 14 | 17..=20 => value.cast::<u64>().put(0)?,
                    9 => value.cast::<c_int>().put(-2)?,
                    2 | 6 | 16 => value.cast::<c_int>().put(0)?,
                    8 | 10 | 13 | 15 | 21 => value.cast::<u8>().put(0)?,
                    _ => return Err(Status::InvalidValue),
                }
            }
        }
        Ok(())
    }

    cuPointerSetAttribute(value: In<c_void>, number: c_int, address: u64) {
        found(address)?;
        if value.is_null() || number != 6 {
            return Err(Status::InvalidValue);
        }
        Ok(())
    }
}
