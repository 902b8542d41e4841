//! The driver library, whose functions are called with numbers and pointers.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::Path,
};

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The library in this process.
pub(super) struct Driver(usize);

/// A function of it.
#[derive(Clone, Copy)]
pub(super) struct Function(usize);

/// The most arguments of one.
pub(super) const ARGS: usize = 11;

type Call = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;

impl Driver {
    /// Loads it; `None` if there is none.
    pub(super) fn load(file: &Path) -> Option<Driver> {
        let name = CString::new(file.to_str()?).ok()?;
        // SAFETY: a name; the library has no initialisers.
        let library = unsafe { dlopen(name.as_ptr(), 2) };
        (!library.is_null()).then_some(Driver(library as usize))
    }

    pub(super) fn find(&self, name: &str) -> Option<Function> {
        let name = CString::new(name).ok()?;
        // SAFETY: the library stays loaded.
        let found = unsafe { dlsym(self.0 as *mut c_void, name.as_ptr()) };
        (!found.is_null()).then_some(Function(found as usize))
    }

    /// Sets `NAME=value` pairs.
    pub(super) fn configure(&self, words: &CStr) -> bool {
        self.find("warpsmithVcudaConfigure")
            .is_some_and(|function| {
                let mut args = [0; ARGS];
                args[0] = words.as_ptr() as u64;
                function.call(&args) == 0
            })
    }
}

impl Function {
    /// Calls it. Pointers among the arguments are null, or to memory that is large enough and lives on.
    pub(super) fn call(self, a: &[u64; ARGS]) -> u32 {
        // SAFETY: the driver's functions take numbers and pointers, at most eleven; what is too much is not looked at.
        unsafe {
            let function: Call = std::mem::transmute(self.0);
            function(
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
            )
        }
    }
}

/// What streams call.
unsafe extern "C" fn called(_data: *mut c_void) {}

/// Its address.
pub(super) fn host_function() -> u64 {
    called as *const () as u64
}
