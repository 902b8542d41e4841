//! The device API on the virtual GPU.

mod cache;
mod check;
mod driver;
mod kernels;
mod launches;
mod memory;
mod order;
mod replay;
mod rewrite;
mod stats;
mod threads;
mod times;
