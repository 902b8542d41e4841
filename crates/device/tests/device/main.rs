//! The device API on the virtual GPU.

mod cache;
mod check;
mod driver;
mod faults;
mod kernels;
mod launches;
mod memory;
mod order;
mod replay;
mod rewrite;
mod scale;
mod stats;
mod threads;
mod timeline;
mod times;
