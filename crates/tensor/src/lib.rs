//! Device-resident tensors whose transfers are counted.
//!
//! ```
//! use warpsmith_tensor::{Tensor, forbid_transfers};
//! use warpsmith_device::{Device, Selector};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
//!     let x = Tensor::from_host(&stream, &[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//!     let w = Tensor::from_host(&stream, &[1, 3], &[1.0f32, 0.0, -1.0])?;
//!     // Nothing crosses between host and device in here, or there is an error.
//!     let y = forbid_transfers(|| x.scale(0.5)?.linear(&w, None))?;
//!     assert_eq!((x.stats().h2d_calls, y.stats().launches, y.stats().d2h_calls), (1, 1, 0));
//!     assert_eq!(y.shape(), [2, 1]);
//!     assert_eq!(y.to_host()?, [-1.0, -1.0]);
//!     assert_eq!(y.stats().d2h_calls, 1);
//!     Ok(())
//! }
//! ```
//!
//! The laws of this room:
//! - elements lie in device memory from the first to the last: operations enqueue on the stream of their first operand
//!   and return a new resident tensor, none of them waits, none of them moves a byte to or from the host;
//! - what crosses is counted where it crosses, on the tensor, its device and the process; [`Tensor::peek`] alone is not;
//! - a launch counts on the tensor that it writes, those of a user's own kernels too ([`Tensor::launch`]);
//! - shapes are checked before anything is allocated, and a wrong one is named with what was expected and found.
#![forbid(unsafe_code)]

mod error;
mod kernels;
mod ops;
mod shape;
mod stats;
mod tensor;
mod weight;

pub use error::{Error, Expected};
pub use tensor::Tensor;
pub use warpsmith_device::{Snapshot, forbid_transfers, process_stats, reset_process_stats};
pub use warpsmith_library::epilogue::Activation;
pub use weight::{Weight, WeightRef};

/// What threads share.
const fn shared<T: Send + Sync>() {}
const _: () = {
    shared::<Tensor<f32>>();
    shared::<Weight>();
    shared::<Error>();
};
