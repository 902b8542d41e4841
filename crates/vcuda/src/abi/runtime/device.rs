//! Cards: how many, which, what they are; versions and errors.

use super::{
    super::{
        context::{
            cuCtxGetLimit, cuCtxGetStreamPriorityRange, cuCtxResetPersistingL2Cache, cuCtxSetLimit,
            cuCtxSynchronize, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxSetFlags_v2,
        },
        device::{
            cuDeviceCanAccessPeer, cuDeviceGetAttribute, cuDeviceGetByPCIBusId,
            cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuDeviceGetP2PAttribute,
            cuDeviceGetPCIBusId,
        },
        query::{cuDriverGetVersion, cuGetProcAddress_v2, cuProfilerStart, cuProfilerStop},
        raw::{In, Out, Text},
        reserve::cuDeviceSetMemPool,
    },
    LAST,
    error::{self, Code, well},
    properties::{Shape, properties},
    state::{self, choose, device, ready, start},
};
use crate::{
    driver::driver,
    status::Status,
    table::{Handle, lock},
};
use std::ffi::{c_char, c_int, c_uint};

/// The card exists.
fn known(device: c_int) -> Result<(), Code> {
    start()?;
    driver()?.card(device)?;
    Ok(())
}

fn describe(out: Out<u8>, device: c_int, shape: Shape) -> Result<(), Code> {
    let out = out.wanted()?;
    known(device)?;
    out.put_bytes(&properties(&driver()?.settings, device as usize, shape))?;
    Ok(())
}

runtime_entries! {
    cudaGetDeviceCount(count: Out<c_int>) {
        let out = count.wanted()?;
        let started = start();
        let cards = driver().map_or(0, |driver| driver.cards.len());
        out.put(cards as c_int)?;
        started
    }

    /// As the headers of CUDA 13 have it; those of 12 call the other one.
    cudaGetDeviceProperties(out: Out<u8>, device: c_int) {
        describe(out, device, Shape::Thirteen)
    }

    cudaGetDeviceProperties_v2(out: Out<u8>, device: c_int) {
        describe(out, device, Shape::Twelve)
    }

    cudaDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) {
        start()?;
        well(cuDeviceGetAttribute(value, attribute, device))
    }

    cudaChooseDevice(device: Out<c_int>, _properties: In<u8>) {
        start()?;
        device.put(0)?;
        Ok(())
    }

    cudaSetDevice(device: c_int) {
        start()?;
        choose(device)
    }

    cudaInitDevice(device: c_int, _device_flags: c_uint, _flags: c_uint) {
        start()?;
        let before = state::device();
        choose(device)?;
        choose(before)
    }

    cudaGetDevice(out: Out<c_int>) {
        let out = out.wanted()?;
        start()?;
        out.put(device())?;
        Ok(())
    }

    cudaSetValidDevices(devices: In<c_int>, count: c_int) {
        (0..count.max(0) as usize).try_for_each(|at| known(devices.at(at)?))
    }

    cudaSetDeviceFlags(flags: c_uint) {
        start()?;
        well(cuDevicePrimaryCtxSetFlags_v2(device(), flags))
    }

    cudaGetDeviceFlags(flags: Out<c_uint>) {
        start()?;
        let card = driver()?.card(device())?;
        let value = lock(&card.primary).flags;
        flags.put(value)?;
        Ok(())
    }

    cudaDeviceSynchronize() {
        ready()?;
        well(cuCtxSynchronize())
    }

    cudaThreadSynchronize() {
        ready()?;
        well(cuCtxSynchronize())
    }

    /// Everything of this process on the card goes; what is called next begins anew.
    cudaDeviceReset() {
        start()?;
        well(cuDevicePrimaryCtxReset_v2(device()))
    }

    cudaThreadExit() {
        start()?;
        well(cuDevicePrimaryCtxReset_v2(device()))
    }

    cudaDeviceSetLimit(limit: c_int, value: usize) {
        ready()?;
        well(cuCtxSetLimit(limit, value))
    }

    cudaDeviceGetLimit(value: Out<usize>, limit: c_int) {
        ready()?;
        well(cuCtxGetLimit(value, limit))
    }

    /// Hints.
    cudaDeviceGetCacheConfig(config: Out<c_int>) {
        ready()?;
        config.put(0)?;
        Ok(())
    }

    cudaDeviceSetCacheConfig(_config: c_int) {
        ready().map(drop)
    }

    cudaDeviceGetSharedMemConfig(config: Out<c_int>) {
        ready()?;
        config.put(1)?;
        Ok(())
    }

    cudaDeviceSetSharedMemConfig(_config: c_int) {
        ready().map(drop)
    }

    cudaCtxResetPersistingL2Cache() {
        ready()?;
        well(cuCtxResetPersistingL2Cache())
    }

    cudaDeviceFlushGPUDirectRDMAWrites(_target: c_int, _scope: c_int) {
        ready().map(drop)
    }

    cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        ready()?;
        well(cuCtxGetStreamPriorityRange(least, greatest))
    }

    cudaDeviceGetByPCIBusId(device: Out<c_int>, id: Text) {
        start()?;
        well(cuDeviceGetByPCIBusId(device, id))
    }

    cudaDeviceGetPCIBusId(text: Out<u8>, len: c_int, device: c_int) {
        start()?;
        well(cuDeviceGetPCIBusId(text, len, device))
    }

    cudaDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, device: c_int, peer: c_int) {
        start()?;
        well(cuDeviceGetP2PAttribute(value, attribute, device, peer))
    }

    cudaDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        start()?;
        well(cuDeviceCanAccessPeer(can, device, peer))
    }

    /// No card reaches the memory of another.
    cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        known(peer)?;
        Err(if flags == 0 { Status::PeerAccessUnsupported } else { Status::InvalidValue }.into())
    }

    cudaDeviceDisablePeerAccess(peer: c_int) {
        known(peer)?;
        Err(Status::PeerAccessNotEnabled.into())
    }

    cudaDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int) {
        start()?;
        well(cuDeviceGetDefaultMemPool(pool, device))
    }

    cudaDeviceGetMemPool(pool: Out<Handle>, device: c_int) {
        start()?;
        well(cuDeviceGetMemPool(pool, device))
    }

    cudaDeviceSetMemPool(device: c_int, pool: Handle) {
        start()?;
        well(cuDeviceSetMemPool(device, pool))
    }

    cudaDriverGetVersion(version: Out<c_int>) {
        well(cuDriverGetVersion(version))
    }

    cudaRuntimeGetVersion(version: Out<c_int>) {
        version.put(super::version())?;
        Ok(())
    }

    cudaProfilerStart() {
        ready()?;
        well(cuProfilerStart())
    }

    cudaProfilerStop() {
        ready()?;
        well(cuProfilerStop())
    }
}

pub(super) mod entry_points {
    use super::*;

    /// The function of the driver; for a default stream of the thread's own, if it is asked for so or flags say it.
    fn find(
        name: Text,
        function: Out<usize>,
        version: c_int,
        flags: u64,
        found: Out<c_int>,
    ) -> Result<(), Code> {
        start()?;
        well(cuGetProcAddress_v2(name, function, version, flags, found))
    }

    runtime_stream_entries! {
        cudaGetDriverEntryPoint(name: Text, function: Out<usize>, flags: u64, found: Out<c_int>) {
            find(name, function, super::super::version(), flags, found)
        }

        cudaGetDriverEntryPointByVersion(
            name: Text,
            function: Out<usize>,
            version: c_uint,
            flags: u64,
            found: Out<c_int>,
        ) {
            find(name, function, version as c_int, flags, found)
        }
    }
}

/// The last failure of this thread, which is forgotten then.
// SAFETY: the names are those of the runtime's functions, which this library is made to stand for.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetLastError() -> u32 {
    LAST.replace(0)
}

/// The same, which is kept.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaPeekAtLastError() -> u32 {
    LAST.get()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorName(code: u32) -> *const c_char {
    error::name(code).unwrap_or(UNKNOWN).as_ptr()
}

// SAFETY: as above.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetErrorString(code: u32) -> *const c_char {
    error::text(code).unwrap_or(UNKNOWN).as_ptr()
}

const UNKNOWN: &std::ffi::CStr = c"unrecognized error code";
