//! Small driver programs, good and bad, by the exported functions.

use super::{
    context::*, copy::*, device::*, graph::*, launch::*, memory::*, module::*, node::*, query::*,
    raw::*, stream::*,
};
use crate::{status::Status, table::Handle};
use std::{
    ffi::{CString, c_int, c_void},
    sync::atomic::{AtomicI32, AtomicU32, Ordering::SeqCst},
};

/// Initialises the driver with a card for each test; the number of one.
fn card() -> c_int {
    static NEXT: AtomicI32 = AtomicI32::new(0);
    let words = CString::new("DEVICES=64 MEMORY=16M SMS=2 WORKERS=2 SM=80").expect("a string");
    let _later_calls_are_too_late = warpsmithVcudaConfigure(Text::of(&words));
    assert_eq!(cuInit(0), 0);
    NEXT.fetch_add(1, SeqCst)
}

/// Calls a function, and gives its first result.
fn get<T: Default>(call: impl FnOnce(Out<T>) -> u32) -> Result<T, u32> {
    let mut value = T::default();
    match call(Out::of(&mut value)) {
        0 => Ok(value),
        code => Err(code),
    }
}

fn handle(call: impl FnOnce(Out<Handle>) -> u32) -> Result<Handle, u32> {
    let mut value = Handle::NULL;
    match call(Out::of(&mut value)) {
        0 => Ok(value),
        code => Err(code),
    }
}

/// `y[i] = x[i] + a`, and a variable.
const ADD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 seen = 5;\n\
    .visible .entry add(.param .u64 px, .param .u64 py, .param .u32 pa) {\n\
    .reg .b32 %r<4>;\n.reg .b64 %d<6>;\nld.param.u64 %d0, [px];\nld.param.u64 %d1, [py];\nld.param.u32 %r0, [pa];\n\
    mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.u64 %d3, %d0, %d2;\nadd.u64 %d4, %d1, %d2;\n\
    ld.global.u32 %r2, [%d3];\nadd.u32 %r3, %r2, %r0;\nst.global.u32 [%d4], %r3;\nret;\n}\n";

/// A context, its module and `add`.
struct Program {
    context: Handle,
    module: Handle,
    add: Handle,
    card: c_int,
}

fn text(text: &str) -> CString {
    CString::new(text).expect("a string")
}

fn program() -> Result<Program, u32> {
    let card = card();
    let context = handle(|out| cuDevicePrimaryCtxRetain(out, card))?;
    assert_eq!(cuCtxSetCurrent(context), 0);
    let (ptx, name) = (text(ADD), text("add"));
    let module = handle(|out| cuModuleLoadData(out, Image::of(&ptx)))?;
    let add = handle(|out| cuModuleGetFunction(out, module, Text::of(&name)))?;
    Ok(Program {
        context,
        module,
        add,
        card,
    })
}

impl Program {
    /// `y = x + a` over 32 words, on a stream; parameters by pointers.
    fn add(&self, x: u64, y: u64, a: u32, stream: Handle) -> u32 {
        let params: [*const u8; 3] = [
            (&raw const x).cast(),
            (&raw const y).cast(),
            (&raw const a).cast(),
        ];
        cuLaunchKernel(
            self.add,
            1,
            1,
            1,
            32,
            1,
            1,
            0,
            stream,
            Pointers::of(&params),
            Pointers::NONE,
        )
    }
}

fn words(values: &mut [u32]) -> Host {
    Host::of(values.as_mut_ptr().cast())
}

#[test]
fn a_small_program_runs_on_the_null_stream() -> Result<(), u32> {
    let program = program()?;
    let (x, y) = (
        get(|out| cuMemAlloc_v2(out, 128))?,
        get(|out| cuMemAlloc_v2(out, 128))?,
    );
    let (mut from, mut to) = ([7u32; 32], [0u32; 32]);
    assert_eq!(cuMemcpyHtoD_v2(x, words(&mut from), 128), 0);
    assert_eq!(program.add(x, y, 3, Handle::NULL), 0);
    assert_eq!(cuMemcpyDtoH_v2(words(&mut to), y, 128), 0);
    assert_eq!(to, [10; 32]);
    // All parameters at once.
    let mut packed = [0u8; 20];
    packed[..8].copy_from_slice(&y.to_le_bytes());
    packed[8..16].copy_from_slice(&x.to_le_bytes());
    packed[16..].copy_from_slice(&4u32.to_le_bytes());
    let len = packed.len();
    let extra: [*const u8; 5] = [
        std::ptr::without_provenance(1),
        packed.as_ptr(),
        std::ptr::without_provenance(2),
        (&raw const len).cast(),
        std::ptr::null(),
    ];
    let launched = cuLaunchKernel(
        program.add,
        1,
        1,
        1,
        32,
        1,
        1,
        0,
        Handle::NULL,
        Pointers::NONE,
        Pointers::of(&extra),
    );
    assert_eq!(launched, 0);
    assert_eq!(cuMemsetD32Async(y, 0x0102_0304, 16, Handle::NULL), 0);
    assert_eq!(cuMemsetD16_v2(y + 64, 0x0506, 2), 0);
    assert_eq!(cuCtxSynchronize(), 0);
    assert_eq!(cuMemcpy(words(&mut to).address() as u64, x, 128), 0);
    assert_eq!(to, [14; 32]);
    assert_eq!(cuMemcpyDtoD_v2(x, y, 128), 0);
    assert_eq!(cuMemcpy(words(&mut to).address() as u64, x, 128), 0);
    assert_eq!(
        (to[..17].to_vec(), to[17]),
        ([&[0x0102_0304; 16][..], &[0x0506_0506]].concat(), 10)
    );
    let name = text("seen");
    let mut bytes = 0;
    let seen =
        get(|out| cuModuleGetGlobal_v2(out, Out::of(&mut bytes), program.module, Text::of(&name)))?;
    assert_eq!(cuMemcpyDtoH_v2(words(&mut to), seen, bytes), 0);
    assert_eq!((bytes, to[0]), (4, 5));
    assert_eq!(
        cuMemFree_v2(seen),
        Status::InvalidValue as u32,
        "a variable is not the program's to free"
    );
    assert_eq!((cuMemFree_v2(x), cuMemFree_v2(y)), (0, 0));
    assert_eq!(cuMemFree_v2(x), Status::InvalidValue as u32);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    Ok(())
}

#[test]
fn null_pointers_and_stale_handles_are_codes() -> Result<(), u32> {
    let program = program()?;
    let (value, invalid) = (Status::InvalidValue as u32, Status::InvalidHandle as u32);
    assert_eq!(cuDeviceGetCount(Out::nowhere()), value);
    assert_eq!(cuDeviceGet(Out::nowhere(), 0), value);
    assert_eq!(
        get(|out| cuDeviceGet(out, 64)),
        Err(Status::InvalidDevice as u32)
    );
    assert_eq!(
        get(|out| cuDeviceGet(out, -1)),
        Err(Status::InvalidDevice as u32)
    );
    assert_eq!(cuDeviceGetName(Out::nowhere(), 9, 0), value);
    assert_eq!(cuDevicePrimaryCtxRetain(Out::nowhere(), 0), value);
    assert_eq!(cuMemAlloc_v2(Out::nowhere(), 4), value);
    assert_eq!(get(|out| cuMemAlloc_v2(out, 0)), Err(value));
    assert_eq!(
        get(|out| cuMemAlloc_v2(out, 1 << 40)),
        Err(Status::OutOfMemory as u32)
    );
    assert_eq!(handle(|out| cuModuleLoadData(out, Image::NULL)), Err(value));
    assert_eq!(
        handle(|out| cuModuleGetFunction(out, program.module, Text::NULL)),
        Err(value)
    );
    let none = text("none");
    let missing = handle(|out| cuModuleGetFunction(out, program.module, Text::of(&none)));
    assert_eq!(missing, Err(Status::NotFound as u32));
    let x = get(|out| cuMemAlloc_v2(out, 128))?;
    assert_eq!(cuMemcpyHtoD_v2(x, Host::NULL, 4), value);
    let mut to = [0u32; 40];
    assert_eq!(
        cuMemcpyDtoH_v2(words(&mut to), x, 129),
        value,
        "past the end"
    );
    assert_eq!(
        cuMemcpyDtoH_v2(words(&mut to), 8, 4),
        value,
        "no memory of the card's"
    );
    assert_eq!(
        cuMemcpyHtoD_v2(u64::MAX - 1, words(&mut to), 4),
        value,
        "around the end"
    );
    assert_eq!(
        cuMemsetD32Async(x + 1, 0, 1, Handle::NULL),
        value,
        "not aligned"
    );
    let launch = |block, shared, stream, params| {
        cuLaunchKernel(
            program.add,
            1,
            1,
            1,
            block,
            1,
            1,
            shared,
            stream,
            params,
            Pointers::NONE,
        )
    };
    assert_eq!(
        launch(32, 0, Handle::NULL, Pointers::NONE),
        value,
        "no parameters"
    );
    let nulls = [std::ptr::null::<u8>(); 3];
    assert_eq!(launch(32, 0, Handle::NULL, Pointers::of(&nulls)), value);
    let zeros = [0u64; 3];
    let params: [*const u8; 3] = std::array::from_fn(|at| (&raw const zeros[at]).cast());
    assert_eq!(launch(1025, 0, Handle::NULL, Pointers::of(&params)), value);
    assert_eq!(launch(0, 0, Handle::NULL, Pointers::of(&params)), value);
    assert_eq!(
        launch(32, 49 << 10, Handle::NULL, Pointers::of(&params)),
        value,
        "more than was asked for"
    );
    let stream = handle(|out| cuStreamCreate(out, 1))?;
    assert_eq!(cuStreamDestroy_v2(stream), 0);
    assert_eq!(launch(32, 0, stream, Pointers::of(&params)), invalid);
    assert_eq!(cuStreamSynchronize(stream), invalid);
    assert_eq!(cuStreamDestroy_v2(stream), invalid);
    assert_eq!(cuEventQuery(Handle(12345)), invalid);
    assert_eq!(
        cuStreamSynchronize(program.module),
        invalid,
        "a handle of another kind"
    );
    assert_eq!(cuGraphLaunch(program.add, Handle::NULL), invalid);
    assert_eq!(cuModuleUnload(program.module), 0);
    assert_eq!(launch(32, 0, Handle::NULL, Pointers::of(&params)), invalid);
    assert_eq!(cuModuleUnload(program.module), invalid);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    let gone = Status::InvalidContext as u32;
    assert_eq!(cuCtxSetCurrent(program.context), gone);
    assert_eq!(get(|out| cuMemAlloc_v2(out, 4)), Err(gone));
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), gone);
    Ok(())
}

#[test]
fn what_the_compiler_says_is_in_the_log_and_fits_it() -> Result<(), u32> {
    let program = program()?;
    for (ptx, code, said) in [
        ("not PTX", Status::InvalidPtx, "error: "),
        (
            ".version 9.9\n.target sm_80\n.address_size 64\n",
            Status::UnsupportedPtxVersion,
            "error: unsupported .version 9.9; this driver takes up to 9.5",
        ),
        (
            ".version 8.0\n.target sm_90\n.address_size 64\n",
            Status::NoBinaryForGpu,
            "error: .target sm_90 does not run on sm_80",
        ),
    ] {
        for room in [200, 10, 1] {
            let mut log = vec![0xAAu8; 201];
            let options = [5u32, 6, 7];
            let mut values: [*mut c_void; 3] = [
                log.as_mut_ptr().cast(),
                std::ptr::without_provenance_mut(room),
                std::ptr::null_mut(),
            ];
            let ptx = text(ptx);
            let mut module = Handle::NULL;
            let loaded = cuModuleLoadDataEx(
                Out::of(&mut module),
                Image::of(&ptx),
                3,
                In::of(&options),
                Out::of_array(&mut values),
            );
            assert_eq!((loaded, module), (code as u32, Handle::NULL));
            let used = values[1] as usize;
            assert!(
                used < room && log[used] == 0 && log[room] == 0xAA,
                "{used} of {room}"
            );
            let told = String::from_utf8_lossy(&log[..used]).into_owned();
            assert!(
                told.starts_with(&said[..said.len().min(room - 1)]),
                "{told}"
            );
        }
    }
    // A fat binary whose header says that it is longer than any.
    let fat = b"\x50\xED\x55\xBA\x01\x01\x10\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\0";
    for (image, code) in [
        (&b"\x7fELF\x02\0"[..], Status::NoBinaryForGpu),
        (fat, Status::InvalidImage),
    ] {
        let image = std::ffi::CStr::from_bytes_until_nul(image).expect("a zero byte");
        let loaded = handle(|out| cuModuleLoadData(out, Image::of(image)));
        assert_eq!(loaded, Err(code as u32));
    }
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    Ok(())
}

#[test]
fn a_capture_collects_over_streams_and_what_cannot_be_captured_spoils_it() -> Result<(), u32> {
    let program = program()?;
    let (one, two) = (
        handle(|out| cuStreamCreate(out, 1))?,
        handle(|out| cuStreamCreate(out, 0))?,
    );
    let (fork, join) = (
        handle(|out| cuEventCreate(out, 2))?,
        handle(|out| cuEventCreate(out, 2))?,
    );
    let x = get(|out| cuMemAlloc_v2(out, 128))?;
    assert_eq!(cuMemsetD32_v2(x, 1, 32), 0);
    assert_eq!(cuStreamBeginCapture_v2(one, 2), 0);
    assert_eq!(program.add(x, x, 1, one), 0);
    assert_eq!(
        (cuEventRecord(fork, one), cuStreamWaitEvent(two, fork, 0)),
        (0, 0)
    );
    assert_eq!(program.add(x, x, 10, two), 0);
    assert_eq!(
        (cuEventRecord(join, two), cuStreamWaitEvent(one, join, 0)),
        (0, 0)
    );
    assert_eq!(get(|out| cuStreamIsCapturing(two, out)), Ok(1));
    let graph = handle(|out| cuStreamEndCapture(one, out))?;
    assert_eq!(get(|out| cuStreamIsCapturing(two, out)), Ok(0));
    assert_eq!(
        get(|out| cuGraphGetNodes(graph, Out::nowhere(), out)),
        Ok(2)
    );
    let exec = handle(|out| cuGraphInstantiateWithFlags(out, graph, 0))?;
    assert_eq!(cuGraphDestroy(graph), 0);
    for _ in 0..3 {
        assert_eq!(cuGraphLaunch(exec, two), 0);
    }
    let mut to = [0u32; 32];
    assert_eq!(
        cuMemcpyDtoH_v2(words(&mut to), x, 128),
        0,
        "the null stream waits for a stream that blocks"
    );
    assert_eq!(to, [34; 32]);
    assert_eq!(cuStreamBeginCapture_v2(one, 0), 0);
    assert_eq!(cuStreamSynchronize(one), Status::CaptureUnsupported as u32);
    assert_eq!(program.add(x, x, 1, one), Status::CaptureInvalidated as u32);
    let spoiled = handle(|out| cuStreamEndCapture(one, out));
    assert_eq!(spoiled, Err(Status::CaptureInvalidated as u32));
    assert_eq!(
        handle(|out| cuStreamEndCapture(one, out)),
        Err(Status::CaptureUnmatched as u32)
    );
    assert_eq!(
        cuStreamBeginCapture_v2(Handle::NULL, 0),
        Status::CaptureUnsupported as u32
    );
    assert_eq!(cuStreamSynchronize(one), 0);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    Ok(())
}

static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn called(data: *mut c_void) {
    CALLS.fetch_add(data as usize as u32, SeqCst);
}

#[test]
fn a_wild_write_stays_until_the_context_goes_and_host_calls_come_in_order() -> Result<(), u32> {
    let program = program()?;
    let stream = handle(|out| cuStreamCreate(out, 1))?;
    let event = handle(|out| cuEventCreate(out, 0))?;
    assert_eq!(
        cuLaunchHostFunc(
            stream,
            Some(called),
            Host::of(std::ptr::without_provenance_mut(5))
        ),
        0
    );
    assert_eq!(
        cuLaunchHostFunc(stream, None, Host::NULL),
        Status::InvalidValue as u32
    );
    assert_eq!(
        (cuEventRecord(event, stream), cuEventSynchronize(event)),
        (0, 0)
    );
    assert_eq!(CALLS.load(SeqCst), 5);
    let illegal = Status::IllegalAddress as u32;
    assert_eq!(program.add(64, 64, 0, stream), 0);
    assert_eq!(cuStreamSynchronize(stream), illegal);
    assert_eq!(cuStreamQuery(stream), illegal);
    assert_eq!(cuEventQuery(event), illegal);
    assert_eq!(get(|out| cuMemAlloc_v2(out, 4)), Err(illegal));
    assert_eq!(program.add(64, 64, 0, stream), illegal);
    assert_eq!(cuCtxSynchronize(), illegal);
    assert_eq!(cuDevicePrimaryCtxReset_v2(program.card), 0);
    let context = handle(|out| cuDevicePrimaryCtxRetain(out, program.card))?;
    assert_eq!(cuCtxSetCurrent(context), 0);
    assert!(get(|out| cuMemAlloc_v2(out, 4)).is_ok());
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    Ok(())
}

#[test]
fn functions_are_found_by_name_and_limits_hold() -> Result<(), u32> {
    let program = program()?;
    let name = text("cuMemAlloc");
    let found = get(|out| cuGetProcAddress(Text::of(&name), out, 12000, 0))?;
    assert_eq!(found, cuMemAlloc_v2 as *const () as usize);
    let name = text("cuNoSuchThing");
    let missing = get(|out| cuGetProcAddress(Text::of(&name), out, 12000, 0));
    assert_eq!(missing, Err(Status::NotFound as u32));
    assert_eq!(
        get(|out| cuFuncGetAttribute(out, 8, program.add)),
        Ok(48 << 10)
    );
    assert_eq!(cuFuncSetAttribute(program.add, 8, 163 << 10), 0);
    assert_eq!(
        get(|out| cuFuncGetAttribute(out, 8, program.add)),
        Ok(163 << 10)
    );
    assert_eq!(
        cuFuncSetAttribute(program.add, 8, (163 << 10) + 1),
        Status::InvalidValue as u32
    );
    let resident = get(|out| cuOccupancyMaxActiveBlocksPerMultiprocessor(out, program.add, 256, 0));
    assert_eq!(resident, Ok(8));
    let zeros = [0u64; 3];
    let params: [*const u8; 3] = std::array::from_fn(|at| (&raw const zeros[at]).cast());
    let large = cuLaunchCooperativeKernel(
        program.add,
        17,
        1,
        1,
        256,
        1,
        1,
        0,
        Handle::NULL,
        Pointers::of(&params),
    );
    assert_eq!(large, Status::CooperativeLaunchTooLarge as u32);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(program.card), 0);
    Ok(())
}

#[test]
fn a_panic_is_a_code() {
    assert_eq!(
        super::guard("cuTest", || panic!("on purpose")),
        Status::Unknown as u32
    );
    assert_eq!(super::guard("cuTest", || Err(Status::NotReady)), 600);
    assert_eq!(super::guard("cuTest", || Ok(())), 0);
}

#[test]
fn names_are_there_once() {
    let mut names: Vec<_> = super::entries().map(|entry| entry.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

mod arrays;
mod heap;
mod host_memory;
mod objects;
mod sequences;
