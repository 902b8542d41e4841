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
mod facts;
pub mod fused;
mod graph;
mod lower;
mod memory;
mod observe;
mod op;
mod pages;
mod passes;
mod persistent;
mod picture;
mod plan;
mod resource;
mod rewire;
mod span;
mod speech;
pub mod svg;

pub use cost::{Cost, Lengths};
pub use dispatch::{
    Dispatch, Failure, Library, Operation, Recorded, Recording, SharedDispatch, Taken,
};
pub use error::Error;
pub use graph::{Extent, Graph, Node};
pub use observe::{Observed, Observer, Origin, SharedObserver, Statistics};
pub use op::{At, Attention, MatMul, Op, Rotation, Seen};
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
