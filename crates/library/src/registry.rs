//! The registry: every kernel of the library with its cases; all tests iterate it.

use crate::case::{AnyCase, Random};

/// A family of kernels: one idea, in all its specialisations.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name of the family.
    pub name: &'static str,
    /// What it computes, in one line.
    pub summary: &'static str,
    /// Cases with random data: fixed awkward shapes and random ones, at least one for each specialisation.
    pub cases: fn(&mut Random) -> Vec<Box<dyn AnyCase>>,
}

/// Every kernel.
pub fn registry() -> &'static [Entry] {
    &[
        Entry {
            name: "flash_attention",
            summary: "prefill attention with tensor cores, 64 queries of a head against the cache",
            cases: crate::attention::flash::cases,
        },
        Entry {
            name: "decode_attention",
            summary: "attention of single queries over a long cache, split over the sequence",
            cases: crate::attention::decode::cases,
        },
    ]
}
