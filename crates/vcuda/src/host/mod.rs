//! What of the program's the driver holds: arguments of C, memory and functions of the host, who called.
#![allow(unsafe_code)]

mod python;
pub(crate) mod raw;

pub(crate) use python::{caller, is_interpreter, line};
pub(crate) use raw::{HostCall, HostMemory, JitOptions, StreamCall, at_exit};
