//! The floor: how fast this machine could be if nothing but reading weights or multiplying took time.

use super::model::load;
use crate::{Failed, args::Args, stats::median};
use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};
use std::{hint::black_box, thread, time::Instant};
use warpsmith::models::llama::Config;

/// What the machine does, and what a token needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Floor {
    /// Bytes of all weights, each of which a token reads.
    pub(crate) weight_bytes: u64,
    /// Floating-point operations of a prompt, by token.
    pub(crate) prefill_flops: f64,
    /// Bytes a second of reading as many bytes as the weights have, over and over, with all threads.
    pub(crate) read_bytes_s: f64,
    /// f32 operations a second of fused multiply-adds with all threads, two for each.
    pub(crate) fma_flops_s: f64,
}

impl Floor {
    pub(crate) fn decode_tok_s(&self) -> f64 {
        self.read_bytes_s / self.weight_bytes as f64
    }

    pub(crate) fn prefill_tok_s(&self) -> f64 {
        self.fma_flops_s / self.prefill_flops
    }
}

/// Rounds that count.
const ROUNDS: usize = 9;

pub(crate) fn measure(args: &Args) -> Result<Floor, Failed> {
    let (weight_bytes, prefill_flops) = {
        let bundle = load(args)?;
        let config = bundle.model.config();
        (bundle.model.bytes(), flops(config, args.prefill as f64))
    };
    Ok(Floor {
        weight_bytes,
        prefill_flops,
        read_bytes_s: reading(weight_bytes as usize, args.threads),
        fma_flops_s: multiplying(args.threads),
    })
}

/// Multiplications and additions of `tokens` tokens, by token: matrices, scores and weighted sums of attention under
/// the causal mask. The head is computed for the last token alone.
fn flops(config: &Config, tokens: f64) -> f64 {
    let [width, feed_forward, vocab] =
        [config.width, config.feed_forward, config.vocab].map(f64::from);
    let (queries, keys) = (
        f64::from(config.heads * config.head_dim),
        f64::from(config.kv_heads * config.head_dim),
    );
    let matrices = width * (2.0 * queries + 2.0 * keys + 3.0 * feed_forward);
    let attention = 2.0 * queries * (tokens + 1.0) / 2.0;
    2.0 * (f64::from(config.layers) * (matrices + attention) + vocab * width / tokens)
}

/// Runs `work` on every thread at once; the seconds until all are done.
fn together(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let rounds: Vec<f64> = (0..ROUNDS + 2)
        .map(|_| {
            let start = Instant::now();
            thread::scope(|scope| {
                for thread in 0..threads {
                    let work = &work;
                    scope.spawn(move || work(thread));
                }
            });
            start.elapsed().as_secs_f64()
        })
        .collect();
    median(&rounds[2..])
}

/// Each thread sums a part of its own of one array.
fn reading(bytes: usize, threads: usize) -> f64 {
    const PASSES: usize = 4;
    let words: Vec<u64> = (0..bytes as u64 / 8).collect();
    let part = words.len().div_ceil(threads.max(1));
    let parts: Vec<&[u64]> = words.chunks(part.max(1)).collect();
    let arch = Arch::new();
    let seconds = together(parts.len(), |thread| {
        for _ in 0..PASSES {
            let words = black_box(parts[thread]);
            black_box(arch.dispatch(|| words.iter().fold(0u64, |sum, word| sum ^ word)));
        }
    });
    (8 * words.len() * PASSES) as f64 / seconds
}

/// Chains of fused multiply-adds in registers, enough of them to hide their latency.
struct Chains;

const CHAINS: usize = 16;
const LINKS: usize = 4 << 20;

impl WithSimd for Chains {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> usize {
        let (factor, term) = (
            simd.splat_f32s(black_box(0.999)),
            simd.splat_f32s(black_box(0.5)),
        );
        let mut sums = [simd.splat_f32s(1.0); CHAINS];
        for _ in 0..LINKS {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(*sum, factor, term);
            }
        }
        let all = sums.into_iter().fold(term, |a, b| simd.add_f32s(a, b));
        black_box(simd.reduce_sum_f32s(all));
        2 * CHAINS * LINKS * S::F32_LANES
    }
}

fn multiplying(threads: usize) -> f64 {
    let arch = Arch::new();
    let flops = arch.dispatch(Chains);
    let seconds = together(threads, |_| {
        arch.dispatch(Chains);
    });
    (threads * flops) as f64 / seconds
}
