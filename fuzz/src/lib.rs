//! Mutational fuzzing of every parser, deterministic by seed, on stable Rust.
//!
//! A [`Target`] names itself, gives well-formed inputs to start from, and takes any bytes at all. [`fuzz`] feeds it
//! mutations of those inputs until the [`Budget`] is spent, or until the target panics or takes too long; then it
//! gives back a [`Finding`] with the input made small. Input number `i` of a seed depends on nothing else, so a
//! finding is reproduced by its seed and number.
#![deny(unsafe_code)]

pub mod calls;
mod engine;
pub mod modules;
mod mutate;
mod rng;
mod shrink;
mod targets;
mod worker;

pub use engine::{Budget, DEFAULT_LIMIT, Finding, Inputs, Stats, fuzz, fuzz_with};
pub use targets::targets;
pub use worker::{Fault, Outcome, Watched, run_once};

/// Something that takes arbitrary bytes and must neither panic nor hang on them.
pub trait Target: Send + Sync {
    /// The name it is chosen by on the command line.
    fn name(&self) -> &'static str;

    /// Well-formed inputs that mutation starts from.
    fn seeds(&self) -> Vec<Vec<u8>>;

    /// Takes one input. Returning is success, whatever the input was.
    fn run(&self, input: &[u8]);

    /// Byte strings that matter to the format (keywords, magic numbers), spliced into inputs.
    fn dictionary(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}
