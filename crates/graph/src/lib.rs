//! Tensor graphs: ops with their operands, shapes checked as they are built, and a plan that owns its memory.
//!
//! A [`Graph`] is built through methods that take and give [`Node`]s, so a cycle cannot be written, and refuse wrong
//! shapes by name. [`Plan::new`] chooses kernels for a device, assigns memory by lifetime, and fixes every launch; a
//! plan runs eagerly or as a [`Replay`](warpsmith_device::Replay) of the same launches.
#![forbid(unsafe_code)]

mod build;
mod cost;
mod dispatch;
mod error;
mod graph;
mod lower;
mod memory;
mod names;
mod node;
mod observe;
mod op;
mod passes;
mod persistent;
mod picture;
mod plan;
mod resource;
mod span;
mod step;
pub mod svg;

pub use cost::{Cost, Lengths};
pub use dispatch::{Dispatch, Library, Operation, Recorded, Recording, SharedDispatch, Taken};
pub use error::{Error, Failure};
pub use graph::Graph;
pub use node::{Extent, Node};
pub use observe::{Observed, Observer, Origin, SharedObserver, Statistics};
pub use op::{
    At, Attention, Convolution, Decision, Looks, MatMul, Op, PagedAppend, PagedAttention,
    PagedRows, Rotation, Seen, fused,
};
pub use persistent::{Persistent, PersistentReport, PersistentShape, Running, Until};
pub use plan::{Plan, PlanReport};
pub use resource::{
    Cache, LineSizes, LineState, Lines, PageSizes, PageStore, Pages, Sampler, SamplerState, Table,
    Vector, Weights,
};
pub use span::{Planned, Span};
pub use warpsmith_library::{
    gemm::Precision,
    persistent::{End, Prefetch, Schedule},
};
