//! A virtual GPU: runs PTX on the CPU.
//!
//! The laws of this room:
//! - only verified modules are loaded, and an instruction that is not known here is an
//!   [`Error::Unsupported`] when its kernel is lowered, never a wrong answer;
//! - guest memory is touched in `memory/raw.rs` only, always checked against a window;
//! - every [`Tier`] gives the same bits;
//! - a fault of the guest is a [`Fault`] value that names kernel, place, CTA and thread, and the machine
//!   stays usable after it.

mod analysis;
mod build;
mod bytes;
pub mod check;
mod clusters;
mod config;
mod dump;
mod engine;
mod error;
mod exec;
mod ids;
mod job;
mod lower;
mod machine;
mod memory;
mod module;
#[cfg_attr(target_arch = "x86_64", path = "native/mod.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "native_other.rs")]
mod native;
mod op;
mod order;
mod outside;
mod pool;
mod printed;
mod queue;
mod sched;
mod show;
mod signal;
mod stream;
pub mod tensor_map;
pub mod texture;
mod tier;
mod view;

pub use bytes::Bytes;
pub use check::Observer;
pub use config::{Compile, Config, Stop};
pub use engine::Prepared;
pub use error::{Awaited, Error, Fault, FaultKind, Limit, Misuse, Waiting};
pub use machine::{Machine, no_compiler};
pub use memory::lent::{lend, take_back};
pub use module::{Kernel, Module, Param};
pub use signal::{Completion, Event};
pub use stream::{Launch, Stream};
pub use tier::Tier;

/// Whether this crate was built with optimisation. Without it the virtual GPU is a hundred times slower.
pub const OPTIMISED: bool = !cfg!(unoptimised);
