//! Who calls: the line of Python that the calling thread is at, or the native function.

use crate::site::Site;
use std::{
    backtrace::Backtrace,
    ffi::{CStr, c_char, c_int, c_void},
    mem::transmute_copy,
    ptr,
    sync::{Arc, OnceLock},
};

type Object = *mut c_void;

/// The functions of the interpreter in this process.
struct Python {
    is_initialized: extern "C" fn() -> c_int,
    ensure: extern "C" fn() -> c_int,
    release: extern "C" fn(c_int),
    frame: extern "C" fn() -> Object,
    line: extern "C" fn(Object) -> c_int,
    code: extern "C" fn(Object) -> Object,
    back: extern "C" fn(Object) -> Object,
    attribute: extern "C" fn(Object, *const c_char) -> Object,
    text: extern "C" fn(Object) -> *const c_char,
    hold: extern "C" fn(Object),
    drop: extern "C" fn(Object),
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// A function of this process.
fn find<F: Copy>(name: &CStr) -> Option<F> {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: null stands for all libraries of the process.
    let found = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
    // SAFETY: an address as large as `F`, which callers choose as the function of this name is declared.
    (!found.is_null()).then(|| unsafe { transmute_copy::<*mut c_void, F>(&found) })
}

impl Python {
    fn here() -> Option<&'static Python> {
        static PYTHON: OnceLock<Option<Python>> = OnceLock::new();
        let python = PYTHON.get_or_init(|| {
            Some(Python {
                is_initialized: find(c"Py_IsInitialized")?,
                ensure: find(c"PyGILState_Ensure")?,
                release: find(c"PyGILState_Release")?,
                frame: find(c"PyEval_GetFrame")?,
                line: find(c"PyFrame_GetLineNumber")?,
                code: find(c"PyFrame_GetCode")?,
                back: find(c"PyFrame_GetBack")?,
                attribute: find(c"PyObject_GetAttrString")?,
                text: find(c"PyUnicode_AsUTF8")?,
                hold: find(c"Py_IncRef")?,
                drop: find(c"Py_DecRef")?,
            })
        });
        python
            .as_ref()
            .filter(|python| (python.is_initialized)() != 0)
    }

    /// The innermost line of this thread that is in none of the installed packages, or the innermost of all.
    fn site(&self) -> Option<String> {
        let state = (self.ensure)();
        let mut frame = (self.frame)();
        if !frame.is_null() {
            (self.hold)(frame);
        }
        let mut innermost = None;
        let mut own = None;
        while !frame.is_null() {
            if own.is_none()
                && let Some((file, function)) = self.place(frame)
            {
                let site = format!("{file}:{} in {function}", (self.line)(frame));
                let installed = ["/site-packages/", "/lib/python", "<"];
                if !installed.iter().any(|part| file.contains(part)) {
                    own = Some(site.clone());
                }
                innermost.get_or_insert(site);
            }
            let back = (self.back)(frame);
            (self.drop)(frame);
            frame = back;
        }
        (self.release)(state);
        own.or(innermost)
    }

    fn place(&self, frame: Object) -> Option<(String, String)> {
        let code = (self.code)(frame);
        if code.is_null() {
            return None;
        }
        let text = |name: &CStr| {
            let object = (self.attribute)(code, name.as_ptr());
            if object.is_null() {
                return None;
            }
            let text = (self.text)(object);
            // SAFETY: not null, so text with its zero byte, of an object that is held.
            let owned = (!text.is_null()).then(|| {
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            });
            (self.drop)(object);
            owned
        };
        let place = text(c"co_filename").zip(text(c"co_name"));
        (self.drop)(code);
        place
    }
}

/// Whether an interpreter is in this process: what it holds when it ends is no leak of the program's.
pub(crate) fn is_interpreter() -> bool {
    find::<extern "C" fn() -> c_int>(c"Py_IsInitialized").is_some()
}

/// The place in the program that called the driver.
pub(crate) fn caller() -> Site {
    line().unwrap_or_else(|| Site::Frames(Arc::new(Backtrace::force_capture())))
}

/// The same in a program in Python.
pub(crate) fn line() -> Option<Site> {
    Python::here()?.site().map(Site::Line)
}
