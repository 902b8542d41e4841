//! Whether there is a driver that has every function we call; `cudarc` panics where one is missing.
#![allow(unsafe_code)]

use super::api;
use crate::error::Error;
use cudarc::driver::sys;
use std::sync::OnceLock;

/// Proof that the driver is loaded, has every function in [`FUNCTIONS`], and is initialised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driver(());

/// The driver, and why libraries that were tried before it did not load.
type Found = (Driver, Vec<String>);

/// The names a driver library has, by platform.
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// Every function of the driver that [`api`] calls.
const FUNCTIONS: &[&str] = &[
    "cuCtxSetCurrent",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchCooperativeKernel",
    "cuLaunchKernel",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuLinkCreate_v2",
    "cuLinkDestroy",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemHostGetDevicePointer_v2",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// The driver, looked for once.
pub(super) fn driver() -> Result<Driver, Error> {
    found().map(|(driver, _)| *driver).map_err(Error::clone)
}

/// Why libraries that were tried before the driver did not load.
pub(super) fn passed_over() -> Vec<String> {
    found().map_or_else(|_| Vec::new(), |(_, passed_over)| passed_over.clone())
}

fn found() -> Result<&'static Found, &'static Error> {
    static FOUND: OnceLock<Result<Found, Error>> = OnceLock::new();
    FOUND.get_or_init(probe).as_ref()
}

fn probe() -> Result<Found, Error> {
    let mut tried = Vec::new();
    for name in LIBRARIES {
        // SAFETY: loading runs the library's initialisers; it is the system's own driver, made to be loaded so.
        match unsafe { libloading::Library::new(*name) } {
            Ok(_loads) => {
                return match functions() {
                    Ok(driver) => Ok((driver, tried)),
                    Err(why) => {
                        tried.push(format!("{name}: {why}"));
                        Err(Error::NoDriver { tried })
                    }
                };
            }
            Err(why) => tried.push(format!("{name}: {}", reasons(name, &why))),
        }
    }
    Err(Error::NoDriver { tried })
}

/// Why a library does not load: the last cause, which says what the ones above it only announce, without the name that it
/// begins with.
fn reasons(name: &str, error: &libloading::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let text = cause.to_string();
    match text
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(": "))
    {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// Whether the library that loads can be used; else why not.
fn functions() -> Result<Driver, String> {
    // SAFETY: as in `probe`; this only says whether cudarc finds the library by the names it knows.
    if !unsafe { sys::is_culib_present() } {
        return Err("loads, but not by a name that cudarc knows".to_owned());
    }
    // SAFETY: the library is present, so this does not panic; it stays loaded for the life of the process.
    let loaded = unsafe { sys::culib() };
    let lacking = FUNCTIONS.iter().filter(|name| {
        // SAFETY: the symbol is only looked up; nothing is called through this type.
        unsafe { loaded.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err()
    });
    let lacking: Vec<_> = lacking.copied().collect();
    if !lacking.is_empty() {
        return Err(format!("lacks {}", lacking.join(", ")));
    }
    match api::init() {
        Ok(()) => Ok(Driver(())),
        // A driver without a card is there; it lists none.
        Err(Error::Cuda { code, .. }) if code == sys::CUresult::CUDA_ERROR_NO_DEVICE as u32 => {
            Ok(Driver(()))
        }
        Err(why) => Err(why.to_string()),
    }
}
