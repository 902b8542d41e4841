//! Memory: of cards, of pools, of both sides, page-locked; and what an address is.

use super::{
    super::{
        device::pool_of,
        memory::{
            attribute, cuMemAlloc_v2, cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemAllocHost_v2,
            cuMemAllocManaged, cuMemAllocPitch_v2, cuMemFree_v2, cuMemFreeAsync, cuMemFreeHost,
            cuMemGetInfo_v2, cuMemHostAlloc, cuMemHostGetDevicePointer_v2, cuMemHostGetFlags,
            cuMemHostRegister_v2, cuMemHostUnregister, cuMemPoolGetAttribute,
            cuMemPoolSetAttribute, cuMemPoolTrimTo,
        },
        raw::{Host, In, Out},
        reserve::{
            Access, Location, PoolProperties, cuMemPoolCreate, cuMemPoolDestroy,
            cuMemPoolGetAccess, cuMemPoolSetAccess, cuMemRangeGetAttribute,
        },
        values::{cuMemPrefetchAsync, cuMemPrefetchAsync_v2},
    },
    error::{Code, well},
    state::{ready, variable},
};
use crate::{driver::driver, table::Handle};
use std::ffi::{c_int, c_uint, c_void};

/// `cudaPitchedPtr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Pitched {
    pub(super) start: u64,
    pub(super) pitch: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// `cudaExtent`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Extent {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

/// `cudaPointerAttributes`, as far as every version has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PointerAttributes {
    kind: c_int,
    device: c_int,
    on_card: u64,
    on_host: u64,
}

/// Alignment of rows, as textures would need it; only that it is a size of elements counts.
const ELEMENT: c_uint = 4;

fn one<T: Default>(number: c_int, address: u64) -> Option<T> {
    let mut value = T::default();
    attribute(number, address, Out::to(&mut value).cast()).ok()?;
    Some(value)
}

fn pointer(address: u64) -> PointerAttributes {
    let Some(kind) = one::<c_uint>(2, address) else {
        // Memory of the program's own, which no card knows.
        return PointerAttributes {
            kind: 0,
            device: -2,
            on_card: 0,
            on_host: address,
        };
    };
    let managed = one::<u8>(8, address) == Some(1);
    let on_host = one::<u64>(4, address).unwrap_or(0);
    PointerAttributes {
        kind: if managed { 3 } else { kind as c_int },
        device: one(9, address).unwrap_or(0),
        on_card: address,
        on_host,
    }
}

runtime_entries! {
    cudaMalloc(address: Out<u64>, bytes: usize) {
        let out = address.wanted()?;
        ready()?;
        if bytes == 0 {
            out.put(0)?;
            return Ok(());
        }
        well(cuMemAlloc_v2(out, bytes))
    }

    cudaMallocPitch(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize) {
        let (out, pitch) = (address.wanted()?, pitch.wanted()?);
        ready()?;
        if width == 0 || height == 0 {
            pitch.put(0)?;
            out.put(0)?;
            return Ok(());
        }
        well(cuMemAllocPitch_v2(out, pitch, width, height, ELEMENT))
    }

    cudaMalloc3D(out: Out<Pitched>, extent: Extent) {
        let out = out.wanted()?;
        let Extent { width, height, depth } = extent;
        ready()?;
        let (mut start, mut pitch) = (0, 0);
        if width > 0 && height > 0 && depth > 0 {
            let rows = height.checked_mul(depth).ok_or(Code::INVALID_VALUE)?;
            well(cuMemAllocPitch_v2(Out::to(&mut start), Out::to(&mut pitch), width, rows, ELEMENT))?;
        }
        out.put(Pitched { start, pitch, width, height })?;
        Ok(())
    }

    cudaMallocManaged(address: Out<u64>, bytes: usize, flags: c_uint) {
        ready()?;
        well(cuMemAllocManaged(address, bytes, flags))
    }

    cudaMallocHost(out: Out<Host>, bytes: usize) {
        ready()?;
        well(cuMemAllocHost_v2(out, bytes))
    }

    cudaHostAlloc(out: Out<Host>, bytes: usize, flags: c_uint) {
        ready()?;
        well(cuMemHostAlloc(out, bytes, flags))
    }

    cudaHostRegister(start: Host, bytes: usize, flags: c_uint) {
        ready()?;
        well(cuMemHostRegister_v2(start, bytes, flags))
    }

    cudaHostUnregister(start: Host) {
        ready()?;
        well(cuMemHostUnregister(start))
    }

    cudaHostGetDevicePointer(address: Out<u64>, start: Host, flags: c_uint) {
        ready()?;
        well(cuMemHostGetDevicePointer_v2(address, start, flags))
    }

    cudaHostGetFlags(flags: Out<c_uint>, start: Host) {
        ready()?;
        well(cuMemHostGetFlags(flags, start))
    }

    cudaFree(address: u64) {
        ready()?;
        well(cuMemFree_v2(address))
    }

    cudaFreeHost(start: Host) {
        ready()?;
        well(cuMemFreeHost(start))
    }

    cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        ready()?;
        well(cuMemGetInfo_v2(free, total))
    }

    /// An address that no card knows is no failure.
    cudaPointerGetAttributes(out: Out<PointerAttributes>, address: u64) {
        let out = out.wanted()?;
        ready()?;
        out.put(pointer(address))?;
        Ok(())
    }

    /// Memory of both sides is where it is needed already.
    cudaMemAdvise(address: u64, bytes: usize, _advice: c_int, _where: u64) {
        ready()?.core.block(address, bytes as u64)?;
        Ok(())
    }

    cudaMemAdvise_v2(address: u64, bytes: usize, _advice: c_int, _where: u64) {
        ready()?.core.block(address, bytes as u64)?;
        Ok(())
    }

    cudaMemRangeGetAttribute(out: Out<c_void>, len: usize, attribute: c_int, address: u64, bytes: usize) {
        ready()?;
        well(cuMemRangeGetAttribute(out, len, attribute, address, bytes))
    }

    cudaGetSymbolAddress(address: Out<u64>, symbol: usize) {
        let out = address.wanted()?;
        out.put(variable(symbol)?.0)?;
        Ok(())
    }

    cudaGetSymbolSize(bytes: Out<usize>, symbol: usize) {
        let out = bytes.wanted()?;
        out.put(variable(symbol)?.1 as usize)?;
        Ok(())
    }

    cudaMemPoolCreate(pool: Out<Handle>, properties: In<PoolProperties>) {
        ready()?;
        well(cuMemPoolCreate(pool, properties))
    }

    cudaMemPoolDestroy(pool: Handle) {
        ready()?;
        well(cuMemPoolDestroy(pool))
    }

    cudaMemPoolTrimTo(pool: Handle, keep: usize) {
        ready()?;
        well(cuMemPoolTrimTo(pool, keep))
    }

    cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, value: In<u32>) {
        ready()?;
        well(cuMemPoolSetAttribute(pool, attribute, value))
    }

    cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u64>) {
        ready()?;
        well(cuMemPoolGetAttribute(pool, attribute, value))
    }

    cudaMemPoolSetAccess(pool: Handle, access: In<Access>, count: usize) {
        ready()?;
        well(cuMemPoolSetAccess(pool, access, count))
    }

    cudaMemPoolGetAccess(flags: Out<c_int>, pool: Handle, location: In<Location>) {
        ready()?;
        well(cuMemPoolGetAccess(flags, pool, location))
    }

    /// The pool of a card, which is the one that it uses.
    cudaMemGetDefaultMemPool(pool: Out<Handle>, location: In<Location>, _kind: c_int) {
        ready()?;
        let card = location.value()?.card()?;
        pool.put(pool_of(driver()?.card(card)?.index))?;
        Ok(())
    }

    cudaMemGetMemPool(pool: Out<Handle>, location: In<Location>, _kind: c_int) {
        ready()?;
        let card = location.value()?.card()?;
        pool.put(pool_of(driver()?.card(card)?.index))?;
        Ok(())
    }
}

pub(super) mod ordered {
    use super::*;

    runtime_stream_entries! {
        cudaMallocAsync(address: Out<u64>, bytes: usize, stream: Handle) {
            ready()?;
            well(cuMemAllocAsync(address, bytes, stream))
        }

        cudaMallocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
            ready()?;
            well(cuMemAllocFromPoolAsync(address, bytes, pool, stream))
        }

        cudaFreeAsync(address: u64, stream: Handle) {
            ready()?;
            well(cuMemFreeAsync(address, stream))
        }

        /// Of CUDA 12 it takes a card and a stream, of 13 a location, flags and a stream.
        cudaMemPrefetchAsync(address: u64, bytes: usize, location: u64, third: usize, stream: Handle) {
            ready()?;
            if super::super::version() < 13000 {
                return well(cuMemPrefetchAsync(address, bytes, location as c_int, Handle(third)));
            }
            well(cuMemPrefetchAsync_v2(address, bytes, location, third as c_uint, stream))
        }

        cudaMemPrefetchAsync_v2(address: u64, bytes: usize, location: u64, flags: c_uint, stream: Handle) {
            ready()?;
            well(cuMemPrefetchAsync_v2(address, bytes, location, flags, stream))
        }
    }
}
