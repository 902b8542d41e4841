//! Streams and events.

use super::raw::{Callback, Host, HostCall, HostFunction, In, Out, StreamCall};
use crate::{
    driver::{current, driver, usable},
    event::Event,
    status::Status,
    step::Step,
    stream::Kind,
    table::Handle,
};
use std::{
    ffi::{c_int, c_uint},
    sync::Arc,
};

/// `CU_STREAM_NON_BLOCKING`.
const INDEPENDENT: c_uint = 1;

fn create(out: Out<Handle>, flags: c_uint) -> Result<(), Status> {
    let out = out.wanted()?;
    let kind = match flags {
        0 => Kind::Blocking,
        INDEPENDENT => Kind::Independent,
        _ => return Err(Status::InvalidValue),
    };
    let stream = usable()?.new_stream(kind)?;
    out.put(driver()?.streams.insert(stream))
}

stream_entries! {
    cuStreamCreate(stream: Out<Handle>, flags: c_uint) {
        create(stream, flags)
    }

    cuStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, _priority: c_int) {
        create(stream, flags)
    }

    /// Its work is done first.
    cuStreamDestroy_v2(stream: Handle) {
        let context = current()?;
        let stream = driver()?.streams.remove(stream)?;
        stream.drain();
        drop(stream);
        context.core.well()
    }

    cuStreamGetId(stream: Handle, id: Out<u64>) {
        id.put(usable()?.stream(stream)?.id)
    }

    cuStreamGetDevice(stream: Handle, device: Out<c_int>) {
        let context = usable()?;
        context.stream(stream)?;
        device.put(context.core.card.index as c_int)
    }

    cuStreamGetCtx_v2(stream: Handle, context: Out<Handle>, green: Out<Handle>) {
        let current = usable()?;
        current.stream(stream)?;
        let handle = driver()?.contexts.handle_of(&current).ok_or(Status::InvalidContext)?;
        green.put_if_wanted(Handle::NULL);
        context.put(handle)
    }

    cuStreamAddCallback(stream: Handle, function: Callback, data: Host, flags: c_uint) {
        if flags != 0 {
            return Err(Status::InvalidValue);
        }
        let call = StreamCall::new(function, stream.0, data)?;
        usable()?.ordered(stream)?.callback(call)
    }

    /// Managed memory is where it is needed already.
    cuStreamAttachMemAsync(stream: Handle, address: u64, _bytes: usize, _flags: c_uint) {
        let context = usable()?;
        context.core.block(address, 0)?;
        context.stream(stream).map(drop)
    }

    /// Hints, all of them: none is kept, so each is as it is by itself.
    cuStreamSetAttribute(stream: Handle, attribute: c_int, value: In<[u64; 8]>) {
        usable()?.stream(stream)?;
        value.value()?;
        if (1..=18).contains(&attribute) { Ok(()) } else { Err(Status::InvalidValue) }
    }

    cuStreamGetAttribute(stream: Handle, attribute: c_int, value: Out<[u64; 8]>) {
        usable()?.stream(stream)?;
        if !(1..=18).contains(&attribute) {
            return Err(Status::InvalidValue);
        }
        // The automatic policy of waiting is 1.
        value.put([u64::from(attribute == 3), 0, 0, 0, 0, 0, 0, 0])
    }

    cuStreamCopyAttributes(to: Handle, from: Handle) {
        let context = usable()?;
        context.stream(to)?;
        context.stream(from).map(drop)
    }

    cuStreamGetFlags(stream: Handle, flags: Out<c_uint>) {
        let stream = usable()?.stream(stream)?;
        flags.put(if stream.kind == Kind::Independent { INDEPENDENT } else { 0 })
    }

    cuStreamGetPriority(stream: Handle, priority: Out<c_int>) {
        usable()?.stream(stream)?;
        priority.put(0)
    }

    cuStreamGetCtx(stream: Handle, context: Out<Handle>) {
        let current = usable()?;
        current.stream(stream)?;
        let handle = driver()?.contexts.handle_of(&current).ok_or(Status::InvalidContext)?;
        context.put(handle)
    }

    cuStreamQuery(stream: Handle) {
        let context = usable()?;
        let done = context.stream(stream)?.is_done()?;
        context.core.well()?;
        if done { Ok(()) } else { Err(Status::NotReady) }
    }

    cuStreamSynchronize(stream: Handle) {
        let context = current()?;
        context.ordered(stream)?.synchronize()
    }

    cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) {
        let event = driver()?.events.find(event)?;
        usable()?.ordered(stream)?.wait(&event)
    }

    cuLaunchHostFunc(stream: Handle, function: HostFunction, data: Host) {
        let call = HostCall::new(function, data)?;
        usable()?.ordered(stream)?.submit(Step::Call(call))
    }

    cuEventCreate(event: Out<Handle>, flags: c_uint) {
        let out = event.wanted()?;
        let event = Event::new(&usable()?.core, flags);
        out.put(driver()?.events.insert(Arc::new(event)))
    }

    cuEventDestroy_v2(event: Handle) {
        driver()?.events.remove(event).map(drop)
    }

    cuEventRecord(event: Handle, stream: Handle) {
        let event = driver()?.events.find(event)?;
        usable()?.ordered(stream)?.record(&event);
        Ok(())
    }

    cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) {
        let event = driver()?.events.find(event)?;
        usable()?.ordered(stream)?.record(&event);
        Ok(())
    }

    cuEventQuery(event: Handle) {
        let event = driver()?.events.find(event)?;
        let done = event.is_done()?;
        event.core.well()?;
        if done { Ok(()) } else { Err(Status::NotReady) }
    }

    cuEventSynchronize(event: Handle) {
        let event = driver()?.events.find(event)?;
        event.wait()?;
        event.core.well()
    }

    cuEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        let driver = driver()?;
        let (start, end) = (driver.events.find(start)?, driver.events.find(end)?);
        end.core.well()?;
        milliseconds.put(end.since(&start)?.as_secs_f32() * 1e3)
    }

    cuEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) {
        let driver = driver()?;
        let (start, end) = (driver.events.find(start)?, driver.events.find(end)?);
        end.core.well()?;
        milliseconds.put(end.since(&start)?.as_secs_f32() * 1e3)
    }
}
