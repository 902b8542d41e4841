//! The driver's functions as safe ones: results checked, handles owned, the context current.
//!
//! What makes them safe: handles are only made here, by the driver, and each keeps its [`Context`] alive; a [`Driver`]
//! proves that the functions exist; host memory that a copy uses is [`Pinned`], and its users return it to the staging
//! pool with the event after that copy. Device addresses are data to the driver: a wrong one is an error of the card,
//! not of this process.
#![allow(unsafe_code)]

use super::probe::Driver;
use crate::error::Error;
use cudarc::driver::sys::{self, CUresult};
use std::{
    ffi::{CStr, c_char, c_int},
    ptr,
};

/// Calls a function of the driver and checks its result.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the probe found the function; its arguments are handles of this module, which are alive, and
        // pointers to locals or page-locked memory of the length given.
        check(stringify!($function), unsafe { sys::$function($($argument),*) })
    };
}

/// Marks handles of the driver, which any thread may use while their context is current there.
macro_rules! any_thread {
    ($($name:ident),*) => {$(
        // SAFETY: the driver takes its handles from any thread; every call here makes the context current first.
        unsafe impl Send for $name {}
        // SAFETY: as above; the driver locks what threads share.
        unsafe impl Sync for $name {}
    )*};
}

mod context;
mod memory;
mod stream;

pub(super) use context::{Context, Function, RawModule};
pub(super) use memory::{Dead, Mapped, Pinned};
pub(super) use stream::{CudaEvent, CudaStream, Graph, Shape};

fn check(call: &'static str, result: CUresult) -> Result<(), Error> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name: *const c_char = ptr::null();
    let mut text: *const c_char = ptr::null();
    // SAFETY: both functions only store a pointer to a constant string, or null.
    let (name, text) = unsafe {
        sys::cuGetErrorName(result, &mut name);
        sys::cuGetErrorString(result, &mut text);
        (string(name), string(text))
    };
    Err(Error::Cuda {
        call,
        code: result as u32,
        name,
        text,
        recent: Vec::new(),
    })
}

/// # Safety
/// `text` is null or a string that ends with a zero byte.
unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return "unknown".to_owned();
    }
    // SAFETY: by the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

fn is(error: &Error, code: CUresult) -> bool {
    matches!(error, Error::Cuda { code: found, .. } if *found == code as u32)
}

/// Initialises the driver; the probe calls this once it has found all functions.
pub(in crate::cuda) fn init() -> Result<(), Error> {
    call!(cuInit(0))
}

/// What can be asked about a card.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) enum Attribute {
    Major,
    Minor,
    Sms,
    SharedPerBlock,
    MemoryPools,
}

impl Driver {
    /// The version of CUDA it speaks, 12080 for 12.8.
    pub(in crate::cuda) fn version(self) -> Result<u32, Error> {
        let mut version = 0;
        call!(cuDriverGetVersion(&mut version))?;
        Ok(version.max(0) as u32)
    }

    /// How many cards it lists.
    pub(in crate::cuda) fn count(self) -> Result<usize, Error> {
        let mut count = 0;
        match call!(cuDeviceGetCount(&mut count)) {
            Ok(()) => Ok(count.max(0) as usize),
            Err(error) if is(&error, CUresult::CUDA_ERROR_NOT_INITIALIZED) => Ok(0),
            Err(error) if is(&error, CUresult::CUDA_ERROR_NO_DEVICE) => Ok(0),
            Err(error) => Err(error),
        }
    }

    pub(super) fn device(self, index: usize) -> Result<sys::CUdevice, Error> {
        let mut device = 0;
        call!(cuDeviceGet(&mut device, index as c_int))?;
        Ok(device)
    }

    pub(in crate::cuda) fn name(self, index: usize) -> Result<String, Error> {
        let device = self.device(index)?;
        let mut name = [0 as c_char; 256];
        call!(cuDeviceGetName(name.as_mut_ptr(), 255, device))?;
        // SAFETY: the last byte is still zero, as the driver was given one less.
        Ok(unsafe { string(name.as_ptr()) })
    }

    pub(in crate::cuda) fn attribute(self, index: usize, which: Attribute) -> Result<u32, Error> {
        use sys::CUdevice_attribute_enum as A;
        let device = self.device(index)?;
        let which = match which {
            Attribute::Major => A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            Attribute::Minor => A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            Attribute::Sms => A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            Attribute::SharedPerBlock => A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            Attribute::MemoryPools => A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
        };
        let mut value = 0;
        call!(cuDeviceGetAttribute(&mut value, which, device))?;
        Ok(value.max(0) as u32)
    }

    pub(in crate::cuda) fn total_memory(self, index: usize) -> Result<u64, Error> {
        let device = self.device(index)?;
        let mut bytes = 0usize;
        call!(cuDeviceTotalMem_v2(&mut bytes, device))?;
        Ok(bytes as u64)
    }
}
