//! Moves of 16-byte blocks that the compiler does not look into, as racing guests need.
#![allow(unsafe_code)]

#[cfg_attr(target_arch = "x86_64", path = "copy_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "copy_other.rs")]
mod arch;

pub(super) use arch::{copy_large, move_block, move_rows, prefetch};
