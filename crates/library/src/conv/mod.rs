//! One-dimensional convolutions over time as implicit matrix products: kernel 3, stride 1 or 2, padding 1.
//!
//! `x` is `[frames, channels]`, a frame after the other. The three frames that an output sees lie side by side, so a row
//! of the product's left side is a run of `3 * channels` numbers in `x` itself: nothing is copied out. Weights are
//! `[outputs, 3 * channels]`, a tap after the other ([`tap_major`]).

mod cases;
mod exact;
mod tensor_core;

pub(crate) use cases::cases;
pub use exact::{Conv1dF32, Conv1dF32Args};
pub use tensor_core::{Conv1d, Conv1dArgs};

use warpsmith_kernel::{LaunchError, require};

/// Taps of the kernel.
pub const TAPS: u32 = 3;

/// How far one output is from the next, in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stride {
    /// As many outputs as frames.
    One,
    /// Half as many, rounded up.
    Two,
}

impl Stride {
    /// In frames.
    pub fn frames(self) -> u32 {
        match self {
            Stride::One => 1,
            Stride::Two => 2,
        }
    }

    /// Outputs for `frames` frames, with a frame of zeros on either side.
    pub fn outputs(self, frames: u32) -> u32 {
        frames.div_ceil(self.frames())
    }

    fn check(self, frames: u32, channels: u32, outputs: u32) -> Result<(), LaunchError> {
        require(frames < 1 << 31, "frames", frames.into(), "below 2^31")?;
        require(
            (1..1 << 20).contains(&channels),
            "channels",
            channels.into(),
            "at least 1 and below 2^20",
        )?;
        require(
            outputs == self.outputs(frames),
            "outputs",
            outputs.into(),
            "frames over the stride, rounded up",
        )
    }
}

/// Weights `[outputs, channels, 3]`, as model files have them, in the order `[outputs, 3, channels]`.
pub fn tap_major<T: Copy>(weights: &[T], channels: usize) -> Vec<T> {
    let row = TAPS as usize * channels;
    let mut all = Vec::with_capacity(weights.len());
    for own in weights.chunks_exact(row.max(1)) {
        for tap in 0..TAPS as usize {
            all.extend((0..channels).map(|channel| own[channel * TAPS as usize + tap]));
        }
    }
    all
}
