//! The kernel language: kernels that read like the maths and come out as PTX.
#![forbid(unsafe_code)]

mod agreed;
mod ahead;
pub mod args;
mod arith;
mod array;
mod atomic;
mod build;
mod bytes;
mod class;
mod convert;
mod draft;
mod effects;
mod elem;
mod exchange;
mod frag;
mod functions;
mod grid;
mod hardware;
pub mod item;
pub mod kernel;
mod memory;
pub mod misuse;
mod optimise;
mod pipeline;
pub mod raw;
mod say;
mod scan;
mod scope;
mod shared;
mod slot;
mod state;
mod table;
pub mod uni;
mod val;
mod warp;

pub use agreed::Agreed;
pub use ahead::{Ahead, Arrived, PIECE};
pub use args::{Elem, InKernel, Shapes};
pub use array::{Array, Arrays, Cells};
pub use atomic::{Atomic, AtomicAdd, AtomicBits, AtomicOrder, AtomicSwap, Order, Reach};
pub use build::STATIC_SHARED;
pub use convert::Fp8;
pub use exchange::{Matched, Reduced, Redux};
pub use float8::{F8E4M3, F8E5M2};
pub use frag::{Acc, FragA, FragB, Half, Matrix, Rows};
pub use hardware::{Hardware, Processor};
pub use kernel::{
    BuildError, Built, Inputs, Kernel, LaunchError, OLDEST, Options, build, each_once, require,
};
pub use memory::{AccessMark, Global, Index, Read, Write};
pub use pipeline::{Filled, Filling, Part, Pipeline};
pub use say::Printable;
pub use scope::{Cta, Lane, Scope, Steps, WARP, Warp, steps, upto};
pub use shared::{Slots, Staged, Stored, Tile, View, Zero};
#[doc(hidden)]
pub use state::Mapper;
pub use state::State;
pub use table::{Table, TableElem};
pub use val::{Arg, Arith, Bits, Float, Int, Num, Signed, Ty, Val};
