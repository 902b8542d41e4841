//! Streams and events.

use super::{
    super::{
        raw::{Callback, Host, HostFunction, In, Out},
        stream::*,
    },
    error::well,
    state::ready,
};
use crate::table::Handle;
use std::ffi::{c_int, c_uint};

runtime_stream_entries! {
    cudaStreamCreate(stream: Out<Handle>) {
        ready()?;
        well(cuStreamCreate(stream, 0))
    }

    cudaStreamCreateWithFlags(stream: Out<Handle>, flags: c_uint) {
        ready()?;
        well(cuStreamCreate(stream, flags))
    }

    cudaStreamCreateWithPriority(stream: Out<Handle>, flags: c_uint, priority: c_int) {
        ready()?;
        well(cuStreamCreateWithPriority(stream, flags, priority))
    }

    cudaStreamDestroy(stream: Handle) {
        ready()?;
        well(cuStreamDestroy_v2(stream))
    }

    cudaStreamSynchronize(stream: Handle) {
        ready()?;
        well(cuStreamSynchronize(stream))
    }

    cudaStreamQuery(stream: Handle) {
        ready()?;
        well(cuStreamQuery(stream))
    }

    cudaStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) {
        ready()?;
        well(cuStreamWaitEvent(stream, event, flags))
    }

    cudaStreamAddCallback(stream: Handle, function: Callback, data: Host, flags: c_uint) {
        ready()?;
        well(cuStreamAddCallback(stream, function, data, flags))
    }

    cudaLaunchHostFunc(stream: Handle, function: HostFunction, data: Host) {
        ready()?;
        well(cuLaunchHostFunc(stream, function, data))
    }

    /// With the way to wait, which is a hint.
    cudaLaunchHostFunc_v2(stream: Handle, function: HostFunction, data: Host, _mode: c_uint) {
        ready()?;
        well(cuLaunchHostFunc(stream, function, data))
    }

    cudaStreamAttachMemAsync(stream: Handle, address: u64, bytes: usize, flags: c_uint) {
        ready()?;
        well(cuStreamAttachMemAsync(stream, address, bytes, flags))
    }

    cudaStreamGetPriority(stream: Handle, priority: Out<c_int>) {
        ready()?;
        well(cuStreamGetPriority(stream, priority))
    }

    cudaStreamGetFlags(stream: Handle, flags: Out<c_uint>) {
        ready()?;
        well(cuStreamGetFlags(stream, flags))
    }

    cudaStreamGetId(stream: Handle, id: Out<u64>) {
        ready()?;
        well(cuStreamGetId(stream, id))
    }

    cudaStreamGetDevice(stream: Handle, device: Out<c_int>) {
        ready()?;
        well(cuStreamGetDevice(stream, device))
    }

    cudaStreamCopyAttributes(to: Handle, from: Handle) {
        ready()?;
        well(cuStreamCopyAttributes(to, from))
    }

    cudaStreamGetAttribute(stream: Handle, attribute: c_int, value: Out<[u64; 8]>) {
        ready()?;
        well(cuStreamGetAttribute(stream, attribute, value))
    }

    cudaStreamSetAttribute(stream: Handle, attribute: c_int, value: In<[u64; 8]>) {
        ready()?;
        well(cuStreamSetAttribute(stream, attribute, value))
    }

    cudaEventCreate(event: Out<Handle>) {
        ready()?;
        well(cuEventCreate(event, 0))
    }

    cudaEventCreateWithFlags(event: Out<Handle>, flags: c_uint) {
        ready()?;
        well(cuEventCreate(event, flags))
    }

    cudaEventDestroy(event: Handle) {
        ready()?;
        well(cuEventDestroy_v2(event))
    }

    cudaEventRecord(event: Handle, stream: Handle) {
        ready()?;
        well(cuEventRecord(event, stream))
    }

    cudaEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) {
        ready()?;
        well(cuEventRecordWithFlags(event, stream, flags))
    }

    cudaEventQuery(event: Handle) {
        ready()?;
        well(cuEventQuery(event))
    }

    cudaEventSynchronize(event: Handle) {
        ready()?;
        well(cuEventSynchronize(event))
    }

    cudaEventElapsedTime(milliseconds: Out<f32>, start: Handle, end: Handle) {
        ready()?;
        well(cuEventElapsedTime(milliseconds, start, end))
    }

    cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: Handle, end: Handle) {
        ready()?;
        well(cuEventElapsedTime(milliseconds, start, end))
    }
}
