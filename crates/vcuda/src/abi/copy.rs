//! Copies and fills.

use super::raw::Host;
use crate::{
    context::{Context, usable},
    status::Status,
    step::{Step, Unit},
    table::Handle,
};
use std::ffi::{c_uchar, c_uint, c_ushort};

/// When a call returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Return {
    AtOnce,
    Done,
}

/// Enqueues a step of `bytes` on a stream.
fn submit(
    bytes: usize,
    stream: Handle,
    when: Return,
    step: impl FnOnce(&Context) -> Result<Step, Status>,
) -> Result<(), Status> {
    let context = usable()?;
    if bytes == 0 {
        return Ok(());
    }
    let step = step(&context)?;
    let stream = context.ordered(stream)?;
    stream.submit(step)?;
    match when {
        Return::AtOnce => Ok(()),
        Return::Done => stream.synchronize(),
    }
}

fn write(to: u64, from: Host, bytes: usize, stream: Handle, when: Return) -> Result<(), Status> {
    submit(bytes, stream, when, |context| {
        context.block(to, bytes as u64)?;
        Ok(Step::Write {
            to,
            from: from.bytes(bytes)?,
        })
    })
}

fn read(to: Host, from: u64, bytes: usize, stream: Handle, when: Return) -> Result<(), Status> {
    submit(bytes, stream, when, |context| {
        context.block(from, bytes as u64)?;
        Ok(Step::Read {
            to: to.bytes(bytes)?,
            from,
        })
    })
}

fn copy(to: u64, from: u64, bytes: usize, stream: Handle, when: Return) -> Result<(), Status> {
    submit(bytes, stream, when, |context| {
        context.block(to, bytes as u64)?;
        context.block(from, bytes as u64)?;
        Ok(Step::Copy {
            to,
            from,
            bytes: bytes as u64,
        })
    })
}

/// Between addresses of either side, told apart by where they are.
fn anywhere(to: u64, from: u64, bytes: usize, stream: Handle, when: Return) -> Result<(), Status> {
    let context = usable()?;
    let on_card = |address| context.block(address, 0).is_ok();
    match (on_card(to), on_card(from)) {
        (true, true) => copy(to, from, bytes, stream, when),
        (true, false) => write(to, Host::of(from as *mut u8), bytes, stream, when),
        (false, true) => read(Host::of(to as *mut u8), from, bytes, stream, when),
        (false, false) => Err(Status::NotSupported),
    }
}

fn fill(address: u64, unit: Unit, count: usize, stream: Handle) -> Result<(), Status> {
    let size = match unit {
        Unit::One(_) => 1,
        Unit::Two(_) => 2,
        Unit::Four(_) => 4,
    };
    let bytes = count.checked_mul(size).ok_or(Status::InvalidValue)?;
    submit(bytes, stream, Return::AtOnce, |context| {
        if !address.is_multiple_of(size as u64) {
            return Err(Status::InvalidValue);
        }
        context.block(address, bytes as u64)?;
        Ok(Step::Fill {
            address,
            unit,
            bytes: bytes as u64,
        })
    })
}

const NULL: Handle = Handle::NULL;

entries! {
    cuMemcpy(to: u64, from: u64, bytes: usize) {
        anywhere(to, from, bytes, NULL, Return::Done)
    }

    cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) {
        anywhere(to, from, bytes, stream, Return::AtOnce)
    }

    cuMemcpyHtoD_v2(to: u64, from: Host, bytes: usize) {
        write(to, from, bytes, NULL, Return::Done)
    }

    cuMemcpyHtoDAsync_v2(to: u64, from: Host, bytes: usize, stream: Handle) {
        write(to, from, bytes, stream, Return::AtOnce)
    }

    cuMemcpyDtoH_v2(to: Host, from: u64, bytes: usize) {
        read(to, from, bytes, NULL, Return::Done)
    }

    cuMemcpyDtoHAsync_v2(to: Host, from: u64, bytes: usize, stream: Handle) {
        read(to, from, bytes, stream, Return::AtOnce)
    }

    cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        copy(to, from, bytes, NULL, Return::Done)
    }

    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        copy(to, from, bytes, stream, Return::AtOnce)
    }

    cuMemsetD8_v2(address: u64, value: c_uchar, count: usize) {
        fill(address, Unit::One(value), count, NULL)
    }

    cuMemsetD8Async(address: u64, value: c_uchar, count: usize, stream: Handle) {
        fill(address, Unit::One(value), count, stream)
    }

    cuMemsetD16_v2(address: u64, value: c_ushort, count: usize) {
        fill(address, Unit::Two(value), count, NULL)
    }

    cuMemsetD16Async(address: u64, value: c_ushort, count: usize, stream: Handle) {
        fill(address, Unit::Two(value), count, stream)
    }

    cuMemsetD32_v2(address: u64, value: c_uint, count: usize) {
        fill(address, Unit::Four(value), count, NULL)
    }

    cuMemsetD32Async(address: u64, value: c_uint, count: usize, stream: Handle) {
        fill(address, Unit::Four(value), count, stream)
    }
}
