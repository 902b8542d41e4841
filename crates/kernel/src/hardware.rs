//! What kernels are chosen by: the target, the multiprocessors, and whether a card or the virtual GPU runs them.

use warpsmith_ptx::target::Target;

/// What a kernel runs on, as far as the choice of kernels and of their sizes depends on it.
///
/// ```
/// # use warpsmith_kernel::{Hardware, Processor};
/// # use warpsmith_ptx::target::Target;
/// let host = Hardware { target: Target::sm(90), sms: 64, processor: Processor::Virtual };
/// assert!(host.is_virtual(), "however many threads the host has");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hardware {
    /// Target that kernels are built for.
    pub target: Target,
    /// Multiprocessors, at least 1.
    pub sms: u32,
    /// Whose kernels suit it.
    pub processor: Processor,
}

/// What runs the threads of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Processor {
    /// A card: a multiprocessor has many warps in flight, which hide its latencies, and a limited number of registers.
    Card,
    /// The virtual GPU: a multiprocessor is a thread of the host. It runs one warp at a time, its handlers work on all
    /// lanes, and registers are memory.
    Virtual,
}

impl Hardware {
    /// Whether kernels that suit the virtual GPU are the right ones.
    pub fn is_virtual(self) -> bool {
        self.processor == Processor::Virtual
    }
}
