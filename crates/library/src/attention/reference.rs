//! What attention must give: the definition in f64, random caches, and the cases of single queries.

use super::{CacheType, Decode, DecodeArgs, History, Paging};
use crate::case::{AnyCase, Case, EPS_F32, Expected, Random, Updated};
use half::f16;

/// Attention of each row over the keys it sees, in f64, with the sum of |terms| of each output. `source(row, t)` is the
/// sequence of the key at position t.
pub(crate) fn reference(
    q: &[f32],
    [k, v]: [&[f64]; 2],
    [heads, kv_heads, head_dim, max_len]: [usize; 4],
    visible: &[u32],
    source: impl Fn(usize, usize) -> usize,
    scale: f64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut y, mut magnitude) = (Vec::new(), Vec::new());
    for (row, visible) in visible.iter().enumerate() {
        for head in 0..heads {
            let kv = head / (heads / kv_heads);
            let at = |t: usize, d: usize| {
                ((source(row, t) * kv_heads + kv) * max_len + t) * head_dim + d
            };
            let query = &q[(row * heads + head) * head_dim..][..head_dim];
            let scores: Vec<f64> = (0..*visible as usize)
                .map(|t| {
                    (0..head_dim)
                        .map(|d| f64::from(query[d]) * k[at(t, d)])
                        .sum::<f64>()
                        * scale
                })
                .collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for d in 0..head_dim {
                let term = |t: usize| weights[t] / sum * v[at(t, d)];
                y.push((0..weights.len()).map(term).sum());
                magnitude.push((0..weights.len()).map(|t| term(t).abs()).sum());
            }
        }
    }
    (y, magnitude)
}

/// `scale * q . k`, and the sum of |terms|.
pub(crate) fn scores_reference(q: &[f32], k: &[f64], scale: f64) -> (f64, f64) {
    let terms = q.iter().zip(k).map(|(q, k)| f64::from(*q) * k * scale);
    terms.fold((0.0, 0.0), |(sum, most), term| {
        (sum + term, most + term.abs())
    })
}

/// Bytes of a cache with garbage (NaN) behind `filled` rows, and its values.
pub(crate) fn random_cache(
    rng: &mut Random,
    cache: CacheType,
    kv_heads: u32,
    max_len: u32,
    head_dim: u32,
    filled: u32,
) -> (Vec<u8>, Vec<f64>) {
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for _ in 0..kv_heads {
        for t in 0..max_len {
            for _ in 0..head_dim {
                let x = if t < filled {
                    rng.number(1.5)
                } else {
                    f32::NAN
                };
                match cache {
                    CacheType::F16 => {
                        bytes.extend(f16::from_f32(x).to_le_bytes());
                        values.push(f16::from_f32(x).to_f64());
                    }
                    CacheType::F32 => {
                        bytes.extend(x.to_le_bytes());
                        values.push(x.into());
                    }
                }
            }
        }
    }
    (bytes, values)
}

/// Odd head sizes, no key at all, several splits, one sequence and forked ones.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    let shapes = [
        (9, 3, 64, 70, 3, vec![1u32, 33, 0, 70]),
        (8, 1, 40, 40, 2, vec![31, 40]),
        (4, 4, 80, 130, 1, vec![129]),
        (2, 1, 128, 64, 4, vec![64]),
        (3, 3, 1, 9, 1, vec![9]),
        (2, 2, 33, 50, 2, vec![32]),
        (2, 1, 256, 40, 2, vec![12]),
        (5, 1, 72, 65, 2, vec![9]),
    ];
    for (heads, kv_heads, head_dim, max_len, splits, visible) in shapes {
        for (cache, history) in [
            (CacheType::F16, History::Shared),
            (CacheType::F32, History::Shared),
            (CacheType::F16, History::Forked),
            (CacheType::F32, History::Forked),
        ] {
            let rows = visible.len() as u32;
            let sequences = match history {
                History::Shared | History::Paged { .. } => 1,
                History::Forked => rows + 1,
            };
            let filled = *visible.iter().max().unwrap_or(&0);
            let (k, k_values) =
                random_cache(rng, cache, sequences * kv_heads, max_len, head_dim, filled);
            let (v, v_values) =
                random_cache(rng, cache, sequences * kv_heads, max_len, head_dim, filled);
            // Behind what a row sees its sources are garbage.
            let mut sources = vec![u32::MAX; (rows * max_len) as usize];
            for (row, seen) in sources.chunks_mut(max_len as usize).zip(&visible) {
                row[..*seen as usize].fill_with(|| rng.range(0, sequences - 1));
            }
            let q = rng.numbers((rows * heads * head_dim) as usize, 1.5);
            let scale = 1.0 / (head_dim as f32).sqrt();
            let sizes = [heads, kv_heads, head_dim, max_len].map(|n| n as usize);
            let source = |row: usize, t: usize| sources[row * max_len as usize + t] as usize;
            let (want, magnitude) = reference(
                &q,
                [&k_values, &v_values],
                sizes,
                &visible,
                source,
                scale.into(),
            );
            // A score of head_dim products up to 2.25 errs by that many roundings; weights by the score's error and
            // that of exp2 (2 ulp), the sums by one rounding a key.
            let score =
                f64::from(scale) * 2.25 * f64::from(head_dim) * f64::from(head_dim + 4) * EPS_F32;
            let relative = 2.0 * score + (f64::from(filled) + 40.0) * EPS_F32;
            let tolerance = magnitude.iter().map(|sum| sum * relative + 1e-12).collect();
            let partial = (rows * heads * splits * (head_dim + 2)) as usize;
            let counters = (rows * kv_heads) as usize;
            cases.push(Box::new(Case {
                label: format!("rows {rows} heads {heads}/{kv_heads} of {head_dim}, {visible:?} keys, {splits} splits, {history:?}"),
                kernel: Decode { head_dim, group: heads / kv_heads, cache, history },
                args: DecodeArgs {
                    q: q.into(),
                    visible: visible.clone().into(),
                    sources: (history == History::Forked).then(|| sources.clone().into()),
                    k: k.into(),
                    v: v.into(),
                    partial: Updated { before: vec![f32::NAN; partial].into(), after: Expected::scratch(partial) },
                    counters: Updated { before: vec![0; counters].into(), after: Expected::exact(vec![0.0; counters]) },
                    y: Expected::within(want, tolerance),
                    rows,
                    heads,
                    kv_heads,
                    head_dim,
                    paging: Paging::none(),
                    sequences,
                    max_len,
                    row_bytes: head_dim * cache.bytes(),
                    splits,
                    scale,
                },
            }));
        }
    }
    cases
}
