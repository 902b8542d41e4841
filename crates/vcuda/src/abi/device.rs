//! Cards: how many, what they are.

use super::raw::{Out, Text};
use crate::{card, driver::driver, pool::Pool, status::Status, table::Handle};
use std::ffi::{c_int, c_uint};

/// Where the pool handles of cards begin.
const POOL: usize = 0x7_0000_0000;

/// The pool of a card, as a handle.
pub(super) fn pool_of(index: usize) -> Handle {
    Handle(POOL + 16 * index)
}

/// Does something with a pool, a card's own or one that the program made.
pub(super) fn with_pool<T>(
    pool: Handle,
    f: impl FnOnce(&Pool) -> Result<T, Status>,
) -> Result<T, Status> {
    let driver = driver()?;
    if let Ok(made) = driver.pools.find(pool) {
        return f(&made);
    }
    let offset = pool.0.checked_sub(POOL).ok_or(Status::InvalidValue)?;
    match driver.cards.get(offset / 16) {
        Some(card) if offset % 16 == 0 => f(&card.pool),
        Some(_) | None => Err(Status::InvalidValue),
    }
}

/// The card of a pool.
pub(super) fn card_of_pool(pool: Handle) -> Result<usize, Status> {
    with_pool(pool, |pool| Ok(pool.card))
}

/// Bytes of a pool that are used.
pub(super) fn used_of_pool(pool: Handle) -> Result<u64, Status> {
    let all = driver()?.contexts.all();
    Ok(all.iter().map(|context| context.core.pooled(pool)).sum())
}

/// Sixteen bytes that no other card has.
pub(super) fn uuid(index: usize) -> [u8; 16] {
    let mut bytes = *b"warpsmithvcuda\0\0";
    bytes[14..].copy_from_slice(&(index as u16).to_le_bytes());
    bytes
}

entries! {
    cuDeviceGetCount(count: Out<c_int>) {
        count.put(driver()?.cards.len() as c_int)
    }

    cuDeviceGet(device: Out<c_int>, index: c_int) {
        driver()?.card(index)?;
        device.put(index)
    }

    cuDeviceGetName(name: Out<u8>, len: c_int, device: c_int) {
        let driver = driver()?;
        driver.card(device)?;
        name.put_text(&driver.settings.name, usize::try_from(len).map_err(|_| Status::InvalidValue)?)
    }

    cuDeviceGetUuid(out: Out<[u8; 16]>, device: c_int) {
        let card = driver()?.card(device)?;
        out.put(uuid(card.index))
    }

    cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int) {
        match cuDeviceGetUuid(uuid, device) {
            0 => Ok(()),
            code => Err(Status::of_code(code).unwrap_or(Status::Unknown)),
        }
    }

    cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) {
        let driver = driver()?;
        let card = driver.card(device)?;
        bytes.put(driver.settings.memory_of(card.index) as usize)
    }

    cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) {
        let driver = driver()?;
        let card = driver.card(device)?;
        let found = card::attribute(&driver.settings, card.index, attribute);
        value.put(found.ok_or(Status::InvalidValue)?)
    }

    cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) {
        let driver = driver()?;
        driver.card(device)?;
        let sm = c_int::from(driver.settings.target.sm);
        major.put(sm / 10)?;
        minor.put(sm % 10)
    }

    cuDeviceGetPCIBusId(text: Out<u8>, len: c_int, device: c_int) {
        let card = driver()?.card(device)?;
        let id = format!("0000:{:02X}:00.0", card.index + 1);
        text.put_text(&id, usize::try_from(len).map_err(|_| Status::InvalidValue)?)
    }

    cuDeviceGetByPCIBusId(device: Out<c_int>, id: Text) {
        let id = id.to_string()?;
        let bus = id.split(':').rev().nth(1).and_then(|bus| i32::from_str_radix(bus, 16).ok());
        let index = bus.and_then(|bus| bus.checked_sub(1)).ok_or(Status::InvalidValue)?;
        driver()?.card(index)?;
        device.put(index)
    }

    cuDeviceGetLuid(_luid: Out<u8>, _mask: Out<c_uint>, device: c_int) {
        driver()?.card(device)?;
        // Only Windows has them.
        Err(Status::NotSupported)
    }

    cuDeviceGetExecAffinitySupport(supported: Out<c_int>, _kind: c_int, device: c_int) {
        driver()?.card(device)?;
        supported.put(0)
    }

    cuDeviceGetP2PAttribute(value: Out<c_int>, _attribute: c_int, device: c_int, peer: c_int) {
        let driver = driver()?;
        driver.card(device)?;
        driver.card(peer)?;
        value.put(0)
    }

    cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        let driver = driver()?;
        driver.card(device)?;
        driver.card(peer)?;
        can.put(0)
    }

    cuDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int) {
        let driver = driver()?;
        let card = driver.card(device)?;
        if !driver.settings.pools {
            return Err(Status::NotSupported);
        }
        pool.put(pool_of(card.index))
    }

    cuDeviceGetMemPool(pool: Out<Handle>, device: c_int) {
        let driver = driver()?;
        let card = driver.card(device)?;
        if !driver.settings.pools {
            return Err(Status::NotSupported);
        }
        pool.put(pool_of(card.index))
    }

    cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let card = driver()?.card(device)?;
        let primary = crate::table::lock(&card.primary);
        flags.put(primary.flags)?;
        active.put(c_int::from(primary.context.is_some()))
    }
}
