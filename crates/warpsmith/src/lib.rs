//! Pure-Rust GPU kernels and transformer inference: one crate that re-exports the rooms of the house.
//!
//! | module | what is in it |
//! |---|---|
//! | [`ptx`] | the PTX language: IR, instruction table, parser, printer, verifier |
//! | [`formats`] | model files and the layouts of quantised weights |
//! | [`audio`] | sounds to log-mel windows |
//! | [`kernel`] | the typed language that kernels are written in |
//! | [`vgpu`] | the virtual GPU: runs PTX on the CPU |
//! | [`device`] | one API over cards and the virtual GPU |
//! | [`library`] | the kernels of transformers, each with its f64 reference |
//! | [`tensor`] | device-resident tensors whose transfers are counted |
//! | [`graph`] | graphs of tensor operations, planned and run |
//! | [`models`] | Llama-type models, Whisper, tokenizers, chat templates, sampling |
//! | [`script`] | launches of PTX kernels with their data, from a JSON file |
//! | [`transcript`] | transcripts as subtitles, tables and JSON |
//! | [`timeline`] | what ran when, as trace files |
//! | [`profile`] | where the time of a model goes, operation by operation |
//! | [`roof`] | how fast a machine moves bytes and multiplies |
//! | [`report`] | what was found in kernels, as data, text, JSON and SARIF |
//!
//! A kernel of one's own, run on the virtual GPU and compared with the formula in f64:
//! ```
//! use warpsmith::device::{Device, Selector};
//! use warpsmith::kernel::{Cta, InKernel, Kernel, LaunchError, args};
//!
//! args! { /// `y[r] = x[r] / |x[r]|`, row by row.
//!     pub struct UnitRowsArgs { x: In<f32>[rows, n], y: Out<f32>[rows, n], rows: Scalar<u32>, n: Scalar<u32> } }
//!
//! #[derive(Clone, PartialEq, Eq, Hash)]
//! struct UnitRows;
//!
//! impl Kernel for UnitRows {
//!     type Args = UnitRowsArgs;
//!     fn name(&self) -> String { "unit_rows".into() }
//!     fn grid(&self, a: &UnitRowsArgs) -> Result<u64, LaunchError> { Ok(a.rows.into()) } // a CTA for each row
//!     fn body<'k>(&self, cta: &mut Cta<'k>, a: UnitRowsArgs<InKernel<'k>>) {
//!         let (x, y) = (a.x.row(cta.id()), a.y.row(cta.id()));
//!         let scale = cta.sum(a.n, |i| x.at(i) * x.at(i)).rsqrt();
//!         cta.each(a.n, |_, i| y.set(i, x.at(i) * scale));
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let (rows, n) = (3, 1000);
//!     let host: Vec<f32> = (0..rows * n).map(|i| (i as f32 * 0.37).sin()).collect();
//!     let stream = Device::open(&Selector::virtual_gpu())?.stream()?;
//!     let (x, mut y) = (stream.upload_new(&host)?, stream.alloc(host.len())?);
//!     stream.launch(&UnitRows, &UnitRowsArgs { x: x.view(), y: y.view_mut(), rows, n })?;
//!     for (x, y) in host.chunks(n as usize).zip(stream.download(&y)?.wait()?.chunks(n as usize)) {
//!         let length = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
//!         assert!(x.iter().zip(y).all(|(x, y)| (f64::from(*x) / length - f64::from(*y)).abs() < 1e-6));
//!     }
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

pub mod profile;
pub mod report;
pub mod roof;
pub mod script;
pub mod timeline;

pub use warpsmith_audio as audio;
pub use warpsmith_device as device;
pub use warpsmith_formats as formats;
pub use warpsmith_graph as graph;
pub use warpsmith_kernel as kernel;
pub use warpsmith_library as library;
pub use warpsmith_models as models;
pub use warpsmith_models::transcript;
pub use warpsmith_ptx as ptx;
pub use warpsmith_tensor as tensor;
pub use warpsmith_vgpu as vgpu;

/// The examples of the README, compiled and run like those of the crate.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
