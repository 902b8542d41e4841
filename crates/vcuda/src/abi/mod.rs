//! The functions of the driver as C sees them.
//!
//! `unsafe` stands in this folder only: [`raw`] is what arguments of C are, [`memory`] allocates page-locked memory, and
//! the macro below exports functions by name. The functions themselves are safe code over those.
#![allow(unsafe_code, non_snake_case)]

use crate::status::Status;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exports functions that return a code: `name(argument: Type) { Result<(), Status> }`.
macro_rules! entries {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: the names are those of the driver's functions, which this library is made to stand for.
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name($($arg: $ty),*) -> u32 {
                $crate::abi::guard(|| $body)
            }
        )*

        /// What this file exports.
        pub(super) const ENTRIES: &[$crate::abi::Entry] = &[
            $($crate::abi::Entry { name: stringify!($name), address: || $name as *const () as usize }),*
        ];
    };
}

mod context;
mod copy;
mod device;
mod graph;
mod launch;
mod memory;
mod module;
mod query;
mod raw;
mod stream;

pub(crate) use raw::{HostCall, HostMemory, JitOptions};

/// An exported function.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) address: fn() -> usize,
}

/// All of them.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    let files = [
        context::ENTRIES,
        copy::ENTRIES,
        device::ENTRIES,
        graph::ENTRIES,
        launch::ENTRIES,
        memory::ENTRIES,
        module::ENTRIES,
        query::ENTRIES,
        stream::ENTRIES,
    ];
    files.into_iter().flatten()
}

/// The code of a call; a panic ends here.
fn guard(body: impl FnOnce() -> Result<(), Status>) -> u32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status as u32,
        Err(_panic) => Status::Unknown as u32,
    }
}

#[cfg(test)]
mod tests;
