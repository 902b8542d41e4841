//! Memory of the host: kernels reach it where it is, and copies of it are over when the program may rely on that.

use super::*;
use std::ffi::c_uint;

/// `add` on 32 words of memory at an address that host and card share; what the host sees then.
fn added(program: &Program, address: u64) -> Result<Vec<u32>, u32> {
    let memory = Host::of(address as *mut u8);
    let first = memory.bytes(128).map_err(|status| status as u32)?;
    first.write(&[7u32.to_le_bytes(); 32].concat());
    assert_eq!(program.add(address, address, 3, Handle::NULL), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    let mut bytes = [0; 128];
    first.read(&mut bytes);
    Ok(bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect())
}

#[test]
fn kernels_reach_memory_of_the_host_at_its_own_addresses() -> Result<(), u32> {
    let program = program()?;
    let host = |call: &dyn Fn(Out<Host>) -> u32| {
        let mut address = 0usize;
        match call(Out::of(&mut address).cast()) {
            0 => Ok(address as u64),
            code => Err(code),
        }
    };
    let locked = host(&|out| cuMemAllocHost_v2(out, 128))?;
    let mapped = host(&|out| cuMemHostAlloc(out, 128, 2))?;
    let both = get(|out| cuMemAllocManaged(out, 128, 1))?;
    let mut own = vec![0u32; 32];
    let registered = own.as_mut_ptr() as u64;
    let start = Host::of(own.as_mut_ptr().cast());
    assert_eq!(
        get(|out| cuMemHostGetDevicePointer_v2(out, start, 0)),
        Err(1)
    );
    assert_eq!(cuMemHostRegister_v2(start, 128, 0), 0);
    assert_eq!(
        cuMemHostRegister_v2(start, 4, 0),
        Status::HostMemoryAlreadyRegistered as u32
    );
    for address in [locked, mapped, both, registered] {
        assert_eq!(added(&program, address)?, [10; 32]);
        let kind: c_uint = get(|out: Out<c_uint>| cuPointerGetAttribute(out.cast(), 2, address))?;
        assert_eq!(kind, if address == both { 2 } else { 1 });
    }
    // A fill that is no work of a stream is over when it returns.
    for address in [locked, mapped, both, registered] {
        assert_eq!(cuMemsetD32_v2(address, 5, 32), 0);
        let mut bytes = [0; 128];
        let memory = Host::of(address as *mut u8).bytes(128);
        memory.map_err(|status| status as u32)?.read(&mut bytes);
        assert_eq!(bytes, *[5u32.to_le_bytes(); 32].as_flattened());
    }
    assert_eq!(cuMemsetD32_v2(registered, 5, 33), 1);
    for address in [locked, mapped, registered] {
        let start = Host::of(address as *mut u8);
        assert_eq!(
            get(|out| cuMemHostGetDevicePointer_v2(out, start, 0)),
            Ok(address)
        );
    }
    assert_eq!(cuMemHostUnregister(start), 0);
    assert_eq!(
        cuMemHostUnregister(start),
        Status::HostMemoryNotRegistered as u32
    );
    assert_eq!(cuMemFree_v2(both), 0);
    for address in [locked, mapped] {
        assert_eq!(cuMemFree_v2(address), 1);
        assert_eq!(cuMemFreeHost(Host::of(address as *mut u8)), 0);
        assert_eq!(cuMemFreeHost(Host::of(address as *mut u8)), 1);
    }
    // What is no longer there is out of bounds.
    assert_eq!(program.add(registered, registered, 3, Handle::NULL), 0);
    assert_eq!(cuCtxSynchronize(), Status::IllegalAddress as u32);
    assert_eq!(cuDevicePrimaryCtxReset_v2(program.card), 0);
    Ok(())
}

/// Counts for a while, and writes how far.
const SLOW: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry slow(.param .u64 p) {\n.reg .pred %q;\n.reg .b32 %r<3>;\n.reg .b64 %d<2>;\n\
    ld.param.u64 %d1, [p];\nmov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %q, %r1, 1000000;\n@%q bra L;\n\
    st.global.u32 [%d1], %r1;\nret;\n}\n";

#[test]
fn copies_of_pageable_memory_are_over_when_the_call_returns() -> Result<(), u32> {
    let program = program()?;
    let (ptx, name) = (text(SLOW), text("slow"));
    let module = handle(|out| cuModuleLoadData(out, Image::of(&ptx)))?;
    let slow = handle(|out| cuModuleGetFunction(out, module, Text::of(&name)))?;
    let stream = handle(|out| cuStreamCreate(out, 1))?;
    let (p, q) = (
        get(|out| cuMemAlloc_v2(out, 4))?,
        get(|out| cuMemAlloc_v2(out, 4))?,
    );
    let params: [*const u8; 1] = [(&raw const p).cast()];
    let launch = || {
        cuLaunchKernel(
            slow,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            stream,
            Pointers::of(&params),
            Pointers::NONE,
        )
    };
    // A read waits for what it reads.
    let mut read = [0u32];
    assert_eq!(launch(), 0);
    assert_eq!(cuMemcpyDtoHAsync_v2(words(&mut read), p, 4, stream), 0);
    assert_eq!(read, [1_000_000]);
    // A write has taken its source when it returns, and comes in the order of the stream.
    let mut source = [5u32];
    assert_eq!(launch(), 0);
    assert_eq!(cuMemcpyHtoDAsync_v2(q, words(&mut source), 4, stream), 0);
    assert_eq!(cuMemcpyHtoDAsync_v2(p, words(&mut source), 4, stream), 0);
    source[0] = 9;
    assert_eq!(cuStreamSynchronize(stream), 0);
    assert_eq!(cuMemcpyDtoH_v2(words(&mut read), q, 4), 0);
    assert_eq!(read, [5]);
    assert_eq!(cuMemcpyDtoH_v2(words(&mut read), p, 4), 0);
    assert_eq!(read, [5]);
    assert_eq!(source, [9]);
    assert_eq!(cuDevicePrimaryCtxReset_v2(program.card), 0);
    Ok(())
}
