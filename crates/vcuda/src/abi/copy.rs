//! Copies and fills.

use super::{
    memory::{is_locked, locks},
    raw::{Host, In, Out},
};
use crate::{
    context::Context,
    driver::{driver, usable},
    status::Status,
    step::{Step, Unit},
    table::Handle,
};
use std::{
    ffi::{c_uchar, c_uint, c_ushort},
    sync::Arc,
};

/// When a call returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Return {
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

/// Where an address is.
enum Side {
    /// On the card of the current context.
    Here,
    /// On another card.
    There(Arc<Context>),
    /// On the host: page-locked, so that copies need not be done when a call returns.
    Pinned,
    /// On the host.
    Pageable,
}

fn side(context: &Context, address: u64, bytes: u64) -> Result<Side, Status> {
    if context.core.block(address, 0).is_ok() {
        return Ok(Side::Here);
    }
    if let Some(other) = driver()?.holder(address) {
        return Ok(if other.core.card.index == context.core.card.index {
            Side::Here
        } else {
            Side::There(other)
        });
    }
    if is_locked(address) {
        return Ok(Side::Pinned);
    }
    // What a card has and nobody was given is no memory of the host's.
    let is_of = |one: &Arc<Context>| one.core.machine.write(address, &[]).is_ok();
    if driver()?.contexts.all().iter().any(is_of) {
        crate::report::copies_nowhere(address, bytes, crate::host::caller);
        return Err(Status::InvalidValue);
    }
    Ok(Side::Pageable)
}

impl Side {
    /// Whether all of it is memory that somebody was given, where a card has it.
    fn holds(&self, address: u64, bytes: u64) -> Result<(), Status> {
        match self {
            Side::Here => on_card(address, bytes as usize),
            Side::There(other) => other.core.block(address, bytes).map(drop),
            Side::Pinned | Side::Pageable => Ok(()),
        }
    }
}

/// The step of a copy, and whether it must be done before its call returns.
pub(super) fn step(
    context: &Context,
    to: u64,
    from: u64,
    bytes: u64,
) -> Result<(Step, bool), Status> {
    let host = |address: u64| Host::of(address as *mut u8).bytes(bytes as usize);
    let (at_to, at_from) = (side(context, to, bytes)?, side(context, from, bytes)?);
    at_to.holds(to, bytes)?;
    at_from.holds(from, bytes)?;
    let is_pageable = |side: &Side| matches!(side, Side::Pageable);
    let pageable = is_pageable(&at_to) || is_pageable(&at_from);
    let cards = |on: &Context, of: &Context| Step::Between {
        to,
        of: of.core.clone(),
        from,
        on: on.core.clone(),
        bytes,
    };
    Ok(match (at_to, at_from) {
        (Side::Here, Side::Here) => (Step::Copy { to, from, bytes }, false),
        (Side::Here, Side::There(of)) => (cards(context, &of), false),
        (Side::There(on), Side::Here) => (cards(&on, context), false),
        (Side::There(on), Side::There(of)) => (cards(&on, &of), false),
        (Side::Here, Side::Pinned | Side::Pageable) => {
            let from = host(from)?;
            (Step::Write { to, from }, pageable)
        }
        (Side::Pinned | Side::Pageable, Side::Here) => {
            let to = host(to)?;
            (Step::Read { to, from }, pageable)
        }
        (Side::There(on), Side::Pinned | Side::Pageable) => {
            let (on, from) = (on.core.clone(), host(from)?);
            (Step::WriteTo { on, to, from }, true)
        }
        (Side::Pinned | Side::Pageable, Side::There(of)) => {
            let (of, to) = (of.core.clone(), host(to)?);
            (Step::ReadFrom { of, to, from }, true)
        }
        (Side::Pinned | Side::Pageable, Side::Pinned | Side::Pageable) => {
            let (to, from) = (host(to)?, host(from)?);
            (Step::Host { to, from }, true)
        }
    })
}

/// Copies between any two addresses. What is pageable may change when the call has returned: it is read before that, or
/// written.
pub(super) fn between(
    to: u64,
    from: u64,
    bytes: usize,
    stream: Handle,
    when: Return,
) -> Result<(), Status> {
    let context = usable()?;
    if bytes == 0 {
        return Ok(());
    }
    if to == 0 || from == 0 {
        return Err(Status::InvalidValue);
    }
    let (step, at_once) = step(&context, to, from, bytes as u64)?;
    let stream = context.ordered(stream)?;
    let captured = stream.capture().is_some();
    let step = match step {
        Step::Write { to, from } if at_once && when == Return::AtOnce && !captured => {
            Step::Staged {
                to,
                bytes: from.now().into(),
            }
        }
        step => step,
    };
    let staged = matches!(step, Step::Staged { .. });
    stream.submit(step)?;
    if when == Return::Done || at_once && !staged && !captured {
        return stream.synchronize();
    }
    Ok(())
}

/// As [`copy`], to memory of a card.
fn write(to: u64, from: Host, bytes: usize, stream: Handle, when: Return) -> Result<(), Status> {
    on_card(to, bytes)?;
    between(to, from.address() as u64, bytes, stream, when)
}

/// As [`copy`], from memory of a card.
fn read(to: Host, from: u64, bytes: usize, stream: Handle, when: Return) -> Result<(), Status> {
    on_card(from, bytes)?;
    between(to.address() as u64, from, bytes, stream, when)
}

/// Whether all of it is memory that cards reach.
pub(super) fn on_card(address: u64, bytes: usize) -> Result<(), Status> {
    let context = usable()?;
    if bytes == 0 || context.core.block(address, bytes as u64).is_ok() || is_locked(address) {
        return Ok(());
    }
    let held = driver()?.holder(address).ok_or(Status::InvalidValue);
    let held = held.and_then(|holder| {
        let whole = holder.core.block(address, bytes as u64).map(drop);
        whole.inspect_err(|_| {
            if let Ok((start, block)) = holder.core.block(address, 0) {
                let place = (start, block.bytes);
                crate::report::copies_past(address, bytes as u64, place, crate::host::caller);
            }
        })
    });
    held.inspect_err(|_| {
        if driver().is_ok_and(|driver| driver.holder(address).is_none()) {
            crate::report::copies_nowhere(address, bytes as u64, crate::host::caller);
        }
    })
}

/// Fills memory. What only a card uses is filled in its time; memory that the host uses, too, when the call returns, if that
/// is asked for.
pub(super) fn fill(
    address: u64,
    unit: Unit,
    count: usize,
    stream: Handle,
    when: Return,
) -> Result<(), Status> {
    let size = match unit {
        Unit::One(_) => 1,
        Unit::Two(_) => 2,
        Unit::Four(_) => 4,
    };
    let bytes = count.checked_mul(size).ok_or(Status::InvalidValue)?;
    let both_sides = match usable()?.core.block(address, bytes as u64) {
        Ok((_, block)) => block.owner.is_of_both_sides(),
        Err(_) => locks(address, bytes),
    };
    let when = if both_sides { when } else { Return::AtOnce };
    submit(bytes, stream, when, |context| {
        if !address.is_multiple_of(size as u64) {
            return Err(Status::InvalidValue);
        }
        if !both_sides && context.core.block(address, bytes as u64).is_err() {
            on_card(address, bytes)?;
            return Err(Status::InvalidValue);
        }
        Ok(Step::Fill {
            address,
            unit,
            bytes: bytes as u64,
        })
    })
}

const NULL: Handle = Handle::NULL;

stream_entries! {
    cuMemcpy(to: u64, from: u64, bytes: usize) {
        between(to, from, bytes, NULL, Return::Done)
    }

    cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) {
        between(to, from, bytes, stream, Return::AtOnce)
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
        on_card(to, bytes)?;
        on_card(from, bytes)?;
        between(to, from, bytes, NULL, Return::AtOnce)
    }

    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        on_card(to, bytes)?;
        on_card(from, bytes)?;
        between(to, from, bytes, stream, Return::AtOnce)
    }

    cuMemsetD8_v2(address: u64, value: c_uchar, count: usize) {
        fill(address, Unit::One(value), count, NULL, Return::Done)
    }

    cuMemsetD8Async(address: u64, value: c_uchar, count: usize, stream: Handle) {
        fill(address, Unit::One(value), count, stream, Return::AtOnce)
    }

    cuMemsetD16_v2(address: u64, value: c_ushort, count: usize) {
        fill(address, Unit::Two(value), count, NULL, Return::Done)
    }

    cuMemsetD16Async(address: u64, value: c_ushort, count: usize, stream: Handle) {
        fill(address, Unit::Two(value), count, stream, Return::AtOnce)
    }

    cuMemsetD32_v2(address: u64, value: c_uint, count: usize) {
        fill(address, Unit::Four(value), count, NULL, Return::Done)
    }

    cuMemsetD32Async(address: u64, value: c_uint, count: usize, stream: Handle) {
        fill(address, Unit::Four(value), count, stream, Return::AtOnce)
    }

    cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) {
        between(to, from, bytes, NULL, Return::Done)
    }

    cuMemcpyPeerAsync(
        to: u64,
        _to_context: Handle,
        from: u64,
        _from_context: Handle,
        bytes: usize,
        stream: Handle,
    ) {
        between(to, from, bytes, stream, Return::AtOnce)
    }

    cuMemcpyBatchAsync_v2(
        to: In<u64>,
        from: In<u64>,
        sizes: In<usize>,
        count: usize,
        _attributes: In<u64>,
        _first: In<usize>,
        _kinds: usize,
        stream: Handle,
    ) {
        (0..count).try_for_each(|at| {
            between(to.at(at)?, from.at(at)?, sizes.at(at)?, stream, Return::AtOnce)
        })
    }

    cuMemcpyBatchAsync(
        to: In<u64>,
        from: In<u64>,
        sizes: In<usize>,
        count: usize,
        _attributes: In<u64>,
        _first: In<usize>,
        _kinds: usize,
        failed: Out<usize>,
        stream: Handle,
    ) {
        (0..count).try_for_each(|at| {
            failed.put_if_wanted(at);
            between(to.at(at)?, from.at(at)?, sizes.at(at)?, stream, Return::AtOnce)
        })
    }
}
