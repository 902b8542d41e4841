//! Arrays: made, described, copied.

use super::{
    copy::{Return, between},
    raw::{Host, In, Out},
};
use crate::{
    array::{Array, Descriptor, Mipmapped},
    context::Context,
    driver::{driver, usable},
    status::Status,
    table::Handle,
};
use std::{
    ffi::{c_int, c_uint},
    sync::Arc,
};

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FlatDescriptor {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

pub(super) fn array(handle: Handle) -> Result<Arc<Array>, Status> {
    driver()?.arrays.find(handle)
}

fn create(out: Out<Handle>, descriptor: Descriptor) -> Result<(), Status> {
    let out = out.wanted()?;
    let array = Array::new(&*usable()?, descriptor)?;
    out.put(driver()?.arrays.insert(Arc::new(array)))
}

/// The context that memory of arrays is of.
fn holder(address: u64) -> Result<Arc<Context>, Status> {
    driver()?.holder(address).ok_or(Status::InvalidHandle)
}

/// Frees memory of arrays once all work is done, as work may still use it.
fn free(address: u64) -> Result<(), Status> {
    let context = holder(address)?;
    context.core.release(address)?;
    let well = context.synchronize();
    context.core.machine.free(address)?;
    well
}

/// A copy from an array to one, of bytes that follow each other.
fn from_array(to: u64, from: Handle, offset: usize, bytes: usize) -> Result<(), Status> {
    let from = array(from)?.bytes(offset, bytes)?;
    between(to, from, bytes, Handle::NULL, Return::Done)
}

entries! {
    cuArray3DCreate_v2(out: Out<Handle>, descriptor: In<Descriptor>) {
        create(out, descriptor.value()?)
    }

    cuArrayCreate_v2(out: Out<Handle>, descriptor: In<FlatDescriptor>) {
        let FlatDescriptor { width, height, format, channels } = descriptor.value()?;
        create(out, Descriptor { width, height, depth: 0, format, channels, flags: 0 })
    }

    /// A level goes with the array that it is of.
    cuArrayDestroy(handle: Handle) {
        usable()?;
        if !array(handle)?.owns {
            return Err(Status::InvalidHandle);
        }
        let array = driver()?.arrays.remove(handle)?;
        free(array.image.address)
    }

    cuArray3DGetDescriptor_v2(descriptor: Out<Descriptor>, handle: Handle) {
        descriptor.put(array(handle)?.descriptor)
    }

    cuArrayGetDescriptor_v2(descriptor: Out<FlatDescriptor>, handle: Handle) {
        let Descriptor { width, height, format, channels, .. } = array(handle)?.descriptor;
        descriptor.put(FlatDescriptor { width, height, format, channels })
    }

    cuMipmappedArrayCreate(out: Out<Handle>, descriptor: In<Descriptor>, levels: c_uint) {
        let out = out.wanted()?;
        let all = Mipmapped::new(&*usable()?, descriptor.value()?, levels)?;
        out.put(driver()?.pyramids.insert(Arc::new(all)))
    }

    /// The handle of a level is the same each time.
    cuMipmappedArrayGetLevel(out: Out<Handle>, handle: Handle, level: c_uint) {
        let driver = driver()?;
        let all = driver.pyramids.find(handle)?;
        let known = all.handles.get(level as usize).ok_or(Status::InvalidValue)?;
        out.put(*known.get_or_init(|| driver.arrays.insert(all.levels[level as usize].clone())))
    }

    cuMipmappedArrayDestroy(handle: Handle) {
        usable()?;
        let driver = driver()?;
        let all = driver.pyramids.remove(handle)?;
        for level in all.handles.iter().filter_map(|level| level.get()) {
            driver.arrays.remove(*level)?;
        }
        free(all.address)
    }
}

/// Copies of bytes that follow each other.
pub(super) mod lines {
    use super::*;

    stream_entries! {
        cuMemcpyHtoA_v2(to: Handle, offset: usize, from: Host, bytes: usize) {
            let to = array(to)?.bytes(offset, bytes)?;
            between(to, from.address() as u64, bytes, Handle::NULL, Return::Done)
        }

        cuMemcpyHtoAAsync_v2(to: Handle, offset: usize, from: Host, bytes: usize, stream: Handle) {
            let to = array(to)?.bytes(offset, bytes)?;
            between(to, from.address() as u64, bytes, stream, Return::AtOnce)
        }

        cuMemcpyAtoH_v2(to: Host, from: Handle, offset: usize, bytes: usize) {
            from_array(to.address() as u64, from, offset, bytes)
        }

        cuMemcpyAtoHAsync_v2(to: Host, from: Handle, offset: usize, bytes: usize, stream: Handle) {
            let from = array(from)?.bytes(offset, bytes)?;
            between(to.address() as u64, from, bytes, stream, Return::AtOnce)
        }

        cuMemcpyDtoA_v2(to: Handle, offset: usize, from: u64, bytes: usize) {
            super::super::copy::on_card(from, bytes)?;
            let to = array(to)?.bytes(offset, bytes)?;
            between(to, from, bytes, Handle::NULL, Return::AtOnce)
        }

        cuMemcpyAtoD_v2(to: u64, from: Handle, offset: usize, bytes: usize) {
            super::super::copy::on_card(to, bytes)?;
            from_array(to, from, offset, bytes)
        }

        cuMemcpyAtoA_v2(to: Handle, to_offset: usize, from: Handle, from_offset: usize, bytes: usize) {
            let to = array(to)?.bytes(to_offset, bytes)?;
            from_array(to, from, from_offset, bytes)
        }
    }
}

/// What `cuMemcpy3D` takes for the kind of a side that is an array.
pub(super) const ARRAY: c_int = 3;
