//! The processor's roof: all threads sum an array, or run chains of fused multiply-adds in the widest registers.

use super::Roof;
use pulp::{Arch, Simd, WithSimd};
use std::{hint::black_box, thread, time::Instant};

/// Rounds that count; their median does.
const ROUNDS: usize = 9;
/// Times the array is read in a round.
const PASSES: usize = 4;

impl Roof {
    /// Of the processor with `threads` threads, reading an array of `bytes` bytes over and over.
    pub fn of_host(bytes: usize, threads: usize) -> Roof {
        Roof {
            bytes_s: reading(bytes, threads.max(1)),
            operations_s: multiplying(threads.max(1)),
        }
    }
}

/// Runs `work` on every thread at once; the seconds until all are done.
fn together(threads: usize, work: impl Fn(usize) + Sync) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS + 2)
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
        .skip(2)
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// Bytes a second: each thread sums a part of its own of one array.
fn reading(bytes: usize, threads: usize) -> f64 {
    let words: Vec<u64> = (0..(bytes as u64 / 8).max(1)).collect();
    let part = words.len().div_ceil(threads);
    let parts: Vec<&[u64]> = words.chunks(part).collect();
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

/// Operations a second.
fn multiplying(threads: usize) -> f64 {
    let arch = Arch::new();
    let operations = arch.dispatch(Chains);
    let seconds = together(threads, |_| {
        arch.dispatch(Chains);
    });
    (threads * operations) as f64 / seconds
}
