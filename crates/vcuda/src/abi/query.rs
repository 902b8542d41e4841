//! Start, versions, errors, and functions by name.

use super::raw::{Out, Text};
use crate::{
    driver::{configure, init},
    status::Status,
};
use std::ffi::{c_char, c_int, c_uint};

entries! {
    cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(Status::InvalidValue);
        }
        init()
    }

    /// Known before the driver is initialised.
    cuDriverGetVersion(version: Out<c_int>) {
        let out = version.wanted()?;
        out.put(crate::driver::version()?)
    }

    cuGetErrorName(code: c_uint, name: Out<*const c_char>) {
        if code == 0 {
            return name.put(c"CUDA_SUCCESS".as_ptr());
        }
        match Status::of_code(code) {
            Some(status) => name.put(status.name().as_ptr()),
            None => {
                name.put(std::ptr::null())?;
                Err(Status::InvalidValue)
            }
        }
    }

    cuGetErrorString(code: c_uint, text: Out<*const c_char>) {
        if code == 0 {
            return text.put(c"no error".as_ptr());
        }
        match Status::of_code(code) {
            Some(status) => text.put(status.text().as_ptr()),
            None => {
                text.put(std::ptr::null())?;
                Err(Status::InvalidValue)
            }
        }
    }

    /// The function of this name, the newest that is here, without a look at the version asked for.
    cuGetProcAddress(name: Text, function: Out<usize>, version: c_int, flags: u64) {
        find(&name.to_string()?, version, flags, function, Out::<c_int>::nowhere())
    }

    cuGetProcAddress_v2(name: Text, function: Out<usize>, version: c_int, flags: u64, found: Out<c_int>) {
        find(&name.to_string()?, version, flags, function, found)
    }

    cuModuleGetLoadingMode(mode: Out<c_int>) {
        // Eager.
        mode.put(1)
    }

    /// Ours: sets `NAME=value` pairs before `cuInit`.
    warpsmithVcudaConfigure(words: Text) {
        configure(&words.to_string()?)
    }
}

fn find(
    name: &str,
    _version: c_int,
    _flags: u64,
    function: Out<usize>,
    found: Out<c_int>,
) -> Result<(), Status> {
    let function = function.wanted()?;
    let newest = ["_v3", "_v2", ""].into_iter().find_map(|suffix| {
        let mut entries = super::entries();
        entries.find(|entry| entry.name.strip_suffix(suffix) == Some(name))
    });
    match newest {
        Some(entry) => {
            found.put_if_wanted(0);
            function.put((entry.address)())
        }
        None => {
            // The symbol is not found.
            found.put_if_wanted(1);
            function.put(0)?;
            if found.is_wanted() {
                Ok(())
            } else {
                Err(Status::NotFound)
            }
        }
    }
}
