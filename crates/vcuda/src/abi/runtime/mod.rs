//! The CUDA runtime over the driver, for programs that are linked with `libcudart.so`.
//!
//! Most functions are the driver's under another name, once there is a context: each thread gets the primary one of its card
//! at its first call. What compilers put into programs is registered before they start, and loaded when it is first used.
//! Failures are numbers, the last of each thread is kept.

mod absent;
mod array;
mod copy;
mod device;
mod error;
mod graph;
mod launch;
mod library;
mod memory;
mod object;
mod properties;
mod register;
mod state;
mod stream;

use error::Code;
use std::{
    cell::Cell,
    ffi::{c_char, c_int, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::OnceLock,
};

thread_local! {
    /// The last failure of this thread.
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// The code of a call; a panic ends here.
fn guard(name: &str, body: impl FnOnce() -> Result<(), Code>) -> u32 {
    let call = crate::report::Call::begin();
    let code = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(Code(code))) => code,
        Err(_panic) => Code::UNKNOWN.0,
    };
    if code != 0 {
        LAST.set(code);
    }
    if let Some(call) = call {
        call.end(name, code, error::name(code));
    }
    code
}

/// The version of CUDA that the program was linked for: the newest one, if it looks for nothing older alone.
fn version() -> c_int {
    static VERSION: OnceLock<c_int> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let (twelve, thirteen) = (is_loaded(c"libcudart.so.12"), is_loaded(c"libcudart.so.13"));
        if twelve && !thirteen { 12090 } else { 13000 }
    })
}

/// Whether a library of this name is in the process.
fn is_loaded(name: &std::ffi::CStr) -> bool {
    unsafe extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlclose(library: *mut c_void) -> c_int;
    }
    /// `RTLD_LAZY | RTLD_NOLOAD`: what is not there is not loaded.
    const ONLY_LOOK: c_int = 1 | 4;
    // SAFETY: a name; what was found is given back, as it was counted.
    unsafe {
        let found = dlopen(name.as_ptr(), ONLY_LOOK);
        if found.is_null() {
            return false;
        }
        dlclose(found);
    }
    true
}

/// All functions.
pub(crate) fn entries() -> impl Iterator<Item = &'static super::Entry> {
    let files = [
        absent::ENTRIES,
        array::ENTRIES,
        array::copies::ENTRIES,
        copy::ENTRIES,
        device::ENTRIES,
        device::entry_points::ENTRIES,
        graph::ENTRIES,
        graph::edges::ENTRIES,
        graph::on_streams::ENTRIES,
        launch::ENTRIES,
        launch::kernels::ENTRIES,
        library::ENTRIES,
        memory::ENTRIES,
        memory::ordered::ENTRIES,
        object::ENTRIES,
        register::ENTRIES,
        register::stubs::ENTRIES,
        stream::ENTRIES,
    ];
    files.into_iter().flatten()
}
