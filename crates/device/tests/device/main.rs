//! The device API on the virtual GPU.

mod cache;
mod driver;
mod kernels;
mod launches;
mod memory;
mod order;
mod replay;
mod stats;
mod threads;
