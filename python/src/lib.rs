//! The native half of the Python package `warpsmith`: what `warpsmith/*.py` calls.
//!
//! Models run on threads of their own behind channels; whoever waits for them lets go of the GIL and looks for Ctrl-C.
//! Arrays cross as bytes, with their types by name: what they are in Python is for the Python half.

#![forbid(unsafe_code)]

mod check;
mod device;
mod errors;
mod json;
mod model;
mod params;
mod speech;
mod text;
mod wait;

use pyo3::prelude::pymodule;

/// What the Python half calls.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::check::{check_ptx, kernels, run_ptx};
    #[pymodule_export]
    use crate::device::{Array, Device, Kernel, Module, devices};
    #[pymodule_export]
    use crate::speech::{Listening, Whisper};
    #[pymodule_export]
    use crate::text::{Generation, Llm};

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)] // the name is Python's
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
