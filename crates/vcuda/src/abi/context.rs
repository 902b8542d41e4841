//! Contexts: the primary ones, made ones, and which is current.

use super::raw::{In, Out};
use crate::{
    driver::{current, driver, with_stack},
    status::Status,
    table::{Handle, lock},
};
use std::{
    ffi::{c_int, c_uint, c_void},
    sync::{Arc, atomic::Ordering::Relaxed},
};

/// Destroys a context; it is current nowhere from now on, as its handle means nothing.
fn destroy(handle: Handle) -> Result<(), Status> {
    let driver = driver()?;
    let context = driver
        .contexts
        .remove(handle)
        .map_err(|_| Status::InvalidContext)?;
    driver.destroy(&context);
    Ok(())
}

fn create(out: Out<Handle>, device: c_int) -> Result<(), Status> {
    let out = out.wanted()?;
    let driver = driver()?;
    let context = driver.context(driver.card(device)?)?;
    let handle = driver.contexts.insert(Arc::new(context));
    with_stack(|stack| stack.push(handle));
    out.put(handle)
}

fn current_handle() -> Result<Handle, Status> {
    with_stack(|stack| stack.last().copied()).ok_or(Status::InvalidContext)
}

/// Ends the primary context of a card.
fn reset(device: c_int) -> Result<(), Status> {
    let card = driver()?.card(device)?;
    let context = {
        // Who has retained it has still to release it.
        lock(&card.primary).context.take()
    };
    context.map_or(Ok(()), destroy)
}

entries! {
    cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int) {
        let out = context.wanted()?;
        let driver = driver()?;
        let card = driver.card(device)?;
        if let Some(lost) = card.lost.get() {
            return Err(*lost);
        }
        let mut primary = lock(&card.primary);
        let handle = match primary.context {
            Some(handle) => handle,
            None => {
                let handle = driver.contexts.insert(Arc::new(driver.context(card)?));
                *primary.context.insert(handle)
            }
        };
        primary.users += 1;
        out.put(handle)
    }

    cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let card = driver()?.card(device)?;
        let last = {
            let mut primary = lock(&card.primary);
            primary.users = primary.users.checked_sub(1).ok_or(Status::InvalidContext)?;
            primary.users == 0
        };
        if last { reset(device) } else { Ok(()) }
    }

    cuDevicePrimaryCtxReset_v2(device: c_int) {
        reset(device)
    }

    cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        let card = driver()?.card(device)?;
        lock(&card.primary).flags = flags;
        Ok(())
    }

    cuCtxCreate_v2(context: Out<Handle>, _flags: c_uint, device: c_int) {
        create(context, device)
    }

    cuCtxCreate_v3(
        context: Out<Handle>,
        _affinity: In<c_void>,
        _count: c_int,
        _flags: c_uint,
        device: c_int,
    ) {
        create(context, device)
    }

    cuCtxCreate_v4(context: Out<Handle>, _params: In<c_void>, _flags: c_uint, device: c_int) {
        create(context, device)
    }

    cuCtxGetId(context: Handle, id: Out<u64>) {
        let handle = if context == Handle::NULL { current_handle()? } else { context };
        driver()?.contexts.find(handle).map_err(|_| Status::InvalidContext)?;
        // Handles are never given twice.
        id.put(handle.0 as u64)
    }

    cuCtxSetFlags(_flags: c_uint) {
        current().map(drop)
    }

    cuCtxGetDevice_v2(device: Out<c_int>, context: Handle) {
        let handle = if context == Handle::NULL { current_handle()? } else { context };
        let context = driver()?.contexts.find(handle).map_err(|_| Status::InvalidContext)?;
        device.put(context.core.card.index as c_int)
    }

    cuCtxSynchronize_v2(context: Handle) {
        let handle = if context == Handle::NULL { current_handle()? } else { context };
        driver()?.contexts.find(handle).map_err(|_| Status::InvalidContext)?.synchronize()
    }

    cuCtxGetCacheConfig(config: Out<c_int>) {
        current()?;
        config.put(0)
    }

    cuCtxGetSharedMemConfig(config: Out<c_int>) {
        current()?;
        config.put(1)
    }

    cuCtxSetSharedMemConfig(_config: c_int) {
        current().map(drop)
    }

    /// No card reaches the memory of another.
    cuCtxEnablePeerAccess(context: Handle, flags: c_uint) {
        driver()?.contexts.find(context).map_err(|_| Status::InvalidContext)?;
        Err(if flags == 0 { Status::PeerAccessUnsupported } else { Status::InvalidValue })
    }

    cuCtxDisablePeerAccess(context: Handle) {
        driver()?.contexts.find(context).map_err(|_| Status::InvalidContext)?;
        Err(Status::PeerAccessNotEnabled)
    }

    cuCtxResetPersistingL2Cache() {
        current().map(drop)
    }

    cuCtxDestroy_v2(context: Handle) {
        with_stack(|stack| stack.pop_if(|top| *top == context));
        destroy(context)
    }

    cuCtxSetCurrent(context: Handle) {
        let driver = driver()?;
        if context == Handle::NULL {
            with_stack(Vec::pop);
            return Ok(());
        }
        driver.contexts.find(context).map_err(|_| Status::InvalidContext)?;
        with_stack(|stack| match stack.last_mut() {
            Some(top) => *top = context,
            None => stack.push(context),
        });
        Ok(())
    }

    cuCtxGetCurrent(context: Out<Handle>) {
        driver()?;
        context.put(with_stack(|stack| stack.last().copied()).unwrap_or(Handle::NULL))
    }

    cuCtxPushCurrent_v2(context: Handle) {
        driver()?.contexts.find(context).map_err(|_| Status::InvalidContext)?;
        with_stack(|stack| stack.push(context));
        Ok(())
    }

    cuCtxPopCurrent_v2(context: Out<Handle>) {
        driver()?;
        let top = with_stack(Vec::pop).ok_or(Status::InvalidContext)?;
        context.put_if_wanted(top);
        Ok(())
    }

    cuCtxGetDevice(device: Out<c_int>) {
        device.put(current()?.core.card.index as c_int)
    }

    cuCtxGetFlags(flags: Out<c_uint>) {
        current()?;
        flags.put(0)
    }

    cuCtxGetApiVersion(context: Handle, version: Out<c_uint>) {
        let driver = driver()?;
        if context == Handle::NULL {
            current()?;
        } else {
            driver.contexts.find(context).map_err(|_| Status::InvalidContext)?;
        }
        version.put(3020)
    }

    cuCtxSynchronize() {
        current()?.synchronize()
    }

    /// The stack, the print buffer, the heap: what is asked for is kept, and not needed here.
    cuCtxSetLimit(limit: c_int, value: usize) {
        let context = current()?;
        let place = usize::try_from(limit).ok().and_then(|limit| context.limits.get(limit));
        place.ok_or(Status::UnsupportedLimit)?.store(value, Relaxed);
        Ok(())
    }

    cuCtxGetLimit(value: Out<usize>, limit: c_int) {
        let context = current()?;
        let place = usize::try_from(limit).ok().and_then(|limit| context.limits.get(limit));
        value.put(place.ok_or(Status::UnsupportedLimit)?.load(Relaxed))
    }

    cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        current()?;
        least.put_if_wanted(0);
        greatest.put_if_wanted(0);
        Ok(())
    }

    cuCtxSetCacheConfig(_config: c_int) {
        current()?;
        Ok(())
    }
}
