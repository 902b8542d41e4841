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
///
/// ```
/// use warpsmith_library::registry::registry;
///
/// // Every kernel with the cases that tests, checker and assembler run it on.
/// assert!(registry().iter().any(|entry| entry.name == "softmax"));
/// ```
pub fn registry() -> &'static [Entry] {
    &[
        Entry {
            name: "softmax",
            summary: "stable softmax of rows",
            cases: crate::softmax::cases,
        },
        Entry {
            name: "argmax",
            summary: "the largest element of each row, by any number of CTAs in one launch",
            cases: crate::softmax::argmax::cases,
        },
        Entry {
            name: "rope",
            summary: "rotary position embedding of queries and keys in place",
            cases: crate::rope::cases,
        },
        Entry {
            name: "kv_scatter",
            summary: "new keys and values to their places in the cache",
            cases: crate::kv::cases,
        },
        Entry {
            name: "paged_kv_scatter",
            summary: "new keys and values to their places in pages",
            cases: crate::kv::paged_cases,
        },
        Entry {
            name: "sample",
            summary: "the next token from logits: penalty, temperature, top-k, top-p, min-p, a draw; and its counters",
            cases: crate::sample::cases,
        },
        Entry {
            name: "decoding",
            summary: "speech decoding: rules of timestamps, log-softmax, best tokens or a draw; forked sequences",
            cases: crate::decoding::cases,
        },
        Entry {
            name: "norm",
            summary: "normalisation of rows: RMSNorm, with a residual added first, LayerNorm",
            cases: crate::norm::cases,
        },
        Entry {
            name: "pointwise",
            summary: "functions of single elements: sums, products, activations, gates, casts, fills",
            cases: crate::pointwise::cases,
        },
        Entry {
            name: "flash_attention",
            summary: "prefill attention with tensor cores, 64 queries of a head against the cache",
            cases: crate::attention::flash_cases::cases,
        },
        Entry {
            name: "decode_attention",
            summary: "attention of single queries over a long cache, split over the sequence",
            cases: crate::attention::reference::cases,
        },
        Entry {
            name: "paged_attention",
            summary: "attention of single queries over keys in pages, for sequences of any lengths",
            cases: crate::attention::paged_cases::cases,
        },
        Entry {
            name: "paged_flash_attention",
            summary: "prefill attention over keys in pages, for the tokens of one sequence",
            cases: crate::attention::paged_flash::cases,
        },
        Entry {
            name: "attention_scores",
            summary: "scores of chosen heads before the softmax, for the times of words",
            cases: crate::attention::scores::cases,
        },
        Entry {
            name: "quantize",
            summary: "activations made ready for products: 8-bit groups with their sums, scaled f16",
            cases: crate::quantize::cases,
        },
        Entry {
            name: "gemv",
            summary: "products of weights of every type with few rows: integer dot products, exact f32",
            cases: crate::gemv::cases,
        },
        Entry {
            name: "projection",
            summary: "few rows through norm, product and what follows, as one: gates, heads with rotation and cache",
            cases: crate::projection::cases,
        },
        Entry {
            name: "gemm",
            summary: "products of weights of every type with many rows: tensor cores, exact f32",
            cases: crate::gemm::cases,
        },
        Entry {
            name: "conv1d",
            summary: "convolutions over time, kernel 3, stride 1 and 2: tensor cores, exact f32",
            cases: crate::conv::cases,
        },
        Entry {
            name: "embed",
            summary: "rows of weights of every type by token id",
            cases: crate::embed::cases,
        },
    ]
}
