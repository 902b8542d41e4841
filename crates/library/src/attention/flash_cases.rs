//! Cases of prefill attention: odd head sizes, ragged tiles, both masks, no key at all, all numbers of fragments.

use super::{
    CacheType, Flash, FlashArgs, Mask,
    reference::{random_cache, reference},
};
use crate::case::{AnyCase, Case, EPS_F16, Expected, Random};
use half::f16;

pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let shapes = [
        (9, 3, 64, 70, 0, 70, 128, Mask::Causal),
        (4, 2, 64, 1, 30, 31, 40, Mask::Causal),
        (2, 2, 40, 33, 5, 38, 64, Mask::Causal),
        (8, 1, 80, 65, 0, 65, 65, Mask::Causal),
        (2, 1, 128, 64, 64, 128, 130, Mask::Causal),
        (2, 2, 88, 12, 0, 77, 80, Mask::Full),
        (1, 1, 8, 3, 0, 9, 9, Mask::Causal),
        (3, 1, 16, 5, 0, 0, 9, Mask::Full),
        (2, 2, 64, 300, 0, 130, 131, Mask::Full),
        (2, 1, 64, 150, 20, 170, 200, Mask::Causal),
    ];
    for (heads, kv_heads, head_dim, tokens, start, len, max_len, mask) in shapes {
        let (k, k_values) = random_cache(rng, CacheType::F16, kv_heads, max_len, head_dim, len);
        let (v, v_values) = random_cache(rng, CacheType::F16, kv_heads, max_len, head_dim, len);
        let halves = |bytes: Vec<u8>| -> Vec<f16> {
            bytes
                .as_chunks::<2>()
                .0
                .iter()
                .map(|b| f16::from_le_bytes(*b))
                .collect()
        };
        let q = rng.numbers((tokens * heads * head_dim) as usize, 1.5);
        let scale = 1.0 / (head_dim as f32).sqrt();
        let visible: Vec<u32> = (0..tokens)
            .map(|t| match mask {
                Mask::Causal => len.min(start + t + 1),
                Mask::Full => len,
            })
            .collect();
        let sizes = [heads, kv_heads, head_dim, max_len].map(|n| n as usize);
        let (want, magnitude) = reference(
            &q,
            [&k_values, &v_values],
            sizes,
            &visible,
            |_, _| 0,
            scale.into(),
        );
        // Queries and weights are rounded to f16; a score errs by the rounding of its query, a weight by its own.
        let score = f64::from(scale) * 2.25 * f64::from(head_dim) * EPS_F16;
        let relative = 2.0 * score + 3.0 * EPS_F16;
        let tolerance: Vec<f64> = magnitude.iter().map(|sum| sum * relative + 1e-7).collect();
        for row_frags in [1, 2, 4] {
            if row_frags > 1 && head_dim > 80 {
                continue;
            }
            cases.push(Box::new(Case {
            label: format!("{tokens} tokens at {start}, heads {heads}/{kv_heads} of {head_dim}, {len} keys, {mask:?}"),
            kernel: Flash { head_dim, mask, row_frags },
            args: FlashArgs {
                q: q.clone().into(),
                k: halves(k.clone()).into(),
                v: halves(v.clone()).into(),
                y: Expected::within(want.clone(), tolerance.clone()),
                tokens,
                heads,
                kv_heads,
                head_dim,
                max_len,
                start,
                len,
                scale,
            },
        }));
        }
    }
    cases
}
