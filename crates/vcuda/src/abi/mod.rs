//! The functions of the driver as C sees them.
//!
//! `unsafe` stands in this folder only: [`memory`] allocates page-locked memory, and
//! the macro below exports functions by name. The functions themselves are safe code over those.
#![allow(unsafe_code, non_snake_case)]

use crate::{host::raw, status::Status};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exports functions that return a code: `name(argument: Type) { Result<(), Status> }`.
macro_rules! entries {
    ($($all:tt)*) => { exports! { $crate::abi::guard; $($all)* } };
}

/// The same for the runtime, whose failures are of its own.
macro_rules! runtime_entries {
    ($($all:tt)*) => { exports! { $crate::abi::runtime::guard; $($all)* } };
}

/// As `entries`, and each again under a name with `_ptsz` and with `_ptds`: there the default stream is the thread's own.
macro_rules! stream_entries {
    ($($all:tt)*) => { stream_exports! { $crate::abi::guard; $($all)* } };
}

/// The same for the runtime.
macro_rules! runtime_stream_entries {
    ($($all:tt)*) => { stream_exports! { $crate::abi::runtime::guard; $($all)* } };
}

/// Exports functions whose results a guard makes codes.
macro_rules! exports {
    ($guard:path; $($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: the names are those of the driver's functions, which this library is made to stand for.
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name($($arg: $ty),*) -> u32 {
                $guard(stringify!($name), || $body)
            }
        )*

        /// What this file exports.
        pub(crate) const ENTRIES: &[$crate::abi::Entry] = &[
            $($crate::abi::Entry {
                name: stringify!($name),
                address: || $name as *const () as usize,
                own: None,
            }),*
        ];
    };
}

/// The same with the names of thread's own streams.
macro_rules! stream_exports {
    ($guard:path; $($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: the names are those of the driver's functions, which this library is made to stand for.
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name($($arg: $ty),*) -> u32 {
                $guard(stringify!($name), || $body)
            }
        )*

        /// The same with the thread's own stream for the default one.
        mod own_stream {
            use super::*;
            $(
                // SAFETY: as above.
                #[unsafe(export_name = concat!(stringify!($name), "_ptsz"))]
                pub(super) extern "C" fn $name($($arg: $ty),*) -> u32 {
                    $crate::context::with_own_stream(|| super::$name($($arg),*))
                }
            )*
        }

        /// The same under the other ending.
        mod own_stream_of_copies {
            use super::*;
            $(
                // SAFETY: as above.
                #[unsafe(export_name = concat!(stringify!($name), "_ptds"))]
                pub(super) extern "C" fn $name($($arg: $ty),*) -> u32 {
                    $crate::context::with_own_stream(|| super::$name($($arg),*))
                }
            )*
        }

        /// What this file exports.
        pub(crate) const ENTRIES: &[$crate::abi::Entry] = &[
            $($crate::abi::Entry {
                name: stringify!($name),
                address: || $name as *const () as usize,
                own: Some(|| own_stream::$name as *const () as usize),
            }),*
        ];
    };
}

mod absent;
mod array;
mod context;
mod copy;
mod device;
mod graph;
mod launch;
mod library;
mod link;
mod memory;
mod module;
mod node;
mod node_state;
mod object;
mod older;
mod query;
mod reserve;
mod rows;
mod runtime;
mod stream;
mod tensor;
mod values;

pub(crate) use runtime::entries as runtime_entries;

/// An exported function.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) address: fn() -> usize,
    /// The same with the thread's own stream for the default one.
    pub(crate) own: Option<fn() -> usize>,
}

/// All of them.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    let files = [
        array::ENTRIES,
        array::lines::ENTRIES,
        context::ENTRIES,
        copy::ENTRIES,
        device::ENTRIES,
        graph::ENTRIES,
        launch::ENTRIES,
        library::ENTRIES,
        link::ENTRIES,
        memory::ENTRIES,
        module::ENTRIES,
        node::ENTRIES,
        node_state::ENTRIES,
        object::ENTRIES,
        older::ENTRIES,
        query::ENTRIES,
        reserve::ENTRIES,
        rows::ENTRIES,
        stream::ENTRIES,
        tensor::ENTRIES,
        values::ENTRIES,
        absent::ENTRIES,
    ];
    files.into_iter().flatten()
}

/// The code of a call; a panic ends here.
fn guard(name: &str, body: impl FnOnce() -> Result<(), Status>) -> u32 {
    let call = crate::report::Call::begin();
    let code = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status as u32,
        Err(_panic) => Status::Unknown as u32,
    };
    if let Some(call) = call {
        call.end(name, code, Status::of_code(code).map(Status::name));
    }
    code
}

#[cfg(test)]
mod tests;
