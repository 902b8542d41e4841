//! Tensor graphs: ops with their operands, shapes checked as they are built, and a plan that owns its memory.
//!
//! A [`Graph`] is built through methods that take and give [`Node`]s, so a cycle cannot be written, and refuse wrong
//! shapes by name. [`Plan::new`] chooses kernels for a device, assigns memory by lifetime, and fixes every launch; a
//! plan runs eagerly or as a [`Replay`](warpsmith_device::Replay) of the same launches.
#![forbid(unsafe_code)]

mod error;
mod fused;
mod graph;
mod lower;
mod memory;
mod observe;
mod pages;
mod passes;
mod persistent;
mod picture;
mod plan;
mod resource;
mod rewire;
mod span;
mod speech;

pub use error::Error;
pub use graph::{At, Attention, Extent, Graph, MatMul, Node, Rotation, Seen};
pub use observe::{Observed, Observer, Origin, SharedObserver, Statistics};
pub use pages::{PageSizes, PageStore, PagedAppend, PagedAttention, PagedRows, Pages};
pub use persistent::{Persistent, PersistentReport, Running, Shape, Until};
pub use plan::{Plan, PlanReport};
pub use resource::{Cache, Sampler, SamplerState, Table, Vector, Weights};
pub use span::{Planned, Span};
pub use speech::{Convolution, Decision, LineSizes, LineState, Lines, Looks};
pub use warpsmith_library::{
    gemm::Precision,
    persistent::{End, Prefetch, Schedule},
};
