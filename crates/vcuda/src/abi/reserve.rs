//! Memory whose addresses are reserved apart from it, and pools.

use super::{
    device::card_of_pool,
    raw::{In, Out},
};
use crate::{
    driver::{driver, usable},
    pool::Pool,
    reserve::{Backing, GRANULE, Span},
    status::Status,
    table::Handle,
};
use std::{
    ffi::{c_int, c_void},
    sync::Arc,
};

/// `CUmemLocation`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Location {
    kind: c_int,
    number: c_int,
}

impl Location {
    /// The card that it is.
    pub(super) fn card(self) -> Result<c_int, Status> {
        if self.kind == DEVICE {
            Ok(self.number)
        } else {
            Err(Status::NotSupported)
        }
    }
}

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Properties {
    kind: c_int,
    handles: c_int,
    location: Location,
    reserved: usize,
    flags: u64,
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Access {
    location: Location,
    flags: c_int,
}

/// `CUmemPoolProps`, up to what is read of it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PoolProperties {
    kind: c_int,
    handles: c_int,
    location: Location,
}

/// Reading and writing.
const ALL: c_int = 3;
/// Memory of a card.
const DEVICE: c_int = 1;

fn span_of(address: u64, bytes: u64) -> Result<Arc<Span>, Status> {
    let mut spans = driver()?.spans.all().into_iter();
    let inside = |span: &Arc<Span>| {
        let offset = address.checked_sub(span.start);
        offset.is_some_and(|offset| offset <= span.bytes && bytes <= span.bytes - offset)
    };
    spans.find(inside).ok_or(Status::InvalidValue)
}

fn backing_at(address: u64) -> Result<Arc<Backing>, Status> {
    let mut all = driver()?.backings.all().into_iter();
    let found = all.find(|backing| {
        let start = backing.address();
        start.is_some_and(|start| (start..start + backing.bytes).contains(&address))
    });
    found.ok_or(Status::InvalidValue)
}

entries! {
    cuMemAddressReserve(out: Out<u64>, bytes: usize, align: usize, _wish: u64, flags: u64) {
        let out = out.wanted()?;
        if flags != 0 {
            return Err(Status::InvalidValue);
        }
        let span = Span::new(&*usable()?, bytes as u64, align as u64)?;
        out.put(span.start)?;
        driver()?.spans.insert(Arc::new(span));
        Ok(())
    }

    cuMemAddressFree(address: u64, bytes: usize) {
        let driver = driver()?;
        let context = usable()?;
        let span = span_of(address, bytes as u64)?;
        if span.start != address || span.bytes != bytes as u64 {
            return Err(Status::InvalidValue);
        }
        driver.spans.forget(|other| std::ptr::eq(other, &*span));
        span.free(&context)
    }

    cuMemCreate(out: Out<Handle>, bytes: usize, properties: In<Properties>, flags: u64) {
        let out = out.wanted()?;
        let driver = driver()?;
        let Properties { kind, handles, location, .. } = properties.value()?;
        if location.kind != DEVICE || handles != 0 {
            crate::report::lacks("memory that is shared with other processes, or of the host, by `cuMemCreate`");
            return Err(Status::NotSupported);
        }
        if kind != 1 || flags != 0 || bytes == 0 || !(bytes as u64).is_multiple_of(GRANULE) {
            return Err(Status::InvalidValue);
        }
        let card = driver.card(location.number)?;
        out.put(driver.backings.insert(Arc::new(Backing::new(card.index, bytes as u64))))
    }

    cuMemRelease(handle: Handle) {
        let driver = driver()?;
        let backing = driver.backings.find(handle)?;
        // What is mapped stays until it is unmapped.
        if backing.address().is_none() {
            driver.backings.remove(handle)?;
        }
        backing.released();
        Ok(())
    }

    cuMemMap(address: u64, bytes: usize, offset: usize, handle: Handle, flags: u64) {
        let context = usable()?;
        let backing = driver()?.backings.find(handle)?;
        span_of(address, bytes as u64)?;
        if offset != 0 || flags != 0 || bytes as u64 != backing.bytes || backing.card != context.core.card.index {
            return Err(Status::InvalidValue);
        }
        backing.map(&context, address)
    }

    cuMemUnmap(address: u64, bytes: usize) {
        let driver = driver()?;
        let context = usable()?;
        let end = address.checked_add(bytes as u64).ok_or(Status::InvalidValue)?;
        let mut at = address;
        while at < end {
            let backing = backing_at(at)?;
            if backing.address() != Some(at) {
                return Err(Status::InvalidValue);
            }
            backing.unmap(&context)?;
            at += backing.bytes;
            if backing.is_released() {
                driver.backings.forget(|other| std::ptr::eq(other, &*backing));
            }
        }
        Ok(())
    }

    /// What is mapped can be read and written from the start.
    cuMemSetAccess(address: u64, bytes: usize, access: In<Access>, count: usize) {
        span_of(address, bytes as u64)?;
        (0..count).try_for_each(|at| access.at(at).map(drop))
    }

    cuMemGetAccess(flags: Out<u64>, location: In<Location>, address: u64) {
        location.value()?;
        backing_at(address)?;
        flags.put(ALL as u64)
    }

    cuMemGetAllocationGranularity(out: Out<usize>, properties: In<Properties>, _option: c_int) {
        properties.value()?;
        out.put(GRANULE as usize)
    }

    cuMemGetAllocationPropertiesFromHandle(out: Out<Properties>, handle: Handle) {
        let backing = driver()?.backings.find(handle)?;
        let location = Location { kind: DEVICE, number: backing.card as c_int };
        out.put(Properties { kind: 1, handles: 0, location, reserved: 0, flags: 0 })
    }

    cuMemRetainAllocationHandle(out: Out<Handle>, address: u64) {
        let out = out.wanted()?;
        let backing = backing_at(address)?;
        out.put(driver()?.backings.handle_of(&backing).ok_or(Status::InvalidValue)?)
    }

    cuMemPoolCreate(out: Out<Handle>, properties: In<PoolProperties>) {
        let out = out.wanted()?;
        let driver = driver()?;
        let PoolProperties { kind, handles, location } = properties.value()?;
        if location.kind != DEVICE || handles != 0 || !driver.settings.pools {
            crate::report::lacks("pools that are shared with other processes, or of the host");
            return Err(Status::NotSupported);
        }
        if kind != 1 {
            return Err(Status::InvalidValue);
        }
        let card = driver.card(location.number)?.index;
        out.put(driver.pools.insert(Arc::new(Pool::new(card))))
    }

    cuMemPoolDestroy(pool: Handle) {
        driver()?.pools.remove(pool).map_err(|_| Status::InvalidValue).map(drop)
    }

    /// A card reaches its own pools; others do not.
    cuMemPoolSetAccess(pool: Handle, access: In<Access>, count: usize) {
        let card = card_of_pool(pool)?;
        (0..count).try_for_each(|at| {
            let Access { location, flags } = access.at(at)?;
            let own = location.number == card as c_int;
            if own == (flags == ALL) { Ok(()) } else { Err(Status::InvalidDevice) }
        })
    }

    cuMemPoolGetAccess(flags: Out<c_int>, pool: Handle, location: In<Location>) {
        let card = card_of_pool(pool)?;
        let own = location.value()?.number == card as c_int;
        flags.put(if own { ALL } else { 0 })
    }

    cuDeviceSetMemPool(device: c_int, pool: Handle) {
        let card = driver()?.card(device)?.index;
        if card_of_pool(pool)? == card { Ok(()) } else { Err(Status::InvalidValue) }
    }

    /// Memory that both sides use is where it is needed already.
    cuMemAdvise(address: u64, bytes: usize, _advice: c_int, _device: c_int) {
        usable()?.core.block(address, bytes as u64).map(drop)
    }

    cuMemAdvise_v2(address: u64, bytes: usize, _advice: c_int, _location: Location) {
        usable()?.core.block(address, bytes as u64).map(drop)
    }

    cuMemRangeGetAttribute(out: Out<c_void>, len: usize, attribute: c_int, address: u64, bytes: usize) {
        usable()?.core.block(address, bytes as u64)?;
        match (attribute, len) {
            // Mostly read; the preferred and the last location: no advice is kept.
            (1, 4) => out.cast::<c_int>().put(0),
            (2 | 4, 4) => out.cast::<c_int>().put(-2),
            (5 | 7, 4) => out.cast::<c_int>().put(0),
            (6 | 8, 4) => out.cast::<c_int>().put(0),
            (3, len) if len.is_multiple_of(4) => {
                (0..len / 4).try_for_each(|at| out.cast::<c_int>().at(at).put(-2))
            }
            _ => Err(Status::InvalidValue),
        }
    }
}
