//! Who comes to code, and from bytes to code that can be called.
#![allow(unsafe_code)]

use crate::exec::Run;
use warpsmith_x86::{Executable, Label};

/// Who comes to a run.
#[derive(Clone, Copy)]
pub(super) enum Entry {
    /// The interpreter, with all lanes.
    Whole,
    /// Where lanes are missing, the code of the same op for all lanes, or the interpreter.
    Masked(Label),
    /// Runs that are left where lanes are at an edge.
    Edge(Label),
}

/// The code at an offset as that of an op.
pub(super) fn entry(pages: &Executable, offset: usize) -> Run {
    // SAFETY: the encoder puts the entry of a run there, which keeps to the convention of `Run`; whoever holds the
    // pointer holds the program, and with it the pages.
    unsafe { std::mem::transmute::<*const u8, Run>(pages.address(offset)) }
}
