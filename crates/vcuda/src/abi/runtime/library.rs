//! Libraries: programs that are loaded by a call and belong to no context.

use super::{
    super::{
        library::*,
        raw::{Image, In, Out, Text},
    },
    error::well,
    state::{ready, start},
};
use crate::table::Handle;
use std::ffi::{c_uint, c_void};

runtime_entries! {
    cudaLibraryLoadData(
        library: Out<Handle>,
        image: Image,
        jit: In<u32>,
        values: Out<*mut c_void>,
        count: c_uint,
        options: In<u32>,
        option_values: In<u64>,
        option_count: c_uint,
    ) {
        start()?;
        well(cuLibraryLoadData(library, image, jit, values, count, options, option_values, option_count))
    }

    cudaLibraryLoadFromFile(
        library: Out<Handle>,
        path: Text,
        jit: In<u32>,
        values: Out<*mut c_void>,
        count: c_uint,
        options: In<u32>,
        option_values: In<u64>,
        option_count: c_uint,
    ) {
        start()?;
        well(cuLibraryLoadFromFile(library, path, jit, values, count, options, option_values, option_count))
    }

    cudaLibraryUnload(library: Handle) {
        start()?;
        well(cuLibraryUnload(library))
    }

    cudaLibraryGetKernel(out: Out<Handle>, library: Handle, name: Text) {
        start()?;
        well(cuLibraryGetKernel(out, library, name))
    }

    cudaLibraryGetKernelCount(count: Out<c_uint>, library: Handle) {
        start()?;
        well(cuLibraryGetKernelCount(count, library))
    }

    cudaLibraryEnumerateKernels(kernels: Out<Handle>, count: c_uint, library: Handle) {
        start()?;
        well(cuLibraryEnumerateKernels(kernels, count, library))
    }

    cudaLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        ready()?;
        well(cuLibraryGetGlobal(address, bytes, library, name))
    }

    cudaLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        ready()?;
        well(cuLibraryGetManaged(address, bytes, library, name))
    }
}
