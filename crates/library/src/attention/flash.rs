//! Prefill attention with `mma` (FlashAttention-2, Dao 2023): 64 queries of one head against the cache, 64 keys a round.

use crate::{
    attention::{
        CacheType,
        reference::{random_cache, reference},
    },
    case::{AnyCase, Case, EPS_F16, Expected, Random},
};
use half::f16;
use warpsmith_kernel::{
    Acc, BuildError, Cta, Device, FragA, Half, Kernel, LaunchError, Pipeline, Rows, Scope, Val,
    args, require, steps, uni,
};
use warpsmith_ptx::target::Target;

args! {
    /// Queries f32 `[tokens, heads, head_dim]`, cache f16 `[kv_heads, max_len, head_dim]`, output as the queries.
    /// Query t sits at position `start + t`; keys up to `len` exist.
    pub struct FlashArgs {
        q: In<f32>[tokens, heads * head_dim],
        k: In<f16>[kv_heads, max_len * head_dim], v: In<f16>[kv_heads, max_len * head_dim],
        y: Out<f32>[tokens, heads * head_dim],
        tokens: Scalar<u32>, heads: Scalar<u32>, kv_heads: Scalar<u32>, head_dim: Scalar<u32>,
        max_len: Scalar<u32>, start: Scalar<u32>, len: Scalar<u32>, scale: Scalar<f32>,
    }
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mask {
    /// Those up to its own position.
    Causal,
    /// All.
    Full,
}

/// The kernel for a head size that is a multiple of 8.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flash {
    /// Head size, 8 to 256.
    pub head_dim: u32,
    /// Mask.
    pub mask: Mask,
}

const QUERIES: u32 = 64;
const KEYS: u32 = 64;

impl Flash {
    /// Head size padded to whole fragments; the padding is zero in shared memory.
    fn padded(&self) -> u32 {
        self.head_dim.next_multiple_of(16)
    }

    fn pitch(&self) -> u32 {
        self.padded() + 8
    }
}

impl Kernel for Flash {
    type Args = FlashArgs;

    fn name(&self) -> String {
        let mask = match self.mask {
            Mask::Causal => "causal",
            Mask::Full => "full",
        };
        format!("flash_{mask}_{}", self.head_dim)
    }

    fn threads(&self) -> u32 {
        QUERIES / 16 * 32
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        let lacking = |feature| {
            Err(BuildError::Unsupported {
                kernel: self.name(),
                target,
                feature,
            })
        };
        let shared = (QUERIES + 4 * KEYS) * self.pitch() * 2;
        if target.sm < f16::FIRST_SM {
            lacking("mma.m16n8k8")
        } else if target.shared_limit().is_none_or(|limit| shared > limit) {
            lacking("enough shared memory for this head size")
        } else {
            Ok(())
        }
    }

    fn grid(&self, a: &FlashArgs) -> Result<u64, LaunchError> {
        require(
            a.head_dim == self.head_dim
                && a.head_dim.is_multiple_of(8)
                && (8..=256).contains(&a.head_dim),
            "head_dim",
            a.head_dim.into(),
            "the kernel's, a multiple of 8 up to 256",
        )?;
        require(
            a.kv_heads > 0 && a.heads.is_multiple_of(a.kv_heads),
            "heads",
            a.heads.into(),
            "a multiple of kv_heads",
        )?;
        require(a.len <= a.max_len, "len", a.len.into(), "at most max_len")?;
        require(
            u64::from(a.max_len) * u64::from(a.head_dim) < 1 << 31,
            "max_len",
            a.max_len.into(),
            "below 2^31 / head_dim",
        )?;
        Ok(u64::from(a.tokens.div_ceil(QUERIES)) * u64::from(a.heads))
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: FlashArgs<Device<'k>>) {
        let (dim, padded, pitch) = (self.head_dim, self.padded(), self.pitch());
        let (head, first) = (cta.id() % a.heads, (cta.id() / a.heads) * QUERIES);
        let kv_head = head / (a.heads / a.kv_heads);
        let (keys, values) = (a.k.row(kv_head), a.v.row(kv_head));

        // Scores are kept in base 2: exp(s - max) = 2^((s - max) log2 e).
        let in_base_2 = a.scale * std::f32::consts::LOG2_E;
        let mut q_tile = cta.tile::<f16>(QUERIES * pitch);
        let q = q_tile.fill(cta, |cta, slots| {
            cta.each(QUERIES * padded / 2, |lane, pair| {
                let (row, column) = (pair / (padded / 2), (pair % (padded / 2)) * 2);
                let inside = (first + row).lt(a.tokens) & column.lt(dim);
                let [x, y] = lane.either(
                    inside,
                    |_| {
                        a.q.row(first + row)
                            .from(head * dim)
                            .vector::<2, _>(column)
                            .map(|x| x * in_base_2)
                    },
                    |_| [0.0.into(), 0.0.into()],
                );
                slots.set_words(row * pitch + column, [f16::pack(x, y)]);
            });
        });

        // Keys after the last query's position are masked anyway.
        let seen = match self.mask {
            Mask::Causal => a.len.min(a.start + first + QUERIES),
            Mask::Full => a.len,
        };
        let mut ring = Pipeline::<2>::new();
        let k_part = ring.part::<f16>(KEYS * pitch);
        let v_part = ring.part::<f16>(KEYS * pitch);
        let output = vec![Acc::zero(); padded as usize / 8];
        let start = (
            output,
            Rows::constant(f32::NEG_INFINITY),
            Rows::constant(0.0),
        );
        let (output, _, total) = ring.run(
            cta,
            seen.div_ceil(KEYS),
            start,
            |cta, stage, round| {
                let (ks, vs) = (stage.part(k_part), stage.part(v_part));
                // Rows past the end and columns past the head size become zero: 0 * garbage must not be NaN.
                cta.each(KEYS * padded / 8, |_, piece| {
                    let (row, column) = (piece / (padded / 8), (piece % (padded / 8)) * 8);
                    let key = round * KEYS + row;
                    let valid = key.lt(seen) & column.lt(dim);
                    let from = key.min(seen - 1) * dim + column.min(dim - 8);
                    ks.copy16(row * pitch + column, keys.from(from), valid);
                    vs.copy16(row * pitch + column, values.from(from), valid);
                });
            },
            |cta, stage, round, (mut output, most, total)| {
                let (ks, vs) = (
                    stage.part(k_part).matrix(pitch),
                    stage.part(v_part).matrix(pitch),
                );
                cta.in_warps(|warp| {
                    let mut scores = vec![Acc::zero(); KEYS as usize / 8];
                    for k in (0..padded).step_by(16) {
                        let a = warp.load_a(q.matrix(pitch), warp.id() * 16, k);
                        for n in 0..KEYS / 16 {
                            for (side, b) in warp.load_b(ks, n * 16, k).into_iter().enumerate() {
                                let score = &mut scores[2 * n as usize + side];
                                *score = warp.mma(a, b, *score);
                            }
                        }
                    }
                    // Keys that every query of the warp sees need no mask.
                    let query = a.start + first + warp.id() * 16;
                    let end = round * KEYS + KEYS;
                    let mut partly: Val<'k, bool, uni::Warp> = end.gt(seen).into();
                    if self.mask == Mask::Causal {
                        partly = partly | end.gt(query);
                    }
                    let scores = warp.fold(
                        steps(0u32, partly.select(1u32, 0u32), 1),
                        scores,
                        |warp, _, scores| {
                            let masked = scores.into_iter().enumerate().map(|(n, score)| {
                                let key = round * KEYS + 8 * n as u32;
                                score.map_at(warp, |score, row, column| {
                                    let mut visible = (key + column).lt(seen);
                                    if self.mask == Mask::Causal {
                                        visible = visible & (key + column).le(query + row);
                                    }
                                    visible.select(score, f32::NEG_INFINITY)
                                })
                            });
                            masked.collect::<Vec<_>>()
                        },
                    );
                    let now = Acc::row_max(warp, &scores, most);
                    // A row that has seen no key keeps -inf; subtracting 0 there avoids inf - inf.
                    let offset = now.map(|x| x.equals(f32::NEG_INFINITY).select(0.0, x));
                    let shrink = most.zip(offset, |old, new| (old - new).exp2_approx());
                    let weights: Vec<Acc<'k>> = scores
                        .iter()
                        .map(|score| score.map_rows(offset, |s, most| (s - most).exp2_approx()))
                        .collect();
                    let total = total.zip(shrink, |sum, shrink| sum * shrink);
                    let total = total.zip(Acc::row_sum(warp, &weights), |sum, more| sum + more);
                    for acc in &mut output {
                        *acc = acc.map_rows(shrink, |x, shrink| x * shrink);
                    }
                    for k in 0..KEYS as usize / 16 {
                        let p = FragA::<f16>::from_accs(weights[2 * k], weights[2 * k + 1]);
                        for n in 0..padded / 16 {
                            for (side, b) in warp
                                .load_b_transposed(vs, 16 * k as u32, n * 16)
                                .into_iter()
                                .enumerate()
                            {
                                let acc = &mut output[2 * n as usize + side];
                                *acc = warp.mma(p, b, *acc);
                            }
                        }
                    }
                    (output, now, total)
                })
            },
        );
        cta.each_warp(|warp| {
            // No key at all gives zeros.
            let inverse = total.map(|sum| sum.gt(0.0).select(sum.rcp_approx(), 0.0));
            for (n, acc) in output.iter().enumerate() {
                let acc = acc.map_rows(inverse, |x, inverse| x * inverse);
                let mut pairs = Vec::new();
                acc.each_pair(warp, |row, column, values| {
                    pairs.push((first + warp.id() * 16 + row, column + 8 * n as u32, values));
                });
                for (row, column, values) in pairs {
                    warp.if_(row.lt(a.tokens) & column.lt(dim), |_| {
                        a.y.row(row).from(head * dim).set_vector(column, values);
                    });
                }
            }
        });
    }
}

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
        let tolerance = magnitude.iter().map(|sum| sum * relative + 1e-7).collect();
        cases.push(Box::new(Case {
            label: format!("{tokens} tokens at {start}, heads {heads}/{kv_heads} of {head_dim}, {len} keys, {mask:?}"),
            kernel: Flash { head_dim, mask },
            args: FlashArgs {
                q: q.into(),
                k: halves(k).into(),
                v: halves(v).into(),
                y: Expected::within(want, tolerance),
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
    cases
}
