//! A CUDA driver library over the virtual GPU, so that programs for the driver run on a machine without a card.
//!
//! Built as a shared library; in a folder on the loader's path under the names `libcuda.so` and `libcuda.so.1` it is
//! what a program finds for a driver; `warpsmith exec` lays it out so. It behaves as a driver does, on request a broken one.
//!
//! # Settings
//!
//! Environment variables, read at the first `cuInit`. A value that is not understood makes `cuInit` return
//! `CUDA_ERROR_INVALID_VALUE`. Sizes take `K`, `M` and `G`.
//!
//! | variable `WARPSMITH_VCUDA_…` | what it sets | default |
//! |---|---|---|
//! | `DEVICES` | cards that are listed; 0 lists none | 1 |
//! | `NAME` | their name | `Warpsmith virtual card` |
//! | `SM` | compute capability, as `75` | 90 |
//! | `SMS` | multiprocessors | cores of the machine |
//! | `MEMORY` | bytes of memory; of a list, one entry for each card and the last for the rest | 8G |
//! | `WORKERS` | threads of a card | cores of the machine |
//! | `DRIVER` | the CUDA version that the driver reports | 13.5 |
//! | `PTX_LIMIT` | the newest PTX that its compiler takes | as its CUDA version says |
//! | `POOLS` | whether cards have memory pools: 0 or 1 | 1 |
//! | `FRESH` | the byte that fresh memory holds: 0 or 255 | 255 |
//! | `CHECK` | what is looked for while kernels run: `all`, or kinds of findings with commas | nothing |
//! | `SEED` | the order in which blocks, warps and lanes run, by a number | their own |
//! | `BUDGET` | instructions that a launch may run, each counted once for a warp | any number |
//! | `REPORT` | a folder: modules are kept there, and a line of JSON is written for each fault and finding | none |
//! | `TRACE` | a file, of the environment alone: each call with its code and its time, and each function that was asked for and is not here | none |
//! | `INIT` | the code that `cuInit` returns | 0 |
//! | `FAIL_LAUNCH` | launch n of a card faults while it runs; the error stays with its context | never |
//! | `REFUSE_LAUNCH` | launch n of a card is refused; nothing stays | never |
//! | `FAIL_ALLOC` | from allocation n on a card is out of memory | never |
//! | `LOSE` | a card is lost at its launch n: all of its calls fail from then on | never |
//!
//! Launches and allocations count from 1, those of a graph when it is launched. A program that cannot set variables
//! calls `warpsmithVcudaConfigure("DEVICES=2 SM=75")` before `cuInit`; what is named there counts more.
//!
//! # Behaviour
//!
//! - Entries never unwind into the program: a panic is `CUDA_ERROR_UNKNOWN`. Null pointers are
//!   `CUDA_ERROR_INVALID_VALUE`; handles are numbers that are never given twice, so stale ones are
//!   `CUDA_ERROR_INVALID_HANDLE`.
//! - A fault of a kernel stays with its context: every later call returns it, until the context is destroyed.
//! - Captured work is a list in the order it was captured, also where several streams took part.
//! - "Compiled code" is the PTX in a wrapping of ours.
//! - An address is the same for host and cards. Page-locked and managed memory is memory of a card; memory that the program
//!   registers is reached where it is.
//! - Copies of memory that is not page-locked read it before the call returns, or have written it.
//! - The runtime's functions are there, too, for programs that are linked with `libcudart.so`: a library of that name and
//!   version that needs this one is all they ask for, as `warpsmith exec` makes one.
//! - What kernels print is written to standard output when the host waits, and at the end of the process.
//! - Arrays are memory of a card without gaps, of which the program knows no address; textures and surfaces are objects of the
//!   virtual GPU, by the handles that it gives.
//! - What is not here is `CUDA_ERROR_NOT_SUPPORTED`: references of textures, peers, memory of other processes, code for cards.
//!   The trace and the report say what was asked for.

mod abi;
mod array;
mod card;
mod context;
mod core;
mod driver;
mod event;
mod fatbin;
mod graph;
mod host;
mod library;
mod link;
mod linker;
mod module;
mod object;
mod pool;
mod report;
mod reserve;
mod settings;
mod site;
mod status;
mod step;
mod stream;
mod table;

/// The names of all functions of the runtime that the library has.
pub fn runtime_functions() -> impl Iterator<Item = &'static str> {
    abi::runtime_entries().map(|entry| entry.name)
}

/// The names of all functions of the driver that the library has.
pub fn functions() -> impl Iterator<Item = &'static str> {
    abi::entries().map(|entry| entry.name)
}
