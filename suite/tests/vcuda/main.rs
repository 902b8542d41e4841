//! Our CUDA back end through a driver library, on machines without a card: conformance, a real model, failures.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod conformance;
mod failures;
mod kernels;
mod library;
mod model;
mod symbols;

#[path = "../../../crates/device/tests/device/cache.rs"]
mod cache;
#[path = "../../../crates/device/tests/device/launches.rs"]
mod launches;
#[path = "../../../crates/device/tests/device/memory.rs"]
mod memory;
#[path = "../../../crates/device/tests/device/order.rs"]
mod order;
#[path = "../../../crates/device/tests/device/replay.rs"]
mod replay;
#[path = "../../../crates/device/tests/device/scale.rs"]
mod scale;
#[path = "../../../crates/device/tests/device/stats.rs"]
mod stats;
#[path = "../../../crates/device/tests/device/threads.rs"]
mod threads;
#[path = "../../../crates/device/tests/device/timeline.rs"]
mod timeline;
#[path = "../../../crates/device/tests/device/times.rs"]
mod times;
