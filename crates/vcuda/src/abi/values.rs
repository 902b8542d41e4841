//! Words of memory that streams write and wait for.

use super::{memory::locks, raw::In};
use crate::{
    context::Context,
    driver::usable,
    status::Status,
    step::{Step, Until},
    table::Handle,
};
use std::ffi::c_uint;

/// Whether there is such a word, of the card or of the host's memory that is page-locked.
fn has(context: &Context, address: u64, bytes: usize) -> Result<(), Status> {
    if !address.is_multiple_of(bytes as u64) {
        return Err(Status::InvalidValue);
    }
    if locks(address, bytes) {
        return Ok(());
    }
    context.core.block(address, bytes as u64).map(drop)
}

fn write(context: &Context, address: u64, value: u64, bytes: usize) -> Result<Step, Status> {
    has(context, address, bytes)?;
    let bytes = value.to_le_bytes()[..bytes].into();
    Ok(Step::Staged { to: address, bytes })
}

fn wait(
    context: &Context,
    address: u64,
    value: u64,
    bytes: usize,
    flags: c_uint,
) -> Result<Step, Status> {
    has(context, address, bytes)?;
    let until = match flags & 0xF {
        0 => Until::AtLeast,
        1 => Until::Equal,
        2 => Until::And,
        3 => Until::Nor,
        _ => return Err(Status::InvalidValue),
    };
    let wide = bytes == 8;
    Ok(Step::WaitValue {
        address,
        value,
        wide,
        until,
    })
}

fn submit(
    stream: Handle,
    step: impl FnOnce(&Context) -> Result<Step, Status>,
) -> Result<(), Status> {
    let context = usable()?;
    let step = step(&context)?;
    context.ordered(stream)?.submit(step)
}

/// `CUstreamBatchMemOpParams`: the operation, the address, the value, flags.
fn batch(stream: Handle, count: c_uint, all: In<[u64; 6]>) -> Result<(), Status> {
    for at in 0..count as usize {
        let [operation, address, value, flags, ..] = all.at(at)?;
        let (low, flags) = (value & 0xFFFF_FFFF, flags as c_uint);
        match operation as c_uint {
            1 => submit(stream, |context| wait(context, address, low, 4, flags))?,
            2 => submit(stream, |context| write(context, address, low, 4))?,
            4 => submit(stream, |context| wait(context, address, value, 8, flags))?,
            5 => submit(stream, |context| write(context, address, value, 8))?,
            // Flushes and barriers: all is seen in the order of the stream.
            3 | 6 => {}
            _ => return Err(Status::InvalidValue),
        }
    }
    Ok(())
}

stream_entries! {
    cuStreamWriteValue32(stream: Handle, address: u64, value: u32, _flags: c_uint) {
        submit(stream, |context| write(context, address, value.into(), 4))
    }

    cuStreamWriteValue32_v2(stream: Handle, address: u64, value: u32, _flags: c_uint) {
        submit(stream, |context| write(context, address, value.into(), 4))
    }

    cuStreamWriteValue64(stream: Handle, address: u64, value: u64, _flags: c_uint) {
        submit(stream, |context| write(context, address, value, 8))
    }

    cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, _flags: c_uint) {
        submit(stream, |context| write(context, address, value, 8))
    }

    cuStreamWaitValue32(stream: Handle, address: u64, value: u32, flags: c_uint) {
        submit(stream, |context| wait(context, address, value.into(), 4, flags))
    }

    cuStreamWaitValue32_v2(stream: Handle, address: u64, value: u32, flags: c_uint) {
        submit(stream, |context| wait(context, address, value.into(), 4, flags))
    }

    cuStreamWaitValue64(stream: Handle, address: u64, value: u64, flags: c_uint) {
        submit(stream, |context| wait(context, address, value, 8, flags))
    }

    cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: c_uint) {
        submit(stream, |context| wait(context, address, value, 8, flags))
    }

    cuStreamBatchMemOp(stream: Handle, count: c_uint, all: In<[u64; 6]>, _flags: c_uint) {
        batch(stream, count, all)
    }

    cuStreamBatchMemOp_v2(stream: Handle, count: c_uint, all: In<[u64; 6]>, _flags: c_uint) {
        batch(stream, count, all)
    }

    /// Memory that both sides use is where it is needed already.
    cuMemPrefetchAsync(address: u64, bytes: usize, _device: i32, stream: Handle) {
        let context = usable()?;
        context.core.block(address, bytes as u64)?;
        context.stream(stream).map(drop)
    }

    cuMemPrefetchAsync_v2(address: u64, bytes: usize, _location: u64, _flags: c_uint, stream: Handle) {
        let context = usable()?;
        context.core.block(address, bytes as u64)?;
        context.stream(stream).map(drop)
    }
}
