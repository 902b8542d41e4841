//! One device API over a CUDA driver and the virtual GPU.
//!
//! A kernel of one's own, from its formula to numbers:
//! ```
//! use warpsmith_device::{Bound, Device, Selector};
//! use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args};
//!
//! args! { /// `y = a * x`.
//!     pub struct ScaleArgs { x: In<f32>[n], y: Out<f32>[n], n: Scalar<u32>, a: Scalar<f32> } }
//!
//! #[derive(Clone, PartialEq, Eq, Hash)]
//! struct Scale;
//!
//! impl Kernel for Scale {
//!     type Args = ScaleArgs;
//!     fn name(&self) -> String { "scale".into() }
//!     fn grid(&self, a: &ScaleArgs) -> Result<u64, LaunchError> { Ok(a.n.min(1).into()) }
//!     fn body<'k>(&self, cta: &mut Cta<'k>, k: ScaleArgs<InKernel<'k>>) {
//!         cta.each(k.n, |_, i| k.y.set(i, k.x.at(i) * k.a));
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let device = Device::open(&Selector::virtual_gpu())?;
//!     let stream = device.stream()?;
//!     let x = stream.upload_new(&[1.0f32, 2.0, 3.0])?;
//!     let mut y = stream.alloc(3)?;
//!     stream.launch(&Scale, &ScaleArgs { x: x.view(), y: y.view_mut(), n: 3, a: 2.0 })?;
//!     assert_eq!(stream.download(&y)?.wait()?, [2.0, 4.0, 6.0]);
//!     Ok(())
//! }
//! ```
//!
//! The laws of this room:
//! - nothing both launches and waits: work is enqueued on a [`Stream`], and only what says so waits;
//! - a buffer that changes streams brings the wait along; one dropped while work is queued is freed after that work;
//! - every kernel passes through one function that enqueues, and counts;
//! - two functions move bytes between host and device, and both count;
//! - without a driver there is a typed error that names what was tried.

mod arguments;
mod back;
mod buffer;
mod cache;
#[cfg_attr(not(feature = "cuda"), path = "no_cuda.rs")]
mod cuda;
mod device;
mod entry;
mod error;
mod event;
mod info;
mod inner;
mod launch;
mod loaded;
mod lock;
mod queue;
mod recorder;
mod replay;
mod rewrite;
mod selector;
mod stats;
mod stream;
mod timeline;
mod times;
mod transfer;
mod virtual_card;
mod words;
mod work;

pub use arguments::Arguments;
pub use back::{MemoryInfo, Placement};
pub use buffer::{Buffer, Slice, SliceMut, Use};
pub use cache::CacheStats;
pub use device::{Device, Devices, devices};
pub use entry::{Loaded, Param};
pub use error::{Direction, Error};
pub use event::Event;
pub use info::{BackEnd, DeviceInfo, DriverVersion};
pub use launch::{Bound, Grid};
pub use loaded::Module;
pub use queue::Touch;
pub use replay::Replay;
pub use rewrite::Rewrite;
pub use selector::{Checks, Fresh, Selector, Settings};
pub use stats::{Snapshot, forbid_transfers, process_stats, reset_process_stats};
pub use stream::Stream;
pub use timeline::Timeline;
pub use times::LaunchTime;
pub use transfer::Pending;
pub use virtual_card::{UnknownSetting, VirtualCard};
/// What a kernel is checked for, and what was found.
pub use warpsmith_vgpu::check;
pub use words::Words;
pub use work::{TimedWork, Work};

/// What threads share.
const fn shared<T: Send + Sync>() {}
const _: () = {
    shared::<Device>();
    shared::<Stream>();
    shared::<Event>();
    shared::<Buffer<f32>>();
    shared::<Slice<'static, f32>>();
    shared::<SliceMut<'static, f32>>();
    shared::<Loaded>();
    shared::<Module>();
    shared::<Replay>();
    shared::<Error>();
};
