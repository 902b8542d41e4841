//! Cases of single queries against keys in pages (vLLM, Kwon et al., 2023): memory is given out as sequences grow, and
//! sequences that begin alike share.

use super::{
    CacheType, Decode, DecodeArgs, History, Paging,
    reference::{random_cache, reference},
};
use crate::case::{AnyCase, Case, EPS_F32, Expected, Random, Updated};

/// Ragged rows, rows of one sequence, rows that see nothing; what no row sees is garbage.
pub(crate) fn cases(rng: &mut Random) -> Vec<Box<dyn AnyCase>> {
    let mut cases: Vec<Box<dyn AnyCase>> = Vec::new();
    // heads, key heads, head size, page, blocks, splits, slots and what they see
    let shapes = [
        (
            9,
            3,
            64,
            16,
            5,
            3,
            vec![(1, 1u32), (0, 33), (3, 0), (2, 70)],
        ),
        (8, 1, 40, 32, 2, 2, vec![(1, 31), (1, 40), (1, 64)]),
        (2, 1, 128, 16, 4, 4, vec![(0, 64)]),
        (3, 3, 33, 32, 3, 1, vec![(1, 65), (0, 9)]),
    ];
    for (heads, kv_heads, head_dim, page, blocks, splits, seen) in shapes {
        for cache in [CacheType::F16, CacheType::F32] {
            let rows = seen.len() as u32;
            let (slots, visible): (Vec<u32>, Vec<u32>) = seen.iter().copied().unzip();
            let sequences = slots.iter().max().unwrap_or(&0) + 1;
            let pages = sequences * blocks + 2;
            let (k, k_values) = random_cache(rng, cache, pages * kv_heads, page, head_dim, page);
            let (v, v_values) = random_cache(rng, cache, pages * kv_heads, page, head_dim, page);
            // Pages in any order, some shared; where nobody looks the table is garbage.
            let mut table = vec![u32::MAX; (sequences * blocks) as usize];
            for (slot, visible) in &seen {
                let row = &mut table[(slot * blocks) as usize..][..blocks as usize];
                for entry in &mut row[..visible.div_ceil(page) as usize] {
                    if *entry == u32::MAX {
                        *entry = rng.range(0, pages - 1);
                    }
                }
            }
            // The same keys one behind the other, a sequence for each row.
            let max_len = (blocks * page) as usize;
            let (heads_of, size) = (kv_heads as usize, head_dim as usize);
            let gather = |values: &[f64]| {
                let mut all = vec![f64::NAN; seen.len() * heads_of * max_len * size];
                for (row, (slot, visible)) in seen.iter().enumerate() {
                    for head in 0..heads_of {
                        for t in 0..*visible as usize {
                            let entry = table[*slot as usize * blocks as usize + t / page as usize];
                            let from = (entry as usize * heads_of + head) * page as usize
                                + t % page as usize;
                            let to = (row * heads_of + head) * max_len + t;
                            all[to * size..][..size]
                                .copy_from_slice(&values[from * size..][..size]);
                        }
                    }
                }
                all
            };
            let q = rng.numbers((rows * heads * head_dim) as usize, 1.5);
            let scale = 1.0 / (head_dim as f32).sqrt();
            let (want, magnitude) = reference(
                &q,
                [&gather(&k_values), &gather(&v_values)],
                [heads as usize, heads_of, size, max_len],
                &visible,
                |row, _| row,
                scale.into(),
            );
            // As for contiguous keys.
            let score =
                f64::from(scale) * 2.25 * f64::from(head_dim) * f64::from(head_dim + 4) * EPS_F32;
            let relative = 2.0 * score + (f64::from(blocks * page) + 40.0) * EPS_F32;
            let tolerance = magnitude.iter().map(|sum| sum * relative + 1e-12).collect();
            let partial = (rows * heads * splits * (head_dim + 2)) as usize;
            let counters = (rows * kv_heads) as usize;
            cases.push(Box::new(Case {
                label: format!("heads {heads}/{kv_heads} of {head_dim}, pages of {page}, slots and keys {seen:?}, {splits} splits"),
                kernel: Decode { head_dim, group: heads / kv_heads, cache, history: History::Paged { page } },
                args: DecodeArgs {
                    q: q.into(),
                    visible: visible.into(),
                    sources: None,
                    k: k.into(),
                    v: v.into(),
                    partial: Updated { before: vec![f32::NAN; partial].into(), after: Expected::scratch(partial) },
                    counters: Updated { before: vec![0; counters].into(), after: Expected::exact(vec![0.0; counters]) },
                    y: Expected::within(want, tolerance),
                    rows,
                    heads,
                    kv_heads,
                    head_dim,
                    paging: Paging { slots: Some(slots.into()), table: Some(table.into()), rows, sequences, blocks },
                    sequences: pages,
                    max_len: page,
                    row_bytes: head_dim * cache.bytes(),
                    splits,
                    scale,
                },
            }));
        }
    }
    cases
}
